/*
 * drawn_places: where the elements of drawn operands are; for who makes such operands.
 */
#pragma once

#include "drawn_operands.h"

bool drawn_on(const struct drawn_operands *d, unsigned option);

/* Whether keys follow each other as queries do. */
bool drawn_keys_packed(const struct drawn_operands *d);

/* A tensor's numbers of 32 bits. */
const int32_t *drawn_ints(const struct attn_tensor *t);

/* Room for so many elements, until drawn_close(); all NaN where they are floats. */
void *drawn_block(struct drawn_operands *d, size_t elements, enum attn_dtype dtype);

/* (outer, heads, rows, columns) in the order of the problem's layout, with something behind each row; of Q
 * or a result; of K or V, packed or in pages as the problem says; a list. */
struct attn_tensor drawn_tensor(struct drawn_operands *d, size_t outer, size_t heads, size_t rows,
                                size_t columns, enum attn_dtype dtype);
struct attn_tensor drawn_rows_tensor(struct drawn_operands *d, size_t columns,
                                     enum attn_dtype dtype);
struct attn_tensor drawn_keys_tensor(struct drawn_operands *d, size_t columns);
struct attn_tensor drawn_numbers(struct drawn_operands *d, size_t n, enum attn_dtype dtype);

/* Of the drafts of a sequence. */
int32_t *drawn_parents(const struct drawn_operands *d, size_t b);

/* The list of query i for KV head g. */
int32_t *drawn_list(const struct drawn_operands *d, size_t b, size_t g, size_t i);

/* By how many keys j is behind the one that query i of sequence b stands at. */
ptrdiff_t drawn_distance(const struct drawn_operands *d, size_t b, size_t i, size_t j);

/* How many scales a row of `dim` elements has. */
size_t drawn_scales(const struct attn_problem *problem, bool channels, size_t dim);

/* Which element of the memory is (a, h, r, e) of a tensor; element e of key j in K or V; of its scale. */
ptrdiff_t drawn_number(const struct attn_tensor *t, size_t a, size_t h, size_t r, ptrdiff_t e);
ptrdiff_t drawn_key_number(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                           size_t g, size_t j, size_t e);
ptrdiff_t drawn_scale_number(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                             size_t g, size_t j, ptrdiff_t e);

/* Element `at` of the memory, of any type. */
double drawn_get(const struct attn_tensor *t, ptrdiff_t at);
void drawn_set(const struct attn_tensor *t, ptrdiff_t at, double x);
