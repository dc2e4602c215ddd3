/*
 * shell_words: splitting and quoting.
 */
#include "shell_words.h"

#include <stdio.h>
#include <string.h>

#define BLANKS " \t\n"
#define PLAIN "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%"

/* Copies the word at *at to `to`, without its quotes, and moves *at behind it; NULL where a quote is not
 * closed. */
static char *unquote_word(const char **at, char *to)
{
    char quote = 0;
    for (; **at && (quote || !strchr(BLANKS, **at)); ++*at) {
        const char c = **at;
        if (quote ? c == quote : c == '\'' || c == '"')
            quote = (char)(quote ? 0 : c);
        else if (c == '\\' && quote != '\'' && (*at)[1] && (!quote || strchr("\"\\", (*at)[1])))
            *to++ = *++*at;
        else
            *to++ = c;
    }
    *to++ = 0;
    return quote ? NULL : to;
}

bool shell_words_split(const char *text, struct shell_words *words)
{
    char *to = words->text;
    words->count = 0;
    if (strlen(text) >= sizeof words->text / 2) /* words do not grow, but each gets a 0 */
        return false;
    for (const char *at = text + strspn(text, BLANKS); *at; at += strspn(at, BLANKS)) {
        if (words->count == SHELL_WORDS_MOST)
            return false;
        words->word[words->count++] = to;
        if (!(to = unquote_word(&at, to)))
            return false;
    }
    words->word[words->count] = NULL;
    return true;
}

void shell_words_quote(const char *text, char *out, size_t size)
{
    size_t n = 0;
    out[n++] = '\'';
    for (; *text && n < size - 6; text++) {
        const char plain[] = {*text, 0};
        n += (size_t)snprintf(out + n, size - n, "%s", *text == '\'' ? "'\\''" : plain);
    }
    memcpy(out + n, "'", sizeof "'");
}

bool shell_words_join(const struct shell_words *words, size_t first, char *out, size_t size)
{
    char quoted[4 * SHELL_WORDS_TEXT];
    size_t n = 0;
    *out = 0;
    for (size_t i = first; i < words->count && n < size; i++) {
        const char *word = words->word[i];
        const bool plain = *word && !word[strspn(word, PLAIN)];
        if (!plain)
            shell_words_quote(word, quoted, sizeof quoted);
        n += (size_t)snprintf(out + n, size - n, "%s%s", i > first ? " " : "",
                              plain ? word : quoted);
    }
    return n < size;
}
