/*
 * pool.h: memory for what oneDNN's graphs need while they run.
 *
 * A graph takes memory for its intermediate results at each call and gives it back.  Here what is
 * given back stays for the next call, so that only the first one allocates.
 */
#pragma once

#include <stddef.h>

/* The allocator's two functions; `alignment` is a power of two, or 0 for any. */
void *attn_onednn_pool_alloc(size_t size, size_t alignment);
void attn_onednn_pool_free(void *memory);

/* Frees what is not in use. */
void attn_onednn_pool_empty(void);
