/*
 * guess: hypotheses about a wrong row, each a changed problem that the kernel may have computed instead; for
 * diagnose.c.
 */
#ifndef HARNESS_CHECK_GUESS_H
#define HARNESS_CHECK_GUESS_H

#include "row_view.h"

/* A hypothesis: changed copies of the right problem and operands, and the row's view of them. */
struct guess {
    struct attn_problem problem;
    struct attn_tensors tensors;
    struct row_view view;
};

/* Sets the guess to the right problem, without a change. */
void guess_nothing(struct guess *guess, const struct row_view *right);

/* Makes hypothesis number `n`, and describes it in `text`; *fits is false where it cannot apply to this
 * row.  False past the last one. */
bool guess_make(size_t n, const struct row_view *right, struct guess *guess, bool *fits, char *text,
                size_t size);

/* The same for hypotheses about the addresses of K and V; `guess` must hold the right problem. */
bool guess_place(size_t n, const struct row_view *right, struct guess *guess, bool *fits,
                 char *text, size_t size);

#endif
