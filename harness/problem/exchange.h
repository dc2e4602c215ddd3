/*
 * exchange: operands and results of a problem in a safetensors file in memory, which another program maps,
 * too (docs/protocol.md).
 *
 * The tensors are called q.0, k.0, v.0, o.0, q.1, ...; each is dense, in the problem's layout, and begins at
 * a multiple of 64 bytes.  Tensors pad.N fill gaps.  The file is used for one problem after the other; it
 * never shrinks, because the other program may have all of it mapped.
 */
#pragma once

#include "tensors.h"

struct exchange;

/* Creates an empty file; NULL fills message. */
struct exchange *exchange_open(struct message message);
void exchange_close(struct exchange *exchange);
int exchange_file(const struct exchange *exchange);

/* Lays out `sets` sets of the problem: operands 0, results NaN.  `shift` (bytes, a multiple of 64) staggers
 * them as in tensors_file.  False fills message. */
bool exchange_arrange(struct exchange *exchange, const struct attn_problem *problem,
                      const struct tensors_shape *shape, size_t sets, size_t shift,
                      struct message message);

/* Whether the file that was laid out has room for the rows and pages of these operands. */
bool exchange_holds(const struct exchange *exchange, const struct attn_tensors *tensors);

/* Copies operands, for which there is room, into a set; its results become NaN.  Rows and pages beyond them,
 * and unused entries of page tables, hold poison. */
void exchange_write(struct exchange *exchange, size_t set, const struct attn_tensors *from);

/* Copies the results of a set out; in the file they become NaN. */
void exchange_read(struct exchange *exchange, size_t set, const struct attn_tensors *to);
