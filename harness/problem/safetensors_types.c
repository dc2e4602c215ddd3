/*
 * safetensors_types: element types, shapes and elements.
 */
#include "safetensors.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tensors.h"

static const struct safetensors_type types[] = {
    {"F32", 4, ATTN_F32},         {"F16", 2, ATTN_F16},         {"BF16", 2, ATTN_BF16},
    {"F64", 8, ATTN_F64},         {"I8", 1, ATTN_I8},           {"I32", 4, ATTN_I32},
    {"BOOL", 1, ATTN_BOOL},       {"I64", 8, ATTN_DTYPE_COUNT}, {"I16", 2, ATTN_DTYPE_COUNT},
    {"U8", 1, ATTN_DTYPE_COUNT},  {"U16", 2, ATTN_DTYPE_COUNT}, {"U32", 4, ATTN_DTYPE_COUNT},
    {"U64", 8, ATTN_DTYPE_COUNT}, {"F8_E4M3", 1, ATTN_F8E4M3},  {"F8_E5M2", 1, ATTN_F8E5M2},
    {"U8", 1, ATTN_I4}, /* for writing: bytes of two elements; reading finds the U8 above */
};

const struct safetensors_type *safetensors_type_named(const char *format)
{
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (strcmp(types[n].format, format) == 0)
            return &types[n];
    return NULL;
}

const struct safetensors_type *safetensors_type_of(enum attn_dtype dtype)
{
    for (size_t n = 0; dtype < ATTN_DTYPE_COUNT && n < sizeof types / sizeof *types; n++)
        if (types[n].dtype == dtype)
            return &types[n];
    return NULL;
}

bool safetensors_is_real(const struct safetensor *t)
{
    return t->dtype == ATTN_F32 || t->dtype == ATTN_BF16 || t->dtype == ATTN_F16 ||
           t->dtype == ATTN_F64;
}

bool safetensors_is_integer(const struct safetensor *t)
{
    return t->dtype == ATTN_I32 || strcmp(t->format, "I64") == 0;
}

bool safetensors_is_bool(const struct safetensor *t)
{
    return t->dtype == ATTN_BOOL || strcmp(t->format, "U8") == 0;
}

bool safetensors_is_shape(const struct safetensor *tensor, const size_t *shape, size_t rank)
{
    return safetensors_is_real(tensor) && tensor->rank == rank &&
           memcmp(tensor->shape, shape, rank * sizeof *shape) == 0;
}

void safetensors_print_shape(const struct safetensor *tensor, char text[SAFETENSORS_SHAPE_TEXT])
{
    snprintf(text, SAFETENSORS_SHAPE_TEXT, "%s (", tensor->format);
    for (char *c = text; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    if (tensor->dtype < ATTN_DTYPE_COUNT)
        snprintf(text, SAFETENSORS_SHAPE_TEXT, "%s (", attn_dtype_name(tensor->dtype));
    for (size_t n = 0; n < tensor->rank; n++) /* 8 numbers of 20 digits fit */
        message_add(text, SAFETENSORS_SHAPE_TEXT, "%s%zu", n ? "," : "", tensor->shape[n]);
    message_add(text, SAFETENSORS_SHAPE_TEXT, ")");
}

double safetensors_get(const struct safetensor *tensor, size_t index)
{
    const bool known = tensor->dtype < ATTN_DTYPE_COUNT, byte = strcmp(tensor->format, "U8") == 0;
    const size_t size = known ? attn_dtype_size(tensor->dtype) : byte ? 1 : sizeof(int64_t);
    uint64_t element = 0; /* aligned, as data need not be */
    const struct attn_tensor one = {&element, tensor->dtype, {0}};
    memcpy(&element, (const char *)tensor->data + index * size, size);
    assert(known || byte || strcmp(tensor->format, "I64") == 0);
    return known ? tensors_get(&one, 0, 0, 0, 0) : (double)(int64_t)element;
}
