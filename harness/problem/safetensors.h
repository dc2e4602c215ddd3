/*
 * safetensors: a small reader and writer of the format that model tensors come in.
 *
 * A file is the length of the header (8 bytes, little endian), the header (JSON: name ->
 * {"dtype", "shape", "data_offsets": [begin, end)}, and "__metadata__"), and the data.  The reader
 * refuses what the format forbids (github.com/huggingface/safetensors, README: no duplicate keys,
 * no overlaps, no holes) with a message that names the tensor.
 */
#pragma once

#include "attention.h"
#include "base/message.h"

#define SAFETENSORS_RANK 8         /* dimensions at most */
#define SAFETENSORS_SHAPE_TEXT 256 /* bytes of safetensors_print_shape() */

struct safetensor {
    const char *name;
    const char *format;    /* "F32", "BF16", "I64", ... */
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT: not a type of attention.h */
    size_t rank;
    size_t shape[SAFETENSORS_RANK];
    const void *data; /* row-major, maybe unaligned; safetensors_get() */
    size_t bytes;
};

struct safetensors;

/* Maps a file and verifies all of it.  NULL fills message, one line. */
struct safetensors *safetensors_open(const char *path, struct message message);
void safetensors_close(struct safetensors *file);

/* Tensors in the order of their data; the one called PREFIXNAME, NULL: there is none. */
size_t safetensors_count(const struct safetensors *file);
const struct safetensor *safetensors_at(const struct safetensors *file, size_t index);
const struct safetensor *safetensors_find(const struct safetensors *file, const char *prefix,
                                          const char *name);

/* Types that operands may have: real numbers; i32 or i64; bool or u8. */
bool safetensors_is_real(const struct safetensor *tensor);
bool safetensors_is_integer(const struct safetensor *tensor);
bool safetensors_is_bool(const struct safetensor *tensor);

/* Whether a tensor has this shape and real numbers. */
bool safetensors_is_shape(const struct safetensor *tensor, const size_t *shape, size_t rank);

/* "f32 (1,2,3)"; types are named as in attention.h. */
void safetensors_print_shape(const struct safetensor *tensor, char text[SAFETENSORS_SHAPE_TEXT]);

/* Element number `index`, row-major, of a tensor of a type of attention.h, or of I64 or U8; a BOOL's byte. */
double safetensors_get(const struct safetensor *tensor, size_t index);

/* Length and header of a file with these tensors, at least `least` bytes, free() it.  The data follow one
 * after the other, from a multiple of 64 bytes on.  NULL: memory runs out. */
char *safetensors_header(const struct safetensor *tensors, size_t count, size_t least,
                         size_t *bytes);

/* Writes a file of dense tensors, by dtype, not `format`: to another file, which is renamed, so that path
 * never holds an incomplete file; directly if path is no regular file (a pipe, /dev/full). */
bool safetensors_write(const char *path, const struct safetensor *tensors, size_t count,
                       struct message message);

/* Whether safetensors_write() could write there; changes nothing.  False fills message. */
bool safetensors_writable(const char *path, struct message message);

/* ---- element types of the format; for safetensors*.c only -------------------------------------- */

struct safetensors_type {
    const char *format;
    size_t size;           /* bytes */
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT: not a type of attention.h */
};

/* The type by its name in files, or by dtype; NULL: there is none. */
const struct safetensors_type *safetensors_type_named(const char *format);
const struct safetensors_type *safetensors_type_of(enum attn_dtype dtype);
