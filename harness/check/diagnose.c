/*
 * diagnose: explains what a wrong kernel seems to have done.
 *
 * First by guesses: would the wrong row be right if the last key were missing, if another KV head had been
 * read, if the scale had been applied twice...?  Each is tested with the reference of a slightly different
 * problem.  Then by sums of weights and by results of earlier calls.  Where nothing fits, the kernel runs
 * again: V is replaced by one-hot rows that sort the keys into Dv bins, so that O shows the weight of every
 * bin; the keys of the most wrong bin are sorted again, until it is a single key.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "evidence.h"

/* ---- guesses ------------------------------------------------------------------------------- */

/* Whether the kernel gave the guess's row. */
static bool fits(struct evidence *e, const struct guess *guess)
{
    if (!evidence_suppose(e, guess))
        return false;
    if (e->wrong.tensor[0] == 'l')
        return fabs(e->wrong.got - e->row.reference.lse) <= e->row.reference.lse_bound;
    for (size_t d = 0; d < guess->problem.v_dim; d++)
        if (!evidence_is_output(e, d, e->row.reference.o[d]))
            return false;
    return true;
}

static bool guess_again(struct evidence *e, char *text, size_t size)
{
    struct guess guess;
    bool sensible;
    for (size_t n = 0; guess_make(n, &e->view, &guess, &sensible, text, size); n++)
        if (sensible && fits(e, &guess))
            return true;
    return false;
}

/* ---- O in another order ---------------------------------------------------------------------- */

/* Sampled rows, spread over all: a single one might agree by chance. */
#define ROWS_LOOKED_AT 8

/* Whether the kernel's row at one place is the right row of another place. */
static bool holds_row_of(struct evidence *e, struct tensors_place at, struct tensors_place other)
{
    const struct attn_problem *p = &e->trial->problem;
    const struct row_view view = row_view_of(p, &e->trial->set.tensors, other);
    bool holds = true;
    if (!evidence_right(e, &view))
        return true; /* a row without keys proves nothing */
    const struct row_view wrong = e->view;
    e->view.at = at;
    for (size_t d = 0; holds && d < p->v_dim; d++)
        holds = evidence_is_output(e, d, e->row.reference.o[d]);
    e->view = wrong;
    return holds;
}

/* Whether the rows of O are where those of the other layout would be. */
static bool layout_reason(struct evidence *e, char *text, size_t size)
{
    const struct attn_problem *p = &e->trial->problem;
    const struct attn_tensors *t = &e->trial->set.tensors;
    const bool bshd = p->layout == ATTN_BSHD;
    const size_t heads = p->q_heads, length = p->q_len, rows = tensors_rows(p, t);
    if (e->wrong.tensor[0] != 'o' || p->options & ATTN_OPTION_PACKED || heads == 1 || length == 1)
        return false;
    for (size_t n = 0; n < ROWS_LOOKED_AT; n++) {
        const struct tensors_place at = tensors_place(p, t, n * (rows - 1) / (ROWS_LOOKED_AT - 1));
        const size_t place = bshd ? at.i * heads + at.h : at.h * length + at.i;
        const size_t h = bshd ? place / length : place % heads;
        const size_t i = bshd ? place % length : place / heads;
        if (!holds_row_of(e, at, (struct tensors_place){at.b, h, i, i}))
            return false;
    }
    snprintf(text, size, "as if o lay %s", bshd ? "(B, H, S, D)" : "(B, S, H, D)");
    return true;
}

/* ---- what lies between rows ----------------------------------------------------------------- */

/* If the row is NaN although it sees none, runs the kernel again with ones in place of the NaNs between
 * rows of operands.  True where that changes the row. */
static bool read_gaps(struct evidence *e)
{
    struct trial *trial = e->trial;
    const struct tensors_place at = e->view.at;
    if (!isnan(e->wrong.got) || isnan(e->wrong.expected) ||
        !tensors_show_padding(&trial->set, &trial->problem))
        return false;
    trial_call(trial, trial->at);
    e->wrong.got = e->wrong.tensor[0] == 'o'
                       ? evidence_output(e, e->wrong.element)
                       : tensors_get(&trial->set.tensors.lse, at.b, at.h, at.row, 0);
    return !isnan(e->wrong.got);
}

/* The contents of a hidden key reach the row, although its weight may be 0: 0 * NaN is NaN. */
static bool leak_reason(struct evidence *e, char *text, size_t size)
{
    const struct trial *trial = e->trial;
    const struct tensors_place at = e->view.at;
    if (!isnan(e->wrong.got) || isnan(e->wrong.expected) || !trial->needle_count)
        return false;
    const size_t key = trial_needle(trial, at.b, attn_kv_head(&trial->problem, at.h));
    const char *hider = row_view_hider(&e->view, key);
    if (hider)
        snprintf(text, size, "query %zu is reached by key %zu, %s", at.i, key, hider);
    return hider;
}

/* ---- the diagnosis ------------------------------------------------------------------------- */

static bool ask(struct evidence *e, char *text, size_t size)
{
    return e->trial->problem.outputs & ATTN_OUTPUT_O && ask_weight(e->trial, &e->wrong, text, size);
}

/* In this order: the first that fits is reported; where none does, ask_weight() runs the kernel again. */
static evidence_part *const parts[] = {leak_reason, sums_lse_reason, layout_reason,
                                       guess_again, sums_reason,     earlier_reason};

static bool find_reason(struct evidence *e, char *text, size_t size)
{
    const bool reads_gaps = read_gaps(e);
    for (size_t n = 0; n < sizeof parts / sizeof *parts; n++)
        if (parts[n](e, text, size))
            return true;
    if (reads_gaps)
        snprintf(text, size, "it reads what lies between the rows of an operand");
    return reads_gaps || ask(e, text, size);
}

/* Whether the row is right on one thread, then a reason; either may be missing.  For a result of an
 * earlier call threads do not matter. */
static bool find_reasons(struct evidence *e, char *text, size_t size)
{
    bool changes;
    if (earlier_reason(e, text, size) || !alone_reason(e, &changes, text, size))
        return find_reason(e, text, size);
    const size_t at = strlen(text);
    if (!changes && at + 2 < size && find_reason(e, text + at + 2, size - at - 2))
        memcpy(text + at, "; ", 2);
    else
        text[at] = 0;
    return true;
}

/* What the kernel seems to have done to the wrong row: "; query 63 sees key 64, which the mask hides"; ""
 * where nothing fits.  May run the kernel again, with another V. */
static void diagnose(struct trial *trial, const struct mismatch *wrong, char *text,
                     size_t text_size)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    struct evidence e = {
        .trial = trial,
        .view = row_view_of(p, t, tensors_place(p, t, wrong->row)),
        .wrong = *wrong,
    };
    const bool rowed = reference_row_open(&e.row, p, REFERENCE_BOUND | REFERENCE_WEIGHTS);
    const bool room = single_open(&e.single, p) && rowed && text_size > 2;
    const bool told = wrong->tensor[0] == 'l' || p->outputs & ATTN_OUTPUT_O;
    text[0] = 0;
    if (room && told && find_reasons(&e, text + 2, text_size - 2)) {
        text[0] = ';';
        text[1] = ' ';
    }
    single_close(&e.single);
    reference_row_close(&e.row);
}

/* ---- the message ----------------------------------------------------------------------------- */

/* Drops the sign of NaN, which means nothing. */
static double shown(double x)
{
    return isnan(x) ? (double)NAN : x;
}

/* "row (b 0, h 3, i 63) element 5: got 1, expected 0.5, bound 1e-6" */
bool diagnose_mismatch(struct trial *trial, const struct comparison *comparison)
{
    const struct mismatch *wrong = &comparison->first;
    const struct tensors_place at = tensors_place(&trial->problem, &trial->set.tensors, wrong->row);
    char reason[256] = "", element[48] = "", special[48] = "";
    if (trial->checker->result->ok) /* else an earlier diagnosis may have changed V */
        diagnose(trial, wrong, reason, sizeof reason);
    if (strcmp(wrong->tensor, "lse") != 0)
        snprintf(element, sizeof element, " element %zu", wrong->element);
    if (trial->needle_count)
        snprintf(special, sizeof special,
                 "at key %zu: ", trial_needle(trial, at.b, attn_kv_head(&trial->problem, at.h)));
    const double error = fabs(wrong->got - wrong->expected);
    const struct check_result how = {.max_abs_error = error,
                                     .error_over_bound = error / wrong->bound};
    return failure_record(trial, &how,
                          "%s%s row (b %zu, h %zu, i %zu)%s: got %.*g, expected %.*g, bound %.3g "
                          "(%zu of %zu rows wrong)%s",
                          special, wrong->tensor, at.b, at.h, at.i, element,
                          compare_digits(&trial->problem), shown(wrong->got),
                          compare_digits(&trial->problem), shown(wrong->expected),
                          shown(wrong->bound), comparison->wrong_rows, comparison->rows, reason);
}
