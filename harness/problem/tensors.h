/*
 * tensors: the operands of a case, in one memory file that worker processes inherit.
 *
 * The operands are Q, K, V and others that the problem needs: masks, lengths, tables, scales.  The memory
 * file (memfd) holds `sets` independent sets of them, which one process fills once; workers map it shared and
 * read-only, and need not touch any page for the first time.  A set of operands can be laid out
 *
 *   - for timing: each operand begins at a page plus a shift that is a multiple of 64 bytes;
 *   - for checking: adjacent to inaccessible pages, before or after it, so that reading or writing outside,
 *     by an element or by megabytes, is a SIGSEGV; with signalling poison between rows (strides).
 *
 * Results (O, LSE, weights, scores) live in the worker's own memory, laid out likewise, and are poisoned
 * with NaN before a call.
 */
#pragma once

#include "cases.h"
#include "operands.h"
#include "system/ceilings.h"
#include "system/fault.h"

enum tensors_guard { TENSORS_TIMING, TENSORS_GUARD_FRONT, TENSORS_GUARD_BACK };

/* The layout of operands in memory. */
struct tensors_layout {
    enum tensors_guard guard;
    size_t shift;       /* bytes, a multiple of 64; TENSORS_TIMING only; staggered by operand */
    size_t row_padding; /* elements of poison after each row */
};

#define TENSORS_OPERANDS OPERANDS /* most operands of a problem */
#define TENSORS_RESULTS 4

/* Elements from which on threads share the work: with fewer, waking them costs more time than it saves. */
#define TENSORS_PARALLEL 100000

/* Sizes of operands that the problem leaves open. */
struct tensors_shape {
    size_t q_rows, kv_rows;   /* packed: rows of all sequences; else 0 */
    size_t pages, table_cols; /* paged: pages of k and v, and of a sequence; else 0 */
    size_t lists;             /* packed: lists of keys of all sequences; else 0 */
    /* Dimensions, 1 if shared; the last of v_scale is 1.  0: absent. */
    size_t bias[4], mask[4], k_scale[4], v_scale[4];
    enum attn_dtype bias_dtype;
};

/* Operands and results for a kernel's call. */
struct tensor_set {
    struct attn_tensors tensors;
    struct tensors_shape shape;
    struct tensors_layout layout;
    void *mapping[2]; /* of operands, of results; private to tensors*.c */
    size_t mapping_bytes[2];
    /* of each operand with the poison between its rows, taken by tensors_seal() */
    uint64_t checksum[TENSORS_OPERANDS];
    struct attn_work work; /* if the set is in a file: of the file's first set */
};

/*
 * Fills a set's operands by the case's input, on all threads; sets filled with different `stream`s differ for
 * every input.  A seed gives the same numbers with any thread count and layout, packed or not, in pages or
 * not.  Boolean masks, lists of keys, lengths and trees are the same in every stream.
 *
 * K and V beyond the end of a sequence, in the rest of its last page and in pages of no sequence hold NaN;
 * int8 has arbitrary bytes there, and NaN as scales.
 */
bool tensors_fill(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                  struct message message);

/* Takes the checksums; needed after filling operands in other ways. */
void tensors_seal(struct tensor_set *set, const struct attn_problem *problem);

/* The sizes of a case's operands.  False fills message: memory runs out, too many rows, or an error in the
 * input's file. */
bool tensors_shape_of(const struct problem_case *c, struct tensors_shape *shape,
                      struct message message);

/* The largest sizes of any case of a problem, with all dimensions of biases, masks and scales; at least the
 * rows and pages of `tensors`, if that is not NULL, as a file may have unused ones. */
struct tensors_shape tensors_shape_most(const struct attn_problem *problem,
                                        const struct attn_tensors *tensors);

/* Bytes of a set of a case's operands and results, at most; by the problem if a file determines the sizes. */
double tensors_case_bytes(const struct problem_case *c);

/* Allocates a set in process memory: padding poisoned, elements zero, results poisoned. */
bool tensors_alloc_shape(struct tensor_set *set, const struct attn_problem *problem,
                         const struct tensors_shape *shape, const struct tensors_layout *layout,
                         struct message message);

/* The same for a case; also fills lengths, tables, masks, biases and scales, as in stream 0, unless they come
 * from a file; q, k and v are zero.  tensors_alloc(): with input=normal. */
bool tensors_alloc_case(struct tensor_set *set, const struct problem_case *c,
                        const struct tensors_layout *layout, struct message message);
bool tensors_alloc(struct tensor_set *set, const struct attn_problem *problem,
                   const struct tensors_layout *layout, struct message message);
void tensors_free(struct tensor_set *set);

#define TENSORS_FILE_SETS 4096 /* most sets in a file */

/* Fills the empty memory file `fd` with `sets` filled sets, in the preparing worker: filling uses all
 * threads, and the parent must not start any. */
bool tensors_fill_file(const struct problem_case *c, size_t sets, int fd, struct message message);

/* Bytes of such a file; SIZE_MAX: they overflow. */
size_t tensors_file_bytes(const struct attn_problem *problem, const struct tensors_shape *shape,
                          size_t sets);

/* Visible pairs, flops and bytes of the first set, counted when it was filled.  False: this is no such
 * file. */
bool tensors_file_work(int fd, struct attn_work *work);

/* A writable mapping of such a file in one process, which moves operands to another shift between launches,
 * even if the file is frozen for others (memory_file_freeze()). */
struct tensors_file {
    void *mapping; /* NULL: none */
    size_t bytes;
};
bool tensors_file_hold(struct tensors_file *file, int fd, struct message message);
void tensors_file_move(const struct tensors_file *file, size_t shift);
void tensors_file_release(struct tensors_file *file);

/* Maps set number `index` of such a file for reading; its operands must be at this shift.  `huge`: at an
 * address that allows huge pages. */
bool tensors_map(struct tensor_set *set, const struct attn_problem *problem, int fd, size_t index,
                 size_t shift, bool huge, struct message message);

/* A row of results: query i of head h in sequence b.  It is row `row` of q, o, lse and weights of that
 * sequence and head. */
struct tensors_place {
    size_t b, h, i, row;
};

/* The number of rows of results, and row number `number`: all queries of the first head of the first
 * sequence, then those of its second head...  Reads the lengths in the operands. */
size_t tensors_rows(const struct attn_problem *problem, const struct attn_tensors *tensors);
struct tensors_place tensors_place(const struct attn_problem *problem,
                                   const struct attn_tensors *tensors, size_t number);

/* An element of an operand or result, for messages. */
struct tensors_spot {
    const char *tensor; /* "o", "lse", "weights", "scores" */
    size_t b, h, i, d;
};

#define TENSORS_SPANS ((size_t)TENSORS_OPERANDS + TENSORS_RESULTS)

/* K and V as two blocks of the same size, for probes that read them: the size of the smaller one; if V is
 * part of K, the halves of K. */
struct ceilings_kv tensors_kv(const struct tensor_set *set, const struct attn_problem *problem);

/* The memory of all operands and results of a set, padding included; returns how many. */
size_t tensors_spans(const struct tensor_set *set, const struct attn_problem *problem,
                     struct fault_region spans[TENSORS_SPANS]);

/* Writes NaN to every element of the results and to the padding between rows. */
void tensors_poison(struct tensor_set *set, const struct attn_problem *problem);

/* Replaces the poison between rows of q, k and v by ones, to find kernels that read it; false: there is
 * none. */
bool tensors_show_padding(struct tensor_set *set, const struct attn_problem *problem);

/* Whether every element of the results, and no padding, was written since tensors_poison(); false: *spot is
 * the first exception, for padding the row before it. */
bool tensors_written(const struct tensor_set *set, const struct attn_problem *problem,
                     struct tensors_spot *spot);
bool tensors_padding_intact(const struct tensor_set *set, const struct attn_problem *problem,
                            struct tensors_spot *spot);

/* The last row of O whose last element was written since tensors_poison(); false: none, or O is not an
 * output.  Safe in signal handlers. */
bool tensors_last_written(const struct tensor_set *set, const struct attn_problem *problem,
                          struct tensors_spot *spot);

/* A hash of all results with the padding between their rows. */
uint64_t tensors_results_hash(const struct tensor_set *set, const struct attn_problem *problem);

/* The name of an operand that has changed, or whose padding has, since tensors_seal(); NULL: none. */
const char *tensors_changed(const struct tensor_set *set, const struct attn_problem *problem);

/* Read and write an element: exact to f64, rounded to nearest even back (16 bits through f32); integers and
 * booleans as stored, without scales. */
double tensors_get(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d);
void tensors_set(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d, double x);

/* The number of the type that is nearest to x. */
double tensors_rounded(enum attn_dtype dtype, double x);

/* Read and write elements [at, at + n) of row (b, h, i). */
void tensors_get_row(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                     double *x, size_t n);
void tensors_set_row(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                     const double *x, size_t n);
void tensors_store(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                   const float *x, size_t n);
