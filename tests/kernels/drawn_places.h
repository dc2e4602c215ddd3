/*
 * drawn_places: where the elements of drawn operands are; for drawn_operands.c and drawn_places.c.
 */
#ifndef TESTS_DRAWN_PLACES_H
#define TESTS_DRAWN_PLACES_H

#include "drawn_operands.h"

bool drawn_on(const struct drawn_operands *d, unsigned option);

/* Whether keys follow each other as queries do. */
bool drawn_keys_packed(const struct drawn_operands *d);

/* A tensor's numbers of 32 bits. */
const int32_t *drawn_ints(const struct attn_tensor *t);

/* Which element of the memory is (a, h, r, e) of a tensor; element e of key j in K or V; of its scale. */
ptrdiff_t drawn_number(const struct attn_tensor *t, size_t a, size_t h, size_t r, ptrdiff_t e);
ptrdiff_t drawn_key_number(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                           size_t g, size_t j, size_t e);
ptrdiff_t drawn_scale_number(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                             size_t g, size_t j, ptrdiff_t e);

/* Writes element `at` of the memory, of any type. */
void drawn_set(const struct attn_tensor *t, ptrdiff_t at, double x);

#endif
