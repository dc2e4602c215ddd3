/*
 * tensors: the operands of a case, in one memory file that worker processes inherit.
 *
 * The memory file (memfd) holds `sets` independent sets of Q, K and V, filled once by one process;
 * workers map it shared, to be read, and see the same bytes without touching a page for the first
 * time.  A set of operands can be laid out
 *
 *   - for timing: each operand begins at a page plus a shift that is a multiple of 64 bytes;
 *   - for checking: flush against inaccessible pages, in front or behind, so that reading or
 *     writing one element outside, or megabytes, is a SIGSEGV; row padding (strides) filled with
 *     signalling poison.
 *
 * Results (O, LSE, weights) live in the worker's own memory, laid out likewise, and are poisoned
 * with NaN before a call.
 */
#ifndef HARNESS_PROBLEM_TENSORS_H
#define HARNESS_PROBLEM_TENSORS_H

#include "cases.h"

enum tensors_guard { TENSORS_TIMING, TENSORS_GUARD_FRONT, TENSORS_GUARD_BACK };

/* How operands lie in memory. */
struct tensors_layout {
    enum tensors_guard guard;
    size_t shift;       /* bytes, a multiple of 64; TENSORS_TIMING only; staggered by operand */
    size_t row_padding; /* elements of poison behind each row */
};

/* One set of operands and results that a kernel can be called with. */
struct tensor_set {
    struct attn_tensors tensors;
    struct tensors_layout layout;
    void *mapping[2]; /* operands, results; opaque to others */
    size_t mapping_bytes[2];
    uint64_t checksum[3]; /* of q, k, v (and the poison between their rows) as they were filled */
};

/* Fills one set's Q, K, V in place as its input says, on all threads; `stream` selects the random
 * numbers, so that sets 0, 1, 2... differ, whatever the input.  The same seed gives the same
 * numbers on any thread count and layout. */
bool tensors_fill(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                  char *message, size_t message_size);

/* Reads Q, K and V from the tensors PREFIXq, PREFIXk and PREFIXv of a safetensors file.  False fills
 * message, also where they are not of the problem's shapes. */
bool tensors_read(struct tensor_set *set, const struct attn_problem *problem, const char *path,
                  const char *prefix, char *message, size_t message_size);

/* Takes the checksums; to be called after filling Q, K or V in another way. */
void tensors_seal(struct tensor_set *set, const struct attn_problem *problem);

/* Allocates one set in process memory: padding poisoned, elements zero, results poisoned. */
bool tensors_alloc(struct tensor_set *set, const struct attn_problem *problem,
                   const struct tensors_layout *layout, char *message, size_t message_size);
void tensors_free(struct tensor_set *set);

#define TENSORS_FILE_SETS 4096 /* at most in one file */

/* Fills the empty memory file `fd` with `sets` filled sets.  The parent makes the file and lends it
 * to one preparing worker, because filling uses every thread and the parent must start none. */
bool tensors_fill_file(const struct problem_case *c, size_t sets, int fd, char *message,
                       size_t message_size);

/* Bytes of such a file, to know before anything is allocated; SIZE_MAX where they overflow. */
size_t tensors_file_bytes(const struct attn_problem *problem, size_t sets);

/* One process's hold on such a file: it alone moves operands to another shift, between the launches
 * that read them, also when the file has been frozen for all others (process_read_only()). */
struct tensors_file {
    void *mapping; /* NULL: none */
    size_t bytes;
};
bool tensors_file_hold(struct tensors_file *file, int fd, char *message, size_t message_size);
void tensors_file_move(const struct tensors_file *file, size_t shift);
void tensors_file_release(struct tensors_file *file);

/* Maps set number `index` of such a file to be read; its operands must lie at the given shift. */
bool tensors_map(struct tensor_set *set, const struct attn_problem *problem, int fd, size_t index,
                 size_t shift, char *message, size_t message_size);

/* The same at addresses at which huge pages can lie under the operands. */
bool tensors_map_for_huge_pages(struct tensor_set *set, const struct attn_problem *problem, int fd,
                                size_t index, size_t shift, char *message, size_t message_size);

/* An element of an operand or result, for messages. */
struct tensors_spot {
    const char *tensor; /* "o", "lse", "weights" */
    size_t b, h, i, d;
};

/* An operand or result as a block of memory, padding included. */
struct tensors_span {
    const char *name;
    const char *data;
    size_t bytes, element;
};
#define TENSORS_SPANS 6

/* All of a set's; returns how many. */
size_t tensors_spans(const struct tensor_set *set, const struct attn_problem *problem,
                     struct tensors_span spans[TENSORS_SPANS]);

/* NaN into every result element and, between rows, into the padding. */
void tensors_poison(struct tensor_set *set, const struct attn_problem *problem);

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

/* Which of q, k, v has changed since its checksum was taken; NULL where none. */
const char *tensors_changed(const struct tensor_set *set, const struct attn_problem *problem);

/* Whether q, k, v (and the poison between their rows) have their checksums still. */
static inline bool tensors_unchanged(const struct tensor_set *set,
                                     const struct attn_problem *problem)
{
    return !tensors_changed(set, problem);
}

/* Element conversions, exact towards f64, round to nearest even back (through f32). */
double tensors_get(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d);
void tensors_set(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t d, double x);

/* Writes n floats to elements [at, at + n) of row (b, h, i). */
void tensors_store(const struct attn_tensor *t, size_t b, size_t h, size_t i, size_t at,
                   const float *x, size_t n);

#endif
