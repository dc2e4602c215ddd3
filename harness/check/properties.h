/*
 * properties: identities that hold between results; for check*.c only.
 */
#ifndef HARNESS_CHECK_PROPERTIES_H
#define HARNESS_CHECK_PROPERTIES_H

#include "trial.h"
#include "problem/kv.h"

/* Reference and bounds of a row of a trial. */
struct check_bounds {
    void *workspace;
    double *o, *bound; /* v_dim each */
    double lse_bound;
};

/* Looks at sampled rows of trials of one shape, with the bounds of each, until one is wrong; a stream for
 * the sample. */
#define CHECK_LOOK_TRIALS 3
typedef bool check_look(struct trial *trials, const struct check_bounds *bounds,
                        struct tensors_place at, const void *context);
bool check_look_at_rows(struct trial *trials, size_t count, uint64_t stream, check_look *look,
                        const void *context);

/* Bitwise the same over repeats and thread counts (unless caps say otherwise), and a plan that is
 * used again with other inputs gives other results. */
bool check_repeats(struct checker *checker, const struct attn_problem *small);

/* Negates a sequence's queries from number i on, and its keys and values from j on; of int8 to the number
 * opposite.  Twice is as before.  Keys that other sequences share stay. */
void check_negate(const struct attn_problem *problem, const struct attn_tensors *tensors, size_t b,
                  size_t i, size_t j);

/* Keys permuted, scores shifted, V linear. */
bool check_identities(struct checker *checker, const struct attn_problem *small);

/* Split between two calls and merged by LSE; O within [min V, max V]. */
bool check_split(struct checker *checker, const struct attn_problem *small);
bool check_hull(struct checker *checker, const struct attn_problem *small);

/* Removes options that depend on positions (causal, window, ALiBi): some identities hold only without
 * them. */
void check_unplaced(struct attn_problem *problem);

/* Copies a key of an operand, with its scale, to a key of another trial's. */
void check_copy_key(const struct trial *from, struct kv_place at, struct trial *to,
                    struct kv_place key, enum kv_operand operand);

#endif
