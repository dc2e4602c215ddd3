/*
 * safetensors: a small reader and writer of the format that model tensors come in.
 *
 * A file is the length of the header (8 bytes, little endian), the header (JSON: name ->
 * {"dtype", "shape", "data_offsets": [begin, end)}, and "__metadata__"), and the data.  The reader
 * refuses what the format forbids (github.com/huggingface/safetensors, README: no duplicate keys,
 * no overlaps, no holes) with a message that names the tensor.
 */
#ifndef HARNESS_PROBLEM_SAFETENSORS_H
#define HARNESS_PROBLEM_SAFETENSORS_H

#include "attention.h"

#define SAFETENSORS_RANK 8         /* dimensions at most */
#define SAFETENSORS_SHAPE_TEXT 256 /* bytes of safetensors_print_shape() */

struct safetensor {
    const char *name;
    const char *format;    /* "F32", "BF16", "I64", ... */
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT where attention.h has no such type */
    size_t rank;
    size_t shape[SAFETENSORS_RANK];
    const void *data; /* row-major, maybe unaligned; safetensors_get() */
    size_t bytes;
};

struct safetensors;

/* Maps a file and checks all of it.  NULL with a one-line message. */
struct safetensors *safetensors_open(const char *path, char *message, size_t message_size);
void safetensors_close(struct safetensors *file);

/* Tensors in the order of their data; the one whose name is prefix and name, NULL where there is none. */
size_t safetensors_count(const struct safetensors *file);
const struct safetensor *safetensors_at(const struct safetensors *file, size_t index);
const struct safetensor *safetensors_find(const struct safetensors *file, const char *prefix,
                                          const char *name);

/* Whether it is a tensor of floating-point numbers of that shape. */
bool safetensors_is_shape(const struct safetensor *tensor, const size_t *shape, size_t rank);

/* "f32 (1,2,3)", types as attention.h names them and others likewise */
void safetensors_print_shape(const struct safetensor *tensor, char text[SAFETENSORS_SHAPE_TEXT]);

/* Element number `index`, row-major, of a tensor of any type of attention.h, or of I64 or U8; bytes of a
 * BOOL as they are. */
double safetensors_get(const struct safetensor *tensor, size_t index);

/* What stands in front of the data of such a file: the length and the header, at least `least` bytes, for
 * free(); the data, which lie one after the other, then begin at a multiple of 64 bytes.  NULL without
 * memory. */
char *safetensors_header(const struct safetensor *tensors, size_t count, size_t least,
                         size_t *bytes);

/* Writes a file of dense tensors; their `format` is not looked at.  Written to another
 * file and renamed, so that path never holds half a file; where path is no regular file (a pipe,
 * /dev/full), directly. */
bool safetensors_write(const char *path, const struct safetensor *tensors, size_t count,
                       char *message, size_t message_size);

/* Whether safetensors_write() could begin to; leaves everything as it is.  False fills message. */
bool safetensors_writable(const char *path, char *message, size_t message_size);

#endif
