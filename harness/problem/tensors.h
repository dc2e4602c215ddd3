/*
 * tensors: the operands of a case, in one memory file that worker processes inherit.
 *
 * The operands are Q, K, V and whatever else the problem needs: masks, lengths, tables, scales.  The
 * memory file (memfd) holds `sets` independent sets of them, filled once by one process;
 * workers map it shared, to be read, and see the same bytes without touching a page for the first
 * time.  A set of operands can be laid out
 *
 *   - for timing: each operand begins at a page plus a shift that is a multiple of 64 bytes;
 *   - for checking: flush against inaccessible pages, in front or behind, so that reading or
 *     writing one element outside, or megabytes, is a SIGSEGV; row padding (strides) filled with
 *     signalling poison.
 *
 * Results (O, LSE, weights, scores) live in the worker's own memory, laid out likewise, and are poisoned
 * with NaN before a call.
 */
#ifndef HARNESS_PROBLEM_TENSORS_H
#define HARNESS_PROBLEM_TENSORS_H

#include "cases.h"
#include "operands.h"

enum tensors_guard { TENSORS_TIMING, TENSORS_GUARD_FRONT, TENSORS_GUARD_BACK };

/* How operands lie in memory. */
struct tensors_layout {
    enum tensors_guard guard;
    size_t shift;       /* bytes, a multiple of 64; TENSORS_TIMING only; staggered by operand */
    size_t row_padding; /* elements of poison behind each row */
};

#define TENSORS_OPERANDS OPERANDS /* at most */
#define TENSORS_RESULTS 4

/* Sizes of operands that the problem leaves open. */
struct tensors_shape {
    size_t q_rows, kv_rows;   /* packed: rows of all sequences together; else 0 */
    size_t pages, table_cols; /* paged: pages of k and v, pages of a sequence; else 0 */
    size_t lists;             /* of keys, of all sequences where these are packed; else 0 */
    /* By dimension, 1 where all share it; the last of v_scale is 1.  0 where absent. */
    size_t bias[4], mask[4], k_scale[4], v_scale[4];
    enum attn_dtype bias_dtype;
};

/* One set of operands and results that a kernel can be called with. */
struct tensor_set {
    struct attn_tensors tensors;
    struct tensors_shape shape;
    struct tensors_layout layout;
    void *mapping[2]; /* operands, results; opaque to others */
    size_t mapping_bytes[2];
    /* of the operands (and the poison between their rows) as they were filled */
    uint64_t checksum[TENSORS_OPERANDS];
    struct attn_work work; /* of the file's first set, where it is one of a file */
};

/*
 * Fills one set's operands in place as its input says, on all threads; `stream` selects the random
 * numbers, so that sets 0, 1, 2... differ, whatever the input.  The same seed gives the same
 * numbers on any thread count and layout, packed or not, in pages or not.  Which keys a boolean mask
 * hides or a list names, how long sequences are and their trees are the same in every stream.
 *
 * K and V beyond the end of a sequence, the rest of its last page and pages that no table names hold
 * NaN; of int8 any bytes, and the scales of keys beyond the end NaN.
 */
bool tensors_fill(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                  char *message, size_t message_size);

/* Takes the checksums; to be called after filling operands in another way. */
void tensors_seal(struct tensor_set *set, const struct attn_problem *problem);

/* The sizes of a case's operands.  False fills message: memory, too many rows, what is wrong with the
 * file of its input. */
bool tensors_shape_of(const struct problem_case *c, struct tensors_shape *shape, char *message,
                      size_t message_size);

/* The largest sizes that a case of a problem has, with every dimension of biases, masks and scales in full.
 * A file may have more pages, or rows that no sequence has: as many as `tensors` has, which may be NULL. */
struct tensors_shape tensors_shape_most(const struct attn_problem *problem,
                                        const struct attn_tensors *tensors);

/* Bytes of one set of a case's operands and results, at most; where a file says more about sizes than
 * the problem does, as the problem says. */
double tensors_case_bytes(const struct problem_case *c);

/* Allocates one set in process memory: padding poisoned, elements zero, results poisoned. */
bool tensors_alloc_shape(struct tensor_set *set, const struct attn_problem *problem,
                         const struct tensors_shape *shape, const struct tensors_layout *layout,
                         char *message, size_t message_size);

/* The same for a case, whose lengths, tables, masks, biases and scales it fills in, as stream 0 has
 * them, unless they come from a file; q, k and v are zero.  tensors_alloc(): with input=normal. */
bool tensors_alloc_case(struct tensor_set *set, const struct problem_case *c,
                        const struct tensors_layout *layout, char *message, size_t message_size);
bool tensors_alloc(struct tensor_set *set, const struct attn_problem *problem,
                   const struct tensors_layout *layout, char *message, size_t message_size);
void tensors_free(struct tensor_set *set);

#define TENSORS_FILE_SETS 4096 /* at most in one file */

/* Fills the empty memory file `fd` with `sets` filled sets.  The parent makes the file and lends it
 * to one preparing worker, because filling uses every thread and the parent must start none. */
bool tensors_fill_file(const struct problem_case *c, size_t sets, int fd, char *message,
                       size_t message_size);

/* Bytes of such a file, to know before anything is allocated; SIZE_MAX where they overflow. */
size_t tensors_file_bytes(const struct attn_problem *problem, const struct tensors_shape *shape,
                          size_t sets);

/* What the operands of the first set ask for, counted when they were filled: visible pairs, flops,
 * bytes.  False: this is no such file. */
bool tensors_file_work(int fd, struct attn_work *work);

/* One process's hold on such a file: it alone moves operands to another shift, between the launches
 * that read them, also when the file has been frozen for all others (memory_file_freeze()). */
struct tensors_file {
    void *mapping; /* NULL: none */
    size_t bytes;
};
bool tensors_file_hold(struct tensors_file *file, int fd, char *message, size_t message_size);
void tensors_file_move(const struct tensors_file *file, size_t shift);
void tensors_file_release(struct tensors_file *file);

/* Maps set number `index` of such a file to be read; its operands must lie at the given shift.  `huge`: at
 * addresses at which huge pages can lie under the operands. */
bool tensors_map(struct tensor_set *set, const struct attn_problem *problem, int fd, size_t index,
                 size_t shift, bool huge, char *message, size_t message_size);

/* A row of the results that there are: query i of head h in sequence b.  In memory it is row `row` of
 * q, o, lse and weights of that sequence and head. */
struct tensors_place {
    size_t b, h, i, row;
};

/* How many rows there are, and which one has a number: all queries of the first head of the first
 * sequence, then those of its second head...  Reads the lengths in the operands. */
size_t tensors_rows(const struct attn_problem *problem, const struct attn_tensors *tensors);
struct tensors_place tensors_place(const struct attn_problem *problem,
                                   const struct attn_tensors *tensors, size_t number);

/* An element of an operand or result, for messages. */
struct tensors_spot {
    const char *tensor; /* "o", "lse", "weights", "scores" */
    size_t b, h, i, d;
};

/* An operand or result as a block of memory, padding included. */
struct tensors_span {
    const char *name;
    const char *data;
    size_t bytes, element;
};
#define TENSORS_SPANS ((size_t)TENSORS_OPERANDS + TENSORS_RESULTS)

/* K and V as two blocks of as many bytes each, for probes that read them: the smaller one counts; where
 * V is part of K, the halves of K. */
struct tensors_kv {
    const void *k, *v;
    size_t bytes;
};
struct tensors_kv tensors_kv(const struct tensor_set *set, const struct attn_problem *problem);

/* All of a set's; returns how many. */
size_t tensors_spans(const struct tensor_set *set, const struct attn_problem *problem,
                     struct tensors_span spans[TENSORS_SPANS]);

/* NaN into every result element and, between rows, into the padding. */
void tensors_poison(struct tensor_set *set, const struct attn_problem *problem);

/* Ones instead of the poison between rows of q, k and v, to see who reads it; false where there is none. */
bool tensors_show_padding(struct tensor_set *set, const struct attn_problem *problem);

/* Whether every result element was written since tensors_poison(), and no padding; false: the first
 * spot (for padding the row in front of it). */
bool tensors_written(const struct tensor_set *set, const struct attn_problem *problem,
                     struct tensors_spot *spot);
bool tensors_padding_intact(const struct tensor_set *set, const struct attn_problem *problem,
                            struct tensors_spot *spot);

/* The last row of O whose last element was written since tensors_poison(); false where none, or no
 * O is wanted.  For signal handlers too. */
bool tensors_last_written(const struct tensor_set *set, const struct attn_problem *problem,
                          struct tensors_spot *spot);

/* A hash of all results, with the padding between their rows. */
uint64_t tensors_results_hash(const struct tensor_set *set, const struct attn_problem *problem);

/* Which operand, or poison between its rows, has changed since its checksum was taken; NULL where none. */
const char *tensors_changed(const struct tensor_set *set, const struct attn_problem *problem);

/* Element conversions, exact towards f64, round to nearest even back (16 bits through f32); integers and
 * booleans as they are stored, without any scale. */
double tensors_get(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d);
void tensors_set(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d, double x);

/* Reads, and writes, n numbers: elements [at, at + n) of row (b, h, i). */
void tensors_get_row(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                     double *x, size_t n);
void tensors_set_row(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                     const double *x, size_t n);
void tensors_store(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                   const float *x, size_t n);

#endif
