/*
 * safetensors_types: the element types of the format; for safetensors*.c only.
 */
#ifndef HARNESS_PROBLEM_SAFETENSORS_TYPES_H
#define HARNESS_PROBLEM_SAFETENSORS_TYPES_H

#include "safetensors.h"

struct safetensors_type {
    const char *format;
    size_t size;           /* bytes */
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT where attention.h has no such type */
};

/* NULL where there is none. */
const struct safetensors_type *safetensors_type_named(const char *format);
const struct safetensors_type *safetensors_type_of(enum attn_dtype dtype);

#endif
