/*
 * evidence: a wrong row, and what hypotheses about it are tested with; for diagnose.c and its parts.
 *
 * Each part looks for reasons of one kind.  If it finds one it writes it to `text` (at most `size` bytes)
 * and returns true.
 */
#ifndef HARNESS_CHECK_EVIDENCE_H
#define HARNESS_CHECK_EVIDENCE_H

#include "guess.h"
#include "single.h"
#include "trial.h"
#include "reference.h"

struct evidence {
    struct trial *trial;
    struct row_view view; /* of the wrong row */
    struct check_mismatch wrong;
    struct single single;
    struct attn_reference_row row; /* of what is supposed, or what is right */
    void *workspace;
};

typedef bool evidence_part(struct evidence *e, char *text, size_t size);

/* What the kernel gave: an element of O. */
double evidence_output(const struct evidence *e, size_t d);

/* Whether the kernel's value is x within the bound of e->row, plus the rounding to a 16-bit type, which
 * the f32 row does not include.  NaN equals NaN. */
bool evidence_is_output(const struct evidence *e, size_t d, double x);

/* Computes into e->row the row of a guess; false where it sees no key. */
bool evidence_suppose(struct evidence *e, const struct guess *guess);

/* The same of what is right. */
bool evidence_right(struct evidence *e);

/* sums.c: LSE, or the sum of the weights, alone is wrong. */
evidence_part lse_reason;
evidence_part sums_reason;

/* earlier.c: O is that of an earlier call, with other operands. */
evidence_part earlier_reason;

/* alone.c: the row is right on one thread; *changes: on several it is not the same each time,
 * so that nothing else need be looked for. */
bool alone_reason(struct evidence *e, bool *changes, char *text, size_t size);

#endif
