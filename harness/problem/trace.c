/*
 * trace: reads lengths of sequences from the columns of a CSV file.
 *
 * Names of columns are those of the traces of Azure (Patel et al. 2024, arXiv:2311.18677), BurstGPT (Wang et
 * al. 2024, arXiv:2401.17644) and Vidur (Agrawal et al. 2024, arXiv:2405.05465).
 */
#include "model_size.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/named_pipe.h"
#include "base/message.h"
#include "clause.h"

#define USUAL_REQUESTS 32
#define MOST_TOKENS ((uint64_t)1 << 32)
#define LINE 4096 /* bytes */

enum column { PROMPT, REPLY, COLUMNS };

static const char *const words[] = {"prompts:", "replies:"};

static const char *const names[COLUMNS][4] = {
    [PROMPT] = {"ContextTokens", "Request tokens", "num_prefill_tokens", NULL},
    [REPLY] = {"GeneratedTokens", "Response tokens", "num_decode_tokens", NULL},
};

struct reader {
    const char *path;
    FILE *file;
    size_t line;            /* counted from 1 */
    size_t column[COLUMNS]; /* counted from 0 */
    struct message message;
};

#define fail(r, ...) refuse_file((r)->message, (r)->path, __VA_ARGS__)

bool trace_is(struct piece text)
{
    return piece_skip(&text, words[PROMPT]) || piece_skip(&text, words[REPLY]);
}

/* The next line, without its end; false past the last one, or if it is too long. */
static bool next_line(struct reader *r, char text[LINE], struct piece *line)
{
    if (!fgets(text, LINE, r->file))
        return false;
    r->line++;
    *line = (struct piece){text, strcspn(text, "\r\n")};
    return true;
}

static bool find_columns(struct reader *r)
{
    char text[LINE];
    struct piece line = {"", 0};
    bool more = next_line(r, text, &line), found[COLUMNS] = {0};
    for (size_t at = 0; more; at++) {
        const struct piece name = piece_trim(piece_split(&line, ",", &more));
        for (int c = 0; c < COLUMNS; c++)
            for (const char *const *known = names[c]; *known; known++)
                if (piece_is(name, *known)) {
                    r->column[c] = at;
                    found[c] = true;
                }
    }
    for (int c = 0; c < COLUMNS; c++)
        if (!found[c])
            return fail(r, "1: no column %s, %s or %s: this is no trace that is known", names[c][0],
                        names[c][1], names[c][2]);
    return true;
}

/* Reads the numbers in a line's columns. */
static bool read_tokens(struct reader *r, struct piece line, uint64_t tokens[COLUMNS])
{
    char quoted[SCAN_QUOTED];
    bool more = true, read[COLUMNS] = {0};
    for (size_t at = 0; more; at++) {
        const struct piece value = piece_trim(piece_split(&line, ",", &more));
        for (int c = 0; c < COLUMNS; c++) {
            const char *why;
            if (at != r->column[c])
                continue;
            read[c] = scan_number(value, MOST_TOKENS, &tokens[c], &why);
            why = read[c] ? "is less than 1" : why;
            if (!read[c] || (c == PROMPT && !tokens[c]))
                return fail(r, "%zu: %s %s: %s", r->line, names[c][0], scan_quote(value, quoted),
                            why);
        }
    }
    for (int c = 0; c < COLUMNS; c++)
        if (!read[c])
            return fail(r, "%zu: no %s", r->line, names[c][0]);
    return true;
}

static bool read_requests(struct reader *r, bool replies, size_t most, struct input *input)
{
    char text[LINE];
    struct piece line;
    const char *why;
    size_t n = 0;
    for (; n < most && next_line(r, text, &line); n++) {
        uint64_t tokens[COLUMNS];
        if (!read_tokens(r, line, tokens))
            return false;
        const bool added = replies
                               ? clause_runs_add(input, 1, 1, tokens[PROMPT] + tokens[REPLY], &why)
                               : clause_runs_add(input, 1, 0, tokens[PROMPT], &why);
        if (!added)
            return fail(r, "a batch of %zu requests %s; the first %zu would do", most, why, n);
    }
    return n || fail(r, "no requests");
}

/* Splits FILE or FILE:N. */
static bool split_count(struct piece *path, uint64_t *count, const char **why)
{
    size_t at = path->length;
    while (at && path->at[at - 1] >= '0' && path->at[at - 1] <= '9')
        at--;
    *count = USUAL_REQUESTS;
    if (at < 2 || at == path->length || path->at[at - 1] != ':')
        return true;
    const struct piece digits = piece_from(path->at + at, path->at + path->length);
    *path = piece_from(path->at, path->at + at - 1);
    if (!scan_number(digits, 1 << 20, count, why))
        return false;
    *why = "is less than 1";
    return *count;
}

bool trace_read(struct piece text, struct input *input, struct message message)
{
    struct piece file = text;
    const bool replies = !piece_skip(&file, words[PROMPT]) && piece_skip(&file, words[REPLY]);
    char path[4096], quoted[SCAN_QUOTED];
    const char *why = "is no path";
    uint64_t count;
    struct reader r = {.path = path, .message = message};
    if (!split_count(&file, &count, &why) || !piece_copy(file, path, sizeof path))
        return refuse(message, "--batch %s %s", scan_quote(text, quoted), why);
    if (named_pipe_is(path))
        return fail(&r, NAMED_PIPE_REFUSAL);
    if (!(r.file = fopen(path, "r")))
        return fail(&r, "%s", strerror(errno));
    const bool read = find_columns(&r) && read_requests(&r, replies, count, input);
    fclose(r.file);
    return read;
}
