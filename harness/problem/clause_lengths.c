/*
 * clause_lengths: clauses of an input about lengths of sequences.
 */
#include <stdio.h>
#include <string.h>

#include "clause.h"
#include "lengths.h"

/* LO:HI or LO:HI:MEAN */
static bool read_lengths(struct piece value, struct input_lengths *lengths, const char **why)
{
    uint64_t numbers[3] = {0};
    bool more = true;
    size_t n = 0;
    for (; more && n < 3; n++)
        if (!scan_count(piece_split(&value, ":", &more), PTRDIFF_MAX, &numbers[n], why))
            return false;
    *why = "is not two or three numbers";
    if (more || n < 2)
        return false;
    if (n == 2)
        numbers[2] = numbers[0] + (numbers[1] - numbers[0]) / 2;
    *why = "does not rise from LO over MEAN to HI";
    *lengths = (struct input_lengths){true, numbers[0], numbers[1], numbers[2]};
    return lengths->lo <= lengths->mean && lengths->mean <= lengths->hi &&
           lengths->lo <= lengths->hi;
}

static bool print_lengths(const struct input_lengths *lengths, char text[PARSE_TEXT])
{
    const int n = snprintf(text, PARSE_TEXT, "%zu:%zu", lengths->lo, lengths->hi);
    if (lengths->mean != lengths->lo + (lengths->hi - lengths->lo) / 2)
        snprintf(text + n, PARSE_TEXT - (size_t)n, ":%zu", lengths->mean);
    return lengths->given;
}

/* Whether queries and keys of each sequence are given. */
static bool has_batch(const struct input *input)
{
    return input->run_count && input->runs[0].q;
}

#define BESIDE_BATCH "cannot stand beside batch"

static bool read_lens(struct piece value, struct input *input, const char **why)
{
    *why = BESIDE_BATCH;
    if (has_batch(input))
        return false;
    return memchr(value.at, ',', value.length) ? clause_runs_read(value, false, input, why)
                                               : read_lengths(value, &input->lens, why);
}

static bool read_batch(struct piece value, struct input *input, const char **why)
{
    *why = "cannot stand beside lens, qlens or decode";
    return !input->lens.given && !input->qlens.given && !input->decode && !input->run_count &&
           clause_runs_read(value, true, input, why);
}

static bool print_batch(const struct input *input, char text[PARSE_TEXT])
{
    clause_runs_print(input, text);
    return has_batch(input);
}

static bool print_lens(const struct input *input, char text[PARSE_TEXT])
{
    if (input->run_count)
        clause_runs_print(input, text);
    if (input->run_count)
        return !has_batch(input);
    return print_lengths(&input->lens, text);
}

static const char *lens_misfit(const struct input *input, const struct attn_problem *p)
{
    return input->run_count             ? clause_runs_misfit(input, p)
           : !lengths_vary_kv(p)        ? "needs ragged=1, or packed=1 without pages"
           : input->lens.hi > p->kv_len ? "has a sequence of more than skv keys"
                                        : NULL;
}

static bool read_qlens(struct piece value, struct input *input, const char **why)
{
    *why = BESIDE_BATCH;
    if (has_batch(input) || !read_lengths(value, &input->qlens, why))
        return false;
    *why = "cannot stand beside decode";
    return !input->decode;
}

static bool print_qlens(const struct input *input, char text[PARSE_TEXT])
{
    return print_lengths(&input->qlens, text);
}

static const char *qlens_misfit(const struct input *input, const struct attn_problem *p)
{
    return input->qlens.hi > p->q_len ? "has a sequence of more than sq queries" : NULL;
}

static bool read_decode(struct piece value, struct input *input, const char **why)
{
    uint64_t n;
    if (!scan_number(value, PTRDIFF_MAX, &n, why))
        return false;
    input->decode = n;
    *why = has_batch(input) ? BESIDE_BATCH : n ? "cannot stand beside qlens" : "is less than 1";
    return n && !input->qlens.given && !has_batch(input);
}

static bool print_decode(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "%zu", input->decode);
    return input->decode;
}

static const char *decode_misfit(const struct input *input, const struct attn_problem *p)
{
    return input->decode > p->batch ? "has more sequences than b" : NULL;
}

const struct clause clause_lens = {"lens", "lens:LO:HI, lens:LO:HI:MEAN or lens:A,B,...", read_lens,
                                   print_lens, lens_misfit};
const struct clause clause_batch = {"batch", "batch:" CLAUSE_RUNS_FORM, read_batch, print_batch,
                                    clause_runs_misfit};
const struct clause clause_qlens = {"qlens", "qlens:LO:HI or qlens:LO:HI:MEAN", read_qlens,
                                    print_qlens, qlens_misfit};
const struct clause clause_decode = {"decode", "decode:N", read_decode, print_decode,
                                     decode_misfit};
