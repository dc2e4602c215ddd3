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

#include "guess.h"
#include "single.h"
#include "trial.h"
#include "reference.h"

/* What a guess is tested with. */
struct evidence {
    struct trial *trial;
    struct sight sight; /* of the wrong row */
    const struct check_mismatch *wrong;
    struct single single;
    struct attn_reference_row row; /* of the guess */
    void *workspace;
};

static double output(const struct evidence *e, size_t d)
{
    const struct tensors_place at = e->sight.at;
    return tensors_get(&e->trial->set.tensors.o, at.b, at.h, at.row, d);
}

/* Whether the kernel's element d is x within the bound of the guess, and the rounding of a type of 16
 * bits, of which the guess in f32 knows nothing. */
static bool is_output(const struct evidence *e, size_t d, double x)
{
    const enum attn_dtype dtype = e->trial->problem.dtype;
    const double u = dtype == ATTN_BF16 ? 0x1p-8 : dtype == ATTN_F16 ? 0x1p-11 : 0;
    return fabs(output(e, d) - x) <= e->row.bound[d] + u * fabs(x);
}

/* ---- guesses ------------------------------------------------------------------------------- */

/* Computes the guess's row and compares it with what the kernel gave. */
static bool fits(struct evidence *e, const struct guess *guess)
{
    const struct attn_kernel *kernel = e->trial->checker->kernel;
    if (!single_take(&e->single, &guess->sight))
        return false;
    attn_reference(&e->single.problem, &e->single.tensors, 0, 0, 0,
                   attn_compute(kernel, &e->single.problem), kernel->caps.bound_factor,
                   e->workspace, &e->row);
    if (e->wrong->tensor[0] == 'l')
        return fabs(e->wrong->got - e->row.lse) <= e->row.lse_bound;
    for (size_t d = 0; d < guess->problem.v_dim; d++)
        if (!is_output(e, d, e->row.o[d]))
            return false;
    return true;
}

static bool guess_again(struct evidence *e, char *text, size_t size)
{
    struct guess guess;
    bool sensible;
    for (size_t n = 0; guess_make(n, &e->sight, &guess, &sensible, text, size); n++)
        if (sensible && fits(e, &guess))
            return true;
    return false;
}

/* ---- sums ---------------------------------------------------------------------------------- */

/* What is right into e->row; false where the row sees no key. */
static bool compute_right(struct evidence *e)
{
    struct guess right;
    guess_nothing(&right, &e->sight);
    fits(e, &right);
    return e->single.problem.kv_len > 0;
}

/* Keys of zeros have the score 0 and add e^0 each to the sum, nothing to O: O = r O_right with
 * r = 1 / (1 + n e^-LSE).  A whole n that fits all elements tells how many there were. */
static bool zero_keys(struct evidence *e, char *text, size_t size)
{
    if (!compute_right(e))
        return false;
    const size_t v_dim = e->trial->problem.v_dim;
    size_t largest = 0;
    for (size_t d = 1; d < v_dim; d++)
        if (fabs(e->row.o[d]) > fabs(e->row.o[largest]))
            largest = d;
    const double n = round((e->row.o[largest] / output(e, largest) - 1) * exp(e->row.lse));
    if (!(n >= 1 && n < 4096))
        return false;
    for (size_t d = 0; d < v_dim; d++)
        if (!is_output(e, d, e->row.o[d] / (1 + n * exp(-e->row.lse))))
            return false;
    snprintf(text, size, "as if %.0f key%s of zeros were seen as well", n, n > 1 ? "s" : "");
    return true;
}

/* Above it the bound is so large that anything fits. */
#define LARGEST_LSE 1e4

/* LSE alone is wrong: in another base, or without its maximum. */
static bool other_lse(struct evidence *e, char *text, size_t size)
{
    if (e->wrong->tensor[0] != 'l' || !compute_right(e))
        return false;
    const double got = e->wrong->got, lse = e->row.lse, slack = 2 * e->row.lse_bound;
    if (!(fabs(lse) < LARGEST_LSE))
        return false;
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

static bool find_reason(struct evidence *e, char *text, size_t size)
{
    return other_lse(e, text, size) || guess_again(e, text, size) || zero_keys(e, text, size) ||
           check_ask(e->trial, e->wrong, text, size);
}

void check_diagnose(struct trial *trial, const struct check_mismatch *wrong, char *text,
                    size_t text_size)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    struct evidence e = {
        .trial = trial,
        .sight = sight_of(p, t, tensors_place(p, t, wrong->row)),
        .wrong = wrong,
        .row.size = sizeof e.row,
        .row.o = malloc(2 * p->v_dim * sizeof(double)),
        .workspace = malloc(attn_reference_workspace(p)),
    };
    const bool room = single_open(&e.single, p) && e.row.o && e.workspace && text_size > 2;
    text[0] = 0;
    if (room && p->outputs & ATTN_OUTPUT_O) {
        e.row.bound = e.row.o + p->v_dim;
        if (find_reason(&e, text + 2, text_size - 2)) {
            text[0] = ';';
            text[1] = ' ';
        }
    }
    single_close(&e.single);
    free(e.row.o);
    free(e.workspace);
}
