/*
 * drawn_simplest: makes a failing case smaller, one simplification after the other, as long as it fails.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "drawn_search.h"
#include "problem/parse.h"

#define MOST_TRIES 1000

/* ---- one simplification -------------------------------------------------------------------- */

static void drop_option(struct attn_problem *p, unsigned option)
{
    p->options &= ~option;
    if (option == ATTN_OPTION_WINDOW)
        p->window_left = p->window_right = -1;
    if (option == ATTN_OPTION_SOFTCAP)
        p->softcap = 0;
    if (option == ATTN_OPTION_PAGED)
        p->page_size = 0;
}

static void no_int8(struct drawn_case *c)
{
    c->problem.kv_dtype = c->problem.dtype;
}

static void only_f32(struct drawn_case *c)
{
    if (c->problem.kv_dtype == c->problem.dtype)
        c->problem.kv_dtype = ATTN_F32;
    c->problem.dtype = ATTN_F32;
}

static void only_o(struct drawn_case *c)
{
    c->problem.outputs = ATTN_OUTPUT_O;
}

static void only_lse(struct drawn_case *c)
{
    c->problem.outputs &= ATTN_OUTPUT_LSE;
}

static void heads_first(struct drawn_case *c)
{
    c->problem.layout = ATTN_BHSD;
}

static void usual_scale(struct drawn_case *c)
{
    c->problem.scale = 0;
}

static void one_kv_head(struct drawn_case *c)
{
    c->problem.q_heads /= c->problem.kv_heads;
    c->problem.kv_heads = 1;
}

static void no_groups(struct drawn_case *c)
{
    c->problem.q_heads = c->problem.kv_heads;
}

static void smaller_groups(struct drawn_case *c)
{
    if (c->problem.q_heads > c->problem.kv_heads)
        c->problem.q_heads -= c->problem.kv_heads;
}

static void no_left_limit(struct drawn_case *c)
{
    c->problem.window_left = -1;
}

static void no_right_limit(struct drawn_case *c)
{
    c->problem.window_right = -1;
}

static void lower_seed(struct drawn_case *c)
{
    c->seed /= 2;
}

static void (*const others[])(struct drawn_case *) = {
    no_int8,       only_f32,       only_o,      only_lse,  heads_first,    usual_scale,
    no_left_limit, no_right_limit, one_kv_head, no_groups, smaller_groups, lower_seed};

static const struct size {
    size_t offset;
    ptrdiff_t least;
} sizes[] = {
    {offsetof(struct attn_problem, batch), 1},
    {offsetof(struct attn_problem, q_len), 1},
    {offsetof(struct attn_problem, kv_len), 1},
    {offsetof(struct attn_problem, v_dim), 1},
    {offsetof(struct attn_problem, qk_dim), 1},
    {offsetof(struct attn_problem, page_size), 1},
    {offsetof(struct attn_problem, window_left), 0},
    {offsetof(struct attn_problem, window_right), 0},
};

/* To the least, by a half, by a quarter, by one: step 0 to 3. */
static void shorten(struct attn_problem *p, const struct size *size, size_t step)
{
    ptrdiff_t n;
    memcpy(&n, (char *)p + size->offset, sizeof n);
    if (n <= size->least)
        return;
    const ptrdiff_t less[] = {size->least, n / 2, n - n / 4, n - 1};
    n = less[step] > size->least ? less[step] : size->least;
    memcpy((char *)p + size->offset, &n, sizeof n);
}

/* Simplification number n; false past the last one.  It may leave the case as it is. */
static bool simplify(struct drawn_case *c, size_t n)
{
    const size_t lengths = 4 * sizeof sizes / sizeof *sizes, masks = 4, options = 8;
    if (n < lengths) {
        shorten(&c->problem, &sizes[n % (lengths / 4)], n / (lengths / 4));
        return true;
    }
    n -= lengths;
    if (n < masks) {
        c->problem.mask &= ~(1u << n);
        return true;
    }
    n -= masks;
    if (n < options) {
        drop_option(&c->problem, 1u << n);
        return true;
    }
    n -= options;
    if (n < sizeof others / sizeof *others)
        others[n](c);
    return n < sizeof others / sizeof *others;
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool same(const struct drawn_case *a, const struct drawn_case *b)
{
    char texts[2][PARSE_TEXT];
    parse_print_problem(&a->problem, texts[0]);
    parse_print_problem(&b->problem, texts[1]);
    return a->seed == b->seed && strcmp(texts[0], texts[1]) == 0;
}

/* Whether it fails, with its own operands or those of one of the seeds below `seeds`, which it then has:
 * lengths and masks depend on the seed, and in a smaller problem the old one may draw nothing special. */
static bool fails_somehow(const struct drawn_property *property, struct drawn_case *c,
                          uint64_t seeds)
{
    bool fails = drawn_fails(property, c);
    for (uint64_t seed = 0; seed < seeds && !fails; seed++) {
        c->seed = seed;
        fails = drawn_fails(property, c);
    }
    return fails;
}

/* Goes through all simplifications until none is left that fails. */
static void simplify_all(const struct drawn_property *property, struct drawn_case *simplest,
                         uint64_t seeds, size_t *tries)
{
    for (bool simpler = true; simpler;) {
        simpler = false;
        struct drawn_case next = *simplest;
        for (size_t n = 0; simplify(&next, n); next = *simplest) {
            const char *why;
            const bool found = attn_problem_valid(&next.problem, &why) && !same(&next, simplest) &&
                               (*tries)++ < MOST_TRIES && fails_somehow(property, &next, seeds);
            if (found)
                *simplest = next;
            else
                n++;
            simpler |= found;
        }
    }
}

struct drawn_case drawn_simplest(const struct drawn_property *property,
                                 const struct drawn_case *failing)
{
    struct drawn_case simplest = *failing;
    size_t tries = 0;
    simplify_all(property, &simplest, 0, &tries);
    simplify_all(property, &simplest, 3, &tries);
    return simplest;
}
