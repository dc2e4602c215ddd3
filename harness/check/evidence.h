/*
 * evidence: a wrong row, and the means to test hypotheses about it; for diagnose.c and its parts.
 *
 * Each part looks for one kind of reason.  If it finds one, it writes it to `text` (at most `size` bytes) and
 * returns true.
 */
#pragma once

#include <stdio.h>

#include "row_view.h"
#include "trial.h"
#include "reference.h"

/* ---- hypotheses, each a changed problem that the kernel may have computed (guess*.c) ------------ */

/* A hypothesis: changed copies of the right problem and operands, and the row's view of them. */
struct guess {
    struct attn_problem problem;
    struct attn_tensors tensors;
    struct row_view view;
    char *text; /* of `size` bytes: its description */
    size_t size;
};

/* Describes a guess, and is `fits`, for the caller to return. */
#define guess_say(guess, fits, ...) (snprintf((guess)->text, (guess)->size, __VA_ARGS__), (fits))

/* Sets the guess to the right problem, without a change. */
void guess_nothing(struct guess *guess, const struct row_view *right);

/* Makes hypothesis number `n`, and describes it in `text`; *fits is false where it cannot apply to this
 * row.  False past the last one. */
bool guess_make(size_t n, const struct row_view *right, struct guess *guess, bool *fits, char *text,
                size_t size);

/* Makes hypothesis n < GUESS_OPTIONS, about an option (guess_options.c), and describes it in guess->text; returns
 * whether it can apply to the row.  `guess` holds the right problem. */
#define GUESS_OPTIONS 11
bool guess_option(size_t n, struct guess *guess);

/* As guess_make(), about the addresses of K and V (guess_places.c).  `guess` holds the right problem. */
bool guess_place(size_t n, const struct row_view *right, struct guess *guess, bool *fits);

/* ---- the row --------------------------------------------------------------------------------- */

struct evidence {
    struct trial *trial;
    struct row_view view; /* of the wrong row */
    struct mismatch wrong;
    struct single single;
    struct reference_row row; /* under the current hypothesis, or the right one */
};

typedef bool evidence_part(struct evidence *e, char *text, size_t size);

/* Element d of O as the kernel computed it. */
double evidence_output(const struct evidence *e, size_t d);

/* Whether the kernel's element d equals x within the bound of e->row, plus the rounding to a 16-bit type,
 * which the bound of the f32 row does not include.  NaN equals NaN. */
bool evidence_is_output(const struct evidence *e, size_t d, double x);

/* Computes e->row under a guess; false where the row sees no key. */
bool evidence_suppose(struct evidence *e, const struct guess *guess);

/* Computes e->row as it is right for a row, the wrong one or another; false where that sees no key. */
bool evidence_right(struct evidence *e, const struct row_view *view);

/* sums.c: LSE, or the sum of the weights, alone is wrong. */
evidence_part sums_lse_reason;
evidence_part sums_reason;

/* earlier.c: O is that of an earlier call, with other operands. */
evidence_part earlier_reason;

/* alone.c: the row is right on one thread.  *changes: on several threads it differs between calls, so that
 * no further reason need be searched. */
bool alone_reason(struct evidence *e, bool *changes, char *text, size_t size);
