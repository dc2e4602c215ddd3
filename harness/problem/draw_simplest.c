/*
 * draw_simplest: simplifies a problem step by step while something still fails on it.
 */
#include "draw.h"

#include <string.h>

#include "kv.h"

/* What turns off each option and choice. */
static const char *const off[] = {
    "window=-1",   "softcap=0",  "sinks=0",  "alibi=0",   "ragged=0",    "page=0", "packed=0",
    "shared_kv=0", "kv_zeros=0", "keys=all", "outputs=o", "layout=bhsd", "scale=0"};
enum { OPTIONS = sizeof off / sizeof *off };

static void drop_other(struct attn_problem *p, size_t n)
{
    if (n == 1)
        p->dtype = ATTN_F32;
    if (n <= 1)
        kv_set_type(p, p->dtype);
    else
        p->q_heads = p->kv_heads;
}

/* Drops rare option number n. */
static void drop_rare(struct attn_problem *p, size_t n)
{
    if (n == 0)
        p->window_left = -1;
    else if (n == 1)
        p->window_right = -1;
    else if (n == 2)
        p->outputs &= ATTN_OUTPUT_LSE;
    else if (p->q_heads > p->kv_heads)
        p->q_heads -= p->kv_heads;
}

/* Reduces a size to 1, to a half, or by one. */
static void shorten(size_t *size, size_t step)
{
    if (*size > 1)
        *size = step == 0 ? 1 : step == 1 ? (*size + 1) / 2 : *size - 1;
}

static void narrow(ptrdiff_t *side, size_t step)
{
    if (*side > 0)
        *side = step == 0 ? 0 : step == 1 ? *side / 2 : *side - 1;
}

/* Applies simplification number n; false past the last one.  The problem may be unchanged or invalid
 * afterwards. */
static bool simplify(struct attn_problem *p, size_t n)
{
    enum { MASKS = 5, OTHERS = 3, SIZES = 6, STEPS = 3, RARE = 4 };
    size_t *const sizes[] = {&p->batch, &p->q_len,  &p->kv_len,
                             &p->v_dim, &p->qk_dim, &p->index_count};
    ptrdiff_t *const sides[] = {&p->window_left, &p->window_right};
    const size_t group = p->q_heads / p->kv_heads;
    if (n < MASKS)
        p->mask &= ~(1u << n);
    else if ((n -= MASKS) < OPTIONS)
        parse_change(off[n], p);
    else if ((n -= OPTIONS) < OTHERS)
        drop_other(p, n);
    else if ((n -= OTHERS) < 1)
        p->q_heads = group * (p->kv_heads = 1);
    else if ((n -= 1) < SIZES * STEPS)
        shorten(sizes[n % SIZES], n / SIZES);
    else if ((n -= SIZES * STEPS) < RARE)
        drop_rare(p, n);
    else if ((n -= RARE) < 2 * STEPS)
        narrow(sides[n % 2], n / 2);
    else if ((n -= 2 * STEPS) < STEPS)
        shorten(&p->page_size, n);
    else
        return false;
    return true;
}

/* Simplifies a case by number n; false if that does not make it simpler. */
static bool simpler(struct problem_case *c, size_t n)
{
    char before[PARSE_TEXT], after[PARSE_TEXT];
    const char *why;
    parse_print_problem(&c->problem, before);
    simplify(&c->problem, n);
    if (!attn_problem_valid(&c->problem, &why))
        return false;
    parse_fit_input(&c->input, &c->problem);
    parse_print_problem(&c->problem, after);
    return strcmp(before, after) != 0;
}

struct problem_case draw_simplest(const struct problem_case *failing, draw_fails *fails,
                                  const void *context, size_t most_tries)
{
    struct problem_case simplest = *failing, next = simplest;
    struct attn_problem scratch = simplest.problem;
    size_t tries = 0;
    for (bool any = true; any && tries < most_tries;) {
        any = false;
        for (size_t n = 0; simplify(&scratch, n) && tries < most_tries; next = simplest) {
            const bool found = simpler(&next, n) && ++tries && fails(context, &next);
            if (found)
                simplest = next;
            n += !found;
            any = any || found;
            scratch = simplest.problem;
        }
    }
    return simplest;
}
