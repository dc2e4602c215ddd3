/*
 * sketches: kernels that the library does not have yet, to show that attention.h has room for
 * them.  Each is as plain as can be; what counts is that no signature changes.
 */
#pragma once

#include "attention.h"

extern const struct attn_kernel sketch_backward;
