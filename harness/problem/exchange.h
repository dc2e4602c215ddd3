/*
 * exchange: operands and results of a problem in a safetensors file in memory, which another program
 * maps too (docs/protocol.md).
 *
 * The tensors are called q.0, k.0, v.0, o.0, q.1, ...; each begins at a multiple of 64 bytes of the file
 * and is dense, in the order of the problem's layout.  Tensors pad.N fill what lies between.  The file
 * serves one problem after the other; it only ever grows, because the other program may still have
 * all of it mapped.
 */
#ifndef HARNESS_PROBLEM_EXCHANGE_H
#define HARNESS_PROBLEM_EXCHANGE_H

#include "tensors.h"

struct exchange;

/* An empty file; NULL fills message. */
struct exchange *exchange_open(char *message, size_t message_size);
void exchange_close(struct exchange *exchange);
int exchange_file(const struct exchange *exchange);

/* Where operands and results of a set lie, as addresses in this process, and where the file begins there. */
void exchange_tensors(const struct exchange *exchange, size_t set, struct attn_tensors *tensors);
const void *exchange_begin(const struct exchange *exchange);

/* Clears capabilities of a program that the file cannot carry. It carries dense q, k and v, biases and masks. */
void exchange_limit(struct attn_caps *caps);

/* Lays out `sets` sets of the problem: operands 0, results NaN.  `shift` (bytes, a multiple of 64) moves
 * operands and results apart as it does in other memory files.  False fills message. */
bool exchange_arrange(struct exchange *exchange, const struct attn_problem *problem,
                      const struct tensors_shape *shape, size_t sets, size_t shift, char *message,
                      size_t message_size);

/* The shape of operands that everything can be copied to: biases and masks with every dimension in full. */
struct tensors_shape exchange_widest(const struct attn_problem *problem);

/* Copies operands into a set; its results become NaN. */
void exchange_give(struct exchange *exchange, size_t set, const struct attn_tensors *from);

/* Copies the results of a set out; in the file they become NaN. */
void exchange_take(struct exchange *exchange, size_t set, const struct attn_tensors *to);

#endif
