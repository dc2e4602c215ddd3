/*
 * library.h: the mark of kernel ring; for its own files.
 */
#ifndef ATTN_RING_LIBRARY_H
#define ATTN_RING_LIBRARY_H

#include "attention.h"

extern const struct attn_library attn_ring_library;

#endif
