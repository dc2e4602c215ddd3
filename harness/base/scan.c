/*
 * scan: reads numbers, quotes words and suggests near ones.
 */
#include "scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "message.h"

#define WORD_MAX 63 /* a case name: the longest word that is ever offered */

bool scan_is_name(const char *text, size_t most)
{
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return *text >= 'a' && *text <= 'z' && !text[length] && length <= most;
}

bool scan_number(struct piece piece, uint64_t max, uint64_t *value, const char **why)
{
    uint64_t n = 0;
    bool overflow = false;
    *why = "is not a whole number";
    if (!piece.length)
        return false;
    for (size_t i = 0; i < piece.length; i++) {
        if (piece.at[i] < '0' || piece.at[i] > '9')
            return false;
        overflow |= __builtin_mul_overflow(n, 10, &n);
        overflow |= __builtin_add_overflow(n, (uint64_t)(piece.at[i] - '0'), &n);
    }
    if (overflow || n > max) {
        *why = "is too large";
        return false;
    }
    *value = n;
    return true;
}

bool scan_count(struct piece piece, uint64_t max, uint64_t *value, const char **why)
{
    const char unit = (char)(piece.length > 1 ? piece.at[piece.length - 1] : 0);
    const uint64_t factor = unit == 'k' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1;
    bool has_tenths = false;
    uint64_t tenths = 0, scale = 1, n;
    piece.length -= factor > 1;
    const struct piece whole = factor > 1 ? piece_split(&piece, ".", &has_tenths) : piece;
    if (!scan_number(whole, max, &n, why) ||
        (has_tenths && (piece.length > 9 || !scan_number(piece, UINT32_MAX, &tenths, why))))
        return false;
    for (size_t i = 0; has_tenths && i < piece.length; i++)
        scale *= 10;
    *why = "is not a whole number";
    if (tenths * factor % scale)
        return false;
    *why = "is too large";
    if (__builtin_mul_overflow(n, factor, &n) ||
        __builtin_add_overflow(n, tenths * factor / scale, &n) || n > max)
        return false;
    *value = n;
    return true;
}

bool scan_length(struct piece piece, uint64_t max, uint64_t *value, const char **why)
{
    if (!scan_count(piece, max, value, why))
        return false;
    *why = "is less than 1";
    return *value;
}

bool scan_float(struct piece piece, float *value, const char **why)
{
    char text[64], *end;
    *why = "is not a decimal number";
    if (!piece.length || !piece_copy(piece, text, sizeof text) || text[0] == '+' ||
        strspn(text, "0123456789.eE+-") != piece.length)
        return false;
    const float x = strtof(text, &end);
    if (*end || end == text)
        return false;
    if (!isfinite(x)) {
        *why = "is too large for f32";
        return false;
    }
    if (x == 0 && strcspn(text, "123456789") < strcspn(text, "eE")) {
        *why = "is too small for f32";
        return false;
    }
    *value = x == 0 ? 0 : x;
    return true;
}

void scan_print_float(float value, char text[SCAN_FLOAT])
{
    text[0] = 0;
    for (int digits = 1; digits <= 9; digits++) {
        char candidate[SCAN_FLOAT];
        const int n = snprintf(candidate, sizeof candidate, "%.*g", digits, (double)value);
        if (strtof(candidate, NULL) == value && (!*text || (size_t)n < strlen(text)))
            memcpy(text, candidate, (size_t)n + 1);
    }
}

const char *scan_quote(struct piece piece, char text[SCAN_QUOTED])
{
    const size_t room = SCAN_QUOTED - sizeof "'\\xNN...'";
    size_t n = 0;
    text[n++] = '\'';
    for (size_t i = 0; i < piece.length; i++) {
        const unsigned char c = (unsigned char)piece.at[i];
        if (n > room) {
            n += (size_t)sprintf(text + n, "...");
            break;
        }
        if (c >= ' ' && c < 0x7f)
            text[n++] = (char)c;
        else
            n += (size_t)sprintf(text + n, "\\x%02x", c);
    }
    text[n++] = '\'';
    text[n] = 0;
    return text;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment, three rows of the table at a time. */
size_t scan_distance(struct piece piece, const char *word)
{
    size_t rows[3][WORD_MAX + 1];
    const size_t n = strlen(word);
    if (piece.length > WORD_MAX || n > WORD_MAX)
        return SIZE_MAX;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = j;
    for (size_t i = 1; i <= piece.length; i++) {
        const size_t *before = rows[(i + 1) % 3], *above = rows[(i - 1) % 3];
        size_t *row = rows[i % 3];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const bool same = piece.at[i - 1] == word[j - 1];
            row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + !same);
            if (i > 1 && j > 1 && piece.at[i - 1] == word[j - 2] && piece.at[i - 2] == word[j - 1])
                row[j] = least(row[j], before[j - 2] + 1);
        }
    }
    return rows[piece.length % 3][n];
}

static bool begins(const char *word, struct piece with)
{
    return strncmp(word, with.at, with.length) == 0;
}

void scan_offer(struct scan_choice *choice, const char *word)
{
    const size_t distance = scan_distance(choice->given, word);
    const size_t allowed = choice->given.length < 3 ? 1 : 2;
    message_add(choice->all, sizeof choice->all, "%s%s", *choice->all ? ", " : "", word);
    if (distance > allowed || distance >= choice->given.length)
        return;
    /* Ties go to the first word with the given beginning (sk is skv), else to the first. */
    if (choice->nearest &&
        (distance > choice->distance ||
         (distance == choice->distance &&
          !(begins(word, choice->given) && !begins(choice->nearest, choice->given)))))
        return;
    choice->nearest = word;
    choice->distance = distance;
}

void scan_offer_synonyms(struct scan_choice *choice, const struct scan_synonym *synonyms)
{
    for (; synonyms->given; synonyms++)
        if (piece_is(choice->given, synonyms->given)) {
            choice->nearest = synonyms->word;
            choice->distance = 0;
        }
}

const char *scan_advice(const struct scan_choice *choice, const char *otherwise,
                        char text[SCAN_ADVICE])
{
    if (choice->nearest)
        snprintf(text, SCAN_ADVICE, "did you mean '%s'?", choice->nearest);
    else
        snprintf(text, SCAN_ADVICE, "%s %s", otherwise, choice->all);
    return text;
}

void scan_refuse_message(const struct scan_choice *choice, const char *what, const char *otherwise,
                         struct message message)
{
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    message_print(message, "%s %s; %s", what, scan_quote(choice->given, quoted),
                  scan_advice(choice, otherwise, advice));
}
