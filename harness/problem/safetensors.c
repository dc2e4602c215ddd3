/*
 * safetensors: reads files.
 */
#include "safetensors.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "base/named_pipe.h"

#define PREFIX_BYTES 8
#define HEADER_LIMIT 100000000 /* bytes, as the reference implementation has it */

struct safetensors {
    unsigned char *map;
    size_t bytes;
    json_t *header; /* owns the names */
    struct safetensor *items;
    size_t count;
};

/* A file that is being read, and where refusals go. */
struct reader {
    struct safetensors *file;
    int fd;
    const char *path;
    struct message message;
};

#define fail(r, ...) refuse_file((r)->message, (r)->path, __VA_ARGS__)

/* ---- one tensor ---------------------------------------------------------------------------- */

/* A JSON integer in [0, SIZE_MAX]. */
static bool read_size(const json_t *value, size_t *size)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *size = (size_t)json_integer_value(value);
    return true;
}

/* Reads shape; *elements is their product. */
static bool read_shape(const json_t *shape, struct safetensor *t, size_t *elements,
                       const char **why)
{
    *why = "shape is not a list of at most 8 sizes";
    if (!json_is_array(shape) || json_array_size(shape) > SAFETENSORS_RANK)
        return false;
    t->rank = json_array_size(shape);
    *elements = 1;
    for (size_t n = 0; n < t->rank; n++) {
        if (!read_size(json_array_get(shape, n), &t->shape[n]))
            return false;
        if (__builtin_mul_overflow(*elements, t->shape[n], elements)) {
            *why = "shape overflows";
            return false;
        }
    }
    return true;
}

/* Reads an entry of the header; `data` are the `bytes` bytes after the header. */
static bool read_tensor(const json_t *entry, const unsigned char *data, size_t bytes,
                        struct safetensor *t, const char **why)
{
    const json_t *offsets = json_object_get(entry, "data_offsets");
    const char *format = json_string_value(json_object_get(entry, "dtype"));
    const struct safetensors_type *type = format ? safetensors_type_named(format) : NULL;
    size_t elements, begin, end, size;
    *why = "not an object with dtype, shape and data_offsets";
    if (!json_is_object(entry) || !format)
        return false;
    *why = "unknown dtype";
    if (!type)
        return false;
    t->format = type->format;
    t->dtype = type->dtype;
    if (!read_shape(json_object_get(entry, "shape"), t, &elements, why))
        return false;
    *why = "data_offsets is not a pair of offsets";
    if (json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &begin) ||
        !read_size(json_array_get(offsets, 1), &end))
        return false;
    *why = "data_offsets run backwards";
    if (begin > end)
        return false;
    *why = "data_offsets reach past the end of the file";
    if (end > bytes)
        return false;
    *why = "shape and dtype do not match the bytes of data_offsets";
    if (__builtin_mul_overflow(elements, type->size, &size) || size != end - begin)
        return false;
    t->data = data + begin;
    t->bytes = size;
    return true;
}

/* ---- the file ------------------------------------------------------------------------------ */

static int by_data(const void *a, const void *b)
{
    const struct safetensor *s = a, *t = b;
    if (s->data != t->data)
        return s->data < t->data ? -1 : 1;
    return (s->bytes > t->bytes) - (s->bytes < t->bytes);
}

/* Verifies that each byte of the data belongs to exactly one tensor. */
static bool check_cover(const struct reader *r, const unsigned char *data)
{
    const struct safetensors *file = r->file;
    const unsigned char *at = data;
    for (size_t n = 0; n < file->count; n++) {
        const struct safetensor *t = &file->items[n];
        const unsigned char *begin = t->data;
        if (begin < at)
            return fail(r, "tensor %s overlaps tensor %s", t->name, file->items[n - 1].name);
        if (begin > at)
            return fail(r, "%zu unused bytes in front of tensor %s", (size_t)(begin - at), t->name);
        at = begin + t->bytes;
    }
    if (at != file->map + file->bytes)
        return fail(r, "%zu unused bytes at the end", (size_t)(file->map + file->bytes - at));
    return true;
}

/* Reads from the file, not from its mapping, where a file truncated meanwhile would cause SIGBUS. */
static bool read_at(const struct reader *r, off_t at, void *to, size_t bytes)
{
    for (char *end = to; bytes;) {
        const ssize_t n = pread(r->fd, end, bytes, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return fail(r, "%s", n ? strerror(errno) : "it was cut off while it was read");
        end += n;
        at += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Parses the header's text, `length` bytes. */
static bool read_header(const struct reader *r, const char *text, size_t length)
{
    struct safetensors *file = r->file;
    const unsigned char *data = file->map + PREFIX_BYTES + length;
    const size_t bytes = file->bytes - PREFIX_BYTES - length;
    json_error_t error;
    file->header = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (!file->header)
        return fail(r, "header: %s (byte %d)", error.text, error.position);
    if (!json_is_object(file->header))
        return fail(r, "header is not a JSON object");
    file->items = calloc(json_object_size(file->header) + 1, sizeof *file->items);
    if (!file->items)
        return fail(r, "out of memory");

    const char *name, *why;
    json_t *entry;
    json_object_foreach (file->header, name, entry) {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        struct safetensor *t = &file->items[file->count++];
        t->name = name;
        if (!read_tensor(entry, data, bytes, t, &why))
            return fail(r, "tensor %s: %s", name, why);
    }
    qsort(file->items, file->count, sizeof *file->items, by_data);
    return check_cover(r, data);
}

static bool read_start(const struct reader *r)
{
    const size_t all = r->file->bytes;
    unsigned char prefix[PREFIX_BYTES];
    uint64_t length = 0;
    if (all < PREFIX_BYTES)
        return fail(r, "%zu bytes are too short for a safetensors file", all);
    if (!read_at(r, 0, prefix, PREFIX_BYTES))
        return false;
    for (int n = PREFIX_BYTES - 1; n >= 0; n--)
        length = length << 8 | prefix[n];
    if (length > HEADER_LIMIT)
        return fail(r, "header of %" PRIu64 " bytes is longer than the limit of %d", length,
                    HEADER_LIMIT);
    if (length > all - PREFIX_BYTES)
        return fail(r, "header of %" PRIu64 " bytes is longer than the file", length);
    char *text = malloc((size_t)length + 1);
    const bool ok = text ? read_at(r, PREFIX_BYTES, text, (size_t)length) &&
                               read_header(r, text, (size_t)length)
                         : fail(r, "out of memory");
    free(text);
    return ok;
}

/* Maps the file, whose pages are read when tensors are. */
static bool map_file(const struct reader *r)
{
    struct safetensors *file = r->file;
    struct stat status;
    if (r->fd < 0 || fstat(r->fd, &status) != 0)
        return fail(r, "%s", strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return fail(r, "not a safetensors file (%s)",
                    S_ISREG(status.st_mode) ? "empty" : "not a regular file");
    file->bytes = (size_t)status.st_size;
    void *map = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, r->fd, 0);
    if (map == MAP_FAILED)
        return fail(r, "%s", strerror(errno));
    file->map = map;
    return true;
}

struct safetensors *safetensors_open(const char *path, struct message message)
{
    struct safetensors *file = calloc(1, sizeof *file);
    struct reader r = {file, -1, path, message};
    bool ok = file || fail(&r, "out of memory");
    if (ok && named_pipe_is(path))
        ok = fail(&r, NAMED_PIPE_REFUSAL);
    if (ok) {
        r.fd = open(path, O_RDONLY | O_CLOEXEC);
        ok = map_file(&r) && read_start(&r);
    }
    if (r.fd >= 0)
        close(r.fd);
    if (ok)
        return file;
    safetensors_close(file);
    return NULL;
}

void safetensors_close(struct safetensors *file)
{
    if (!file)
        return;
    json_decref(file->header);
    free(file->items);
    if (file->map)
        munmap(file->map, file->bytes);
    free(file);
}

/* ---- access -------------------------------------------------------------------------------- */

size_t safetensors_count(const struct safetensors *file)
{
    return file->count;
}

const struct safetensor *safetensors_at(const struct safetensors *file, size_t index)
{
    return index < file->count ? &file->items[index] : NULL;
}

const struct safetensor *safetensors_find(const struct safetensors *file, const char *prefix,
                                          const char *name)
{
    const size_t length = strlen(prefix);
    for (size_t n = 0; n < file->count; n++)
        if (strncmp(file->items[n].name, prefix, length) == 0 &&
            strcmp(file->items[n].name + length, name) == 0)
            return &file->items[n];
    return NULL;
}
