/*
 * broken: kernels that misbehave in ways that no check of numbers can see.
 */
#pragma once

#include "attention.h"

extern const struct attn_kernel *const broken_kernels[];
extern const size_t broken_count;
