/*
 * clause_prefix: the clause of an input, and keys in shared pages.
 *
 * All sequences begin with the same pages, like requests to a server with the same system prompt; the
 * shortest sequence limits how many these are.
 */
#include "clause.h"

#include <stdio.h>

#include "lengths.h"

const char *clause_prefix_misfit(const struct input *input, const struct attn_problem *p)
{
    static _Thread_local char why[128];
    const size_t keys = input->prefix_keys, least = lengths_shortest(input, p);
    if (!keys)
        return NULL;
    if (keys % p->page_size)
        snprintf(why, sizeof why, "has %zu keys, which fill no whole pages of %zu", keys,
                 p->page_size);
    else if (keys > least)
        snprintf(why, sizeof why, "has %zu keys, the shortest sequence %zu", keys, least);
    else
        return NULL;
    return why;
}

void clause_prefix_fit(struct input *input, const struct attn_problem *p)
{
    const size_t least = lengths_shortest(input, p);
    const size_t keys = least < input->prefix_keys ? least : input->prefix_keys;
    input->prefix_keys = p->options & ATTN_OPTION_PAGED ? keys / p->page_size * p->page_size : 0;
}

size_t clause_prefix_pages(const struct problem_case *c)
{
    return c->input.prefix_keys ? c->input.prefix_keys / c->problem.page_size : 0;
}

bool clause_prefix_holds(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                         size_t j)
{
    const size_t other = b ? 0 : 1;
    if (!(p->options & ATTN_OPTION_PAGED) || p->batch < 2)
        return false;
    const int32_t *tables = t->block_table.data;
    const ptrdiff_t page = (ptrdiff_t)(j / p->page_size), stride = t->block_table.stride[0];
    return j < attn_sequence(p, t, other).kv_len &&
           tables[(ptrdiff_t)b * stride + page] == tables[(ptrdiff_t)other * stride + page];
}

/* ---- the clause ------------------------------------------------------------------------------ */

static bool read_prefix(struct piece value, struct input *input, const char **why)
{
    uint64_t keys;
    if (!scan_length(value, PTRDIFF_MAX, &keys, why))
        return false;
    input->prefix_keys = keys;
    return true;
}

static bool print_prefix(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "%zu", input->prefix_keys);
    return input->prefix_keys;
}

/* clause_prefix_misfit() comes later: clauses that are parsed after this one may give the lengths. */
const struct clause clause_prefix = {"prefix", "prefix:N", read_prefix, print_prefix, NULL};
