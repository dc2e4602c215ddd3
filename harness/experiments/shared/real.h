/*
 * real: the tensors of a transformer that come with the program (tests/data/README.md).
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_REAL_H
#define HARNESS_EXPERIMENTS_SHARED_REAL_H

#include <stdbool.h>
#include <stddef.h>

/* Layers that there are; the last has a NULL file. */
struct real_name {
    const char *file, *prefix;
};
extern const struct real_name real_layers[];

/* Q and K of a layer, (heads, len, dim) each. */
struct real_layer {
    size_t heads, len, dim;
    float *q, *k;
};

/* False fills message and leaves nothing open. */
bool real_open(struct real_layer *layer, const char *file, const char *prefix, char *message,
               size_t message_size);
void real_close(struct real_layer *layer);

#endif
