/*
 * guess: a row as it would be if a kernel did something else than it should; for diagnose.c.
 */
#ifndef HARNESS_CHECK_GUESS_H
#define HARNESS_CHECK_GUESS_H

#include "row_view.h"

/* The row of view.at, which reads these; changed from what is right. */
struct guess {
    struct attn_problem problem;
    struct attn_tensors tensors;
    struct row_view view;
};

/* What is right. */
void guess_nothing(struct guess *guess, const struct row_view *right);

/* Guess number `n`, and in words what it supposes; *fits is false where it makes no sense for this row.
 * False past the last one. */
bool guess_make(size_t n, const struct row_view *right, struct guess *guess, bool *fits, char *text,
                size_t size);

/* The same of those that are about where K and V lie; `guess` is what is right before. */
bool guess_place(size_t n, const struct row_view *right, struct guess *guess, bool *fits,
                 char *text, size_t size);

#endif
