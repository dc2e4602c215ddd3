/*
 * phases: what a check runs, in check.c's order, and what the phases share; for check*.c only.
 */
#pragma once

#include "trial.h"
#include "problem/kv.h"

/* ---- smaller problems, adversaries, variations ------------------------------------------------- */

/* Phases: inputs with the case's own mask; inputs with a mask or option that the case lacks; and last the
 * most sensitive ones, which many kinds of error fail: an error is first reported by the input made for
 * it. */
enum adversary_turn { ADVERSARY_OWN, ADVERSARY_FOREIGN, ADVERSARY_FINE };

/* Runs all inputs of a phase on a problem small enough to be judged in full.  False at the first
 * failure. */
bool adversary_run(struct checker *checker, const struct attn_problem *small,
                   enum adversary_turn turn);

/* Judges the kernel on variations of the problem: scales, masks, options, outputs, lengths and layouts
 * that it does not use (variation.c). */
bool variation_run(struct checker *checker, const struct attn_problem *small);

/* Runs the inputs needle and negative at the case's own lengths; sampled rows are judged. */
bool adversary_full_length(struct checker *checker);

/* The problem, or a smaller one with the same ratio of heads (at most two KV heads), dimensions, types and
 * mask, whose lengths leave the same remainders: they, and their difference, are the same modulo every
 * tile size up to the largest power of two for which the multiply-adds stay below `limit`. */
struct attn_problem shrink_problem(const struct attn_problem *problem, double limit);

/* Rows compared at depth CHECK_INVARIANT, and on made-up inputs at full length. */
#define CHECK_SAMPLED_ROWS 64

/* The problem; if it has more multiply-adds than `limit`, one with fewer heads and sequences, but enough
 * for `rows` rows, and at least two KV heads and two sequences where it has them. */
struct attn_problem shrink_heads(const struct attn_problem *problem, double limit, size_t rows);

/* The problem on which made-up inputs run at the case's own lengths: the case's at depth CHECK_THOROUGH,
 * otherwise one of shrink_heads() with CHECK_SAMPLED_ROWS rows. */
struct attn_problem shrink_full_length(const struct checker *checker);

/* ---- identities that hold between results, repeats, invariance ---------------------------------- */

/* Calls `look` for sampled rows of some trials of one shape, with the reference and bounds of each trial,
 * until it returns false; `stream` selects the sample.  At most PROPERTIES_TRIALS trials. */
#define PROPERTIES_TRIALS 3
typedef bool properties_look_at(struct trial *trials, const struct reference_row *bounds,
                                struct tensors_place at, const void *context);
bool properties_look(struct trial *trials, size_t count, uint64_t stream, properties_look_at *look,
                     const void *context);

/* Opens a trial of N(0, 1), V with this mean, without a shared prefix: its pages would tie keys of other
 * sequences to a key that moves, and a part may begin inside of one. */
bool properties_open_normal(struct trial *trial, struct checker *checker, const char *phase,
                            const struct attn_problem *problem, unsigned layout, uint64_t key,
                            double mean);

/* Opens a trial on `threads` threads or every count, filled with a normal input of seed 1. */
bool repeats_open_normal(struct trial *trial, struct checker *checker, const char *phase,
                         const struct attn_problem *problem, int threads);

/* Checks that repeats and other thread counts give bitwise the same results (unless caps say otherwise),
 * and that a plan which is used again with other inputs gives theirs. */
bool repeats_run(struct checker *checker, const struct attn_problem *small);

/* Negates sequence b's queries from number i on, and its keys and values from j on, except keys that other
 * sequences share.  An int8 x becomes -1 - x.  A second call restores them. */
void repeats_negate(const struct attn_problem *problem, const struct attn_tensors *tensors,
                    size_t b, size_t i, size_t j);

/* Checks that permuted keys and shifted scores leave the results as they are, and that O is linear in V. */
bool properties_run(struct checker *checker, const struct attn_problem *small);

/* Checks that keys split between two calls, merged by LSE, give the same O; and that O lies within [min V,
 * max V]. */
bool merge_split(struct checker *checker, const struct attn_problem *small);
bool merge_hull(struct checker *checker, const struct attn_problem *small);

/* Checks that a sequence's results are bitwise the same in every call, on every thread count, alone and in
 * a batch, and whatever its neighbours hold (invariant.c). */
bool invariant_run(struct checker *checker, const struct attn_problem *problem);

/* The operands and results from sequence b and query i on; not for packed or paged ones. */
struct attn_tensors invariant_part(const struct attn_tensors *whole, size_t b, size_t i);

/* Copies rows of `dims` elements between tensors of one type. */
void invariant_copy_rows(const struct attn_tensor *to, const struct attn_tensor *from, size_t batch,
                         size_t heads, size_t length, size_t dims);

/* Copies Q, K and V to the operands of `problem`, which may be a part of the problem that they come from. */
void invariant_part_copy(const struct attn_problem *problem, const struct attn_tensors *to,
                         const struct attn_tensors *from);

/* Removes masks and options that depend on positions (causal, window, ALiBi): some identities hold only
 * without. */
void properties_unplace(struct attn_problem *problem);

/* Copies K and V with their scales, and the columns of masks: key j of `to` becomes key first + j of `from`,
 * or first - j, modulo the number of its keys. */
void properties_copy_keys(const struct trial *from, struct trial *to, size_t first, bool backwards);
