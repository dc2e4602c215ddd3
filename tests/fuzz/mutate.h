/*
 * mutate: deterministic damage to bytes, for tests of readers that must survive any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct mutator {
    uint64_t key; /* the seed */
    uint64_t drawn;
    /* Pieces of the format, ready to be put anywhere; the last one is NULL. */
    const char *const *words;
};

uint64_t mutate_random(struct mutator *m);
size_t mutate_below(struct mutator *m, size_t n);

/* Up to four edits of bytes[0, size): flipped bits, other bytes, bytes removed, doubled, moved, a
 * word put in, the end cut off.  Returns the new size, at most capacity. */
size_t mutate_bytes(struct mutator *m, unsigned char *bytes, size_t size, size_t capacity);
