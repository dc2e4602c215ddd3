/*
 * diagnose: what a wrong kernel seems to have done.
 *
 * First guesses: would the wrong row be right if the last key were missing, if another KV head had
 * been read, if the scale had been applied twice...?  Each is the reference of a slightly different
 * problem.  Where no guess fits, the kernel runs again: V is replaced by one-hot rows that sort the
 * keys into Dv bins, so that the row shows the weight of every bin; the bin that is most wrong is
 * sorted again until it is one key.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "trial.h"
#include "reference.h"

/* A row as a problem of its own: what it reads, and how. */
struct guess {
    struct attn_problem problem; /* one query, no mask */
    size_t b, g, i;              /* which queries' and keys' rows */
    ptrdiff_t lo, hi;            /* keys */
};

/* What a guess is tested with. */
struct evidence {
    struct trial *trial;
    struct tensors_place at;
    struct attn_range seen;
    const struct check_mismatch *wrong;
    struct attn_reference_row row; /* of the guess */
    void *workspace;
};

static double output(const struct evidence *e, size_t d)
{
    return tensors_get(&e->trial->set.tensors.o, e->at.b, e->at.h, e->at.row, d);
}

/* ---- guesses ------------------------------------------------------------------------------- */

/* Each changes the guess and says what that means; false where it makes no sense here. */
typedef bool suppose(const struct evidence *e, struct guess *guess, char *text, size_t size);

static bool last_key_missing(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    (void)e;
    guess->hi--;
    snprintf(text, size, "as if it did not see its last key, %td", guess->hi);
    return guess->hi > guess->lo;
}

static bool first_key_missing(const struct evidence *e, struct guess *guess, char *text,
                              size_t size)
{
    (void)e;
    snprintf(text, size, "as if it did not see its first key, %td", guess->lo++);
    return guess->hi > guess->lo;
}

static bool one_key_more(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    snprintf(text, size, "query %zu sees key %td, which the mask hides", e->at.i, guess->hi++);
    return guess->hi <= (ptrdiff_t)e->trial->problem.kv_len;
}

static bool one_key_before(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    snprintf(text, size, "query %zu sees key %td, which the mask hides", e->at.i, --guess->lo);
    return guess->lo >= 0;
}

static bool no_mask(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    guess->lo = 0;
    guess->hi = (ptrdiff_t)e->trial->problem.kv_len;
    snprintf(text, size, "as if there were no mask");
    return guess->hi - guess->lo != e->seen.hi - e->seen.lo;
}

static bool other_alignment(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    struct attn_problem p = e->trial->problem;
    p.mask ^= ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    const struct attn_range r = attn_visible(&p, (ptrdiff_t)e->at.i);
    guess->lo = r.lo;
    guess->hi = r.hi;
    snprintf(text, size, "as if the mask were aligned to the %s key",
             p.mask & ATTN_MASK_CAUSAL ? "last" : "first");
    return e->trial->problem.mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT) && r.lo < r.hi;
}

static bool scaled_twice(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    (void)e;
    guess->problem.scale *= guess->problem.scale;
    snprintf(text, size, "as if the scale were applied twice");
    return true;
}

static bool not_scaled(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    (void)e;
    guess->problem.scale = 1;
    snprintf(text, size, "as if the scale were not applied");
    return true;
}

static bool default_scale(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    guess->problem.scale = 0;
    snprintf(text, size, "as if the scale were 1/sqrt(D), whatever the problem says");
    return e->trial->problem.scale != 0;
}

static bool scale_without_sign(const struct evidence *e, struct guess *guess, char *text,
                               size_t size)
{
    guess->problem.scale = -guess->problem.scale;
    snprintf(text, size, "as if the scale were positive");
    return e->trial->problem.scale < 0;
}

static bool exp_for_exp2(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    (void)e;
    guess->problem.scale *= 1.44269504f;
    snprintf(text, size, "as if scores were multiplied by log2(e) and then passed to exp");
    return true;
}

static bool exp2_for_exp(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    (void)e;
    guess->problem.scale *= 0.693147181f;
    snprintf(text, size, "as if exp2 were used instead of exp");
    return true;
}

static bool next_query(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    guess->i++;
    snprintf(text, size, "as if it computed query %zu", guess->i);
    return guess->i < e->trial->problem.q_len;
}

static bool previous_query(const struct evidence *e, struct guess *guess, char *text, size_t size)
{
    (void)e;
    snprintf(text, size, "as if it computed query %zu", --guess->i);
    return guess->i != SIZE_MAX;
}

static suppose *const guesses[] = {
    last_key_missing, first_key_missing, one_key_more,       one_key_before, no_mask,
    other_alignment,  default_scale,     scale_without_sign, scaled_twice,   not_scaled,
    exp_for_exp2,     exp2_for_exp,      next_query,         previous_query,
};

/* Computes the guess's row and compares it with what the kernel gave. */
static bool fits(struct evidence *e, const struct guess *guess)
{
    const struct attn_caps *caps = &e->trial->checker->kernel->caps;
    const struct attn_tensors *t = &e->trial->set.tensors;
    struct attn_tensors moved = *t;
    struct attn_problem p = guess->problem;
    p.kv_len = (size_t)(guess->hi - guess->lo);
    moved.q.data = attn_row(&t->q, e->at.b, e->at.h, guess->i);
    moved.k.data = attn_row(&t->k, guess->b, guess->g, (size_t)guess->lo);
    moved.v.data = attn_row(&t->v, guess->b, guess->g, (size_t)guess->lo);
    attn_reference(&p, &moved, 0, 0, 0, caps->compute, caps->bound_factor, e->workspace, &e->row);
    if (e->wrong->tensor[0] == 'l')
        return fabs(tensors_get(&t->lse, e->at.b, e->at.h, e->at.i, 0) - e->row.lse) <=
               e->row.lse_bound;
    for (size_t d = 0; d < p.v_dim; d++)
        if (!(fabs(output(e, d) - e->row.o[d]) <= e->row.bound[d]))
            return false;
    return true;
}

static bool guess_again(struct evidence *e, const struct guess *right, char *text, size_t size)
{
    const struct attn_problem *p = &e->trial->problem;
    for (size_t n = 0; n < sizeof guesses / sizeof *guesses; n++) {
        struct guess guess = *right;
        if (guesses[n](e, &guess, text, size) && fits(e, &guess))
            return true;
    }
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++) {
            struct guess guess = *right;
            guess.b = b;
            guess.g = g;
            snprintf(text, size, "as if it read KV head %zu of sequence %zu instead of %zu of %zu",
                     g, b, right->g, right->b);
            if ((b != right->b || g != right->g) && fits(e, &guess))
                return true;
        }
    return false;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* Keys of zeros have the score 0 and add e^0 each to the sum, nothing to O: O = r O_right with
 * r = 1 / (1 + n e^-LSE).  A whole n that fits all elements tells how many there were. */
static bool zero_keys(struct evidence *e, const struct guess *right, char *text, size_t size)
{
    fits(e, right);
    const size_t v_dim = right->problem.v_dim;
    size_t largest = 0;
    for (size_t d = 1; d < v_dim; d++)
        if (fabs(e->row.o[d]) > fabs(e->row.o[largest]))
            largest = d;
    const double n = round((e->row.o[largest] / output(e, largest) - 1) * exp(e->row.lse));
    if (!(n >= 1 && n < 4096))
        return false;
    for (size_t d = 0; d < v_dim; d++)
        if (!(fabs(output(e, d) - e->row.o[d] / (1 + n * exp(-e->row.lse))) <= e->row.bound[d]))
            return false;
    snprintf(text, size, "as if %.0f key%s of zeros were seen as well", n, n > 1 ? "s" : "");
    return true;
}

/* LSE alone is wrong: in another base, or without its maximum. */
static bool other_lse(struct evidence *e, const struct guess *right, char *text, size_t size)
{
    fits(e, right);
    const double got = e->wrong->got, lse = e->row.lse, slack = 2 * e->row.lse_bound;
    const struct {
        double value;
        const char *text;
    } table[] = {
        {lse / log(2), "as if it were in base 2"},
        {exp(lse), "as if the logarithm were not taken"},
        {-lse, "as if its sign were changed"},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++)
        if (fabs(got - table[n].value) <= slack * fmax(1, fabs(table[n].value / lse))) {
            snprintf(text, size, "%s", table[n].text);
            return true;
        }
    return false;
}

/* ---- the diagnosis ------------------------------------------------------------------------- */

void check_diagnose(struct trial *trial, const struct check_mismatch *wrong, char *text,
                    size_t text_size)
{
    const struct attn_problem *p = &trial->problem;
    text[0] = 0;
    if (!check_is_plain(p))
        return;
    struct evidence e = {
        .trial = trial,
        .at = tensors_place(p, &trial->set.tensors, wrong->row),
        .wrong = wrong,
        .row.size = sizeof e.row,
        .row.o = malloc(2 * p->v_dim * sizeof(double)),
        .workspace = malloc(attn_reference_workspace(p)),
    };
    e.seen = attn_visible(p, (ptrdiff_t)e.at.i);
    struct guess right = {.problem = *p,
                          .b = e.at.b,
                          .g = attn_kv_head(p, e.at.h),
                          .i = e.at.i,
                          .lo = e.seen.lo,
                          .hi = e.seen.hi};
    right.problem.q_len = 1;
    right.problem.mask = ATTN_MASK_NONE;
    right.problem.options = 0;
    right.problem.scale = attn_problem_scale(p);
    if (e.row.o && e.workspace && p->outputs & ATTN_OUTPUT_O && text_size > 2) {
        e.row.bound = e.row.o + p->v_dim;
        char *what = text + 2;
        const size_t size = text_size - 2;
        const bool lse = wrong->tensor[0] == 'l';
        if ((lse && other_lse(&e, &right, what, size)) || guess_again(&e, &right, what, size) ||
            zero_keys(&e, &right, what, size) || check_ask(trial, wrong, what, size)) {
            text[0] = ';';
            text[1] = ' ';
        } else {
            text[0] = 0;
        }
    }
    free(e.row.o);
    free(e.workspace);
}
