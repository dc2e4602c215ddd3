/*
 * safetensors_types: the element types of the format; for safetensors*.c only.
 */
#ifndef HARNESS_PROBLEM_SAFETENSORS_TYPES_H
#define HARNESS_PROBLEM_SAFETENSORS_TYPES_H

#include "safetensors.h"

struct safetensors_type {
    const char *format;
    size_t size;           /* bytes */
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT: not a type of attention.h */
};

/* The type by its name in files, or by dtype; NULL: there is none. */
const struct safetensors_type *safetensors_type_named(const char *format);
const struct safetensors_type *safetensors_type_of(enum attn_dtype dtype);

#endif
