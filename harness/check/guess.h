/*
 * guess: hypotheses about a wrong row, each a change of the problem under which it is computed anew; for
 * diagnose.c.
 */
#ifndef HARNESS_CHECK_GUESS_H
#define HARNESS_CHECK_GUESS_H

#include "row_view.h"

/* The problem and operands of a hypothesis, changed from the right ones, and the row under them. */
struct guess {
    struct attn_problem problem;
    struct attn_tensors tensors;
    struct row_view view;
};

/* Begins with what is right. */
void guess_nothing(struct guess *guess, const struct row_view *right);

/* Hypothesis number `n`, and in words; *fits is false where it cannot apply to this row.  False past the
 * last. */
bool guess_make(size_t n, const struct row_view *right, struct guess *guess, bool *fits, char *text,
                size_t size);

/* The same for hypotheses about the addresses of K and V; `guess` comes in with the right problem. */
bool guess_place(size_t n, const struct row_view *right, struct guess *guess, bool *fits,
                 char *text, size_t size);

#endif
