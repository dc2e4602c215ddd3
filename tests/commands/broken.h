/*
 * broken: kernels that misbehave in ways that no check of numbers can see.
 */
#ifndef TESTS_BROKEN_H
#define TESTS_BROKEN_H

#include "attention.h"

extern const struct attn_kernel *const broken_kernels[];
extern const size_t broken_count;

#endif
