/*
 * safetensors_write: writes files.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "safetensors.h"
#include "system/lines.h"

/* Alignment of the data in bytes: a cache line, and the widest vector.  Spaces pad the header. */
#define ALIGNMENT 64

/* {"name": {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, ...} */
static json_t *describe(const struct safetensor *tensors, size_t count)
{
    json_t *header = json_object();
    json_int_t at = 0;
    for (size_t n = 0; n < count; n++) {
        const struct safetensor *t = &tensors[n];
        json_t *shape = json_array();
        for (size_t k = 0; k < t->rank; k++)
            json_array_append_new(shape, json_integer((json_int_t)t->shape[k]));
        json_object_set_new(header, t->name,
                            json_pack("{s:s, s:o, s:[I, I]}", "dtype",
                                      safetensors_type_of(t->dtype)->format, "shape", shape,
                                      "data_offsets", at, at + (json_int_t)t->bytes));
        at += (json_int_t)t->bytes;
    }
    return header;
}

char *safetensors_header(const struct safetensor *tensors, size_t count, size_t least,
                         size_t *bytes)
{
    json_t *header = describe(tensors, count);
    const size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
    const size_t whole = 8 + length > least ? 8 + length : least;
    const size_t all = (whole + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, padded = all - 8;
    char *text = length && all > 8 ? malloc(all) : NULL;
    if (text) {
        for (int n = 0; n < 8; n++)
            text[n] = (char)(padded >> 8 * n);
        memset(text + 8, ' ', padded);
        json_dumpb(header, text + 8, padded, JSON_COMPACT);
        *bytes = all;
    }
    json_decref(header);
    return text;
}

/* What a file is to hold. */
struct contents {
    const char *header;
    size_t header_bytes;
    const struct safetensor *tensors;
    size_t count;
};

static bool write_contents(int fd, const struct contents *c)
{
    bool ok = lines_write(fd, c->header, c->header_bytes);
    for (size_t n = 0; ok && n < c->count; n++)
        ok = lines_write(fd, c->tensors[n].data, c->tensors[n].bytes);
    return ok;
}

/* Whether the path is a pipe or a device, which must not be replaced. */
static bool must_write_directly(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode);
}

/* The path of the file that links lead to, free() it; NULL sets errno.  If a link names a file that does not
 * exist, an empty one is created. */
static char *resolve(const char *path, bool *made)
{
    struct stat status;
    *made = false;
    if (stat(path, &status) != 0 && errno == ENOENT) {
        if (lstat(path, &status) != 0) /* no file, or an error that mkstemp() reports, too */
            return strdup(path);
        const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        if (fd < 0)
            return NULL;
        close(fd);
        *made = true;
    }
    return realpath(path, NULL);
}

/* The mode of the file, or that of a new file if there is none. */
static mode_t mode_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) == 0)
        return status.st_mode & 07777;
    const mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Writes another file in the same folder, then renames it; NULL: only tries whether that file can be created.
 * False sets errno and leaves path unchanged. */
static bool replace(const char *path, const struct contents *contents)
{
    const size_t size = strlen(path) + sizeof ".XXXXXX";
    char *aside = malloc(size);
    if (!aside)
        return false;
    snprintf(aside, size, "%s.XXXXXX", path);
    const int fd = mkstemp(aside);
    bool ok = fd >= 0;
    if (ok && contents)
        ok = write_contents(fd, contents) && fchmod(fd, mode_of(path)) == 0 && fsync(fd) == 0;
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    if (ok && contents)
        ok = rename(aside, path) == 0;
    const int error = errno;
    if (fd >= 0 && !(ok && contents))
        unlink(aside);
    free(aside);
    errno = error;
    return ok;
}

/* The same for the file that path and its links lead to. */
static bool replace_behind(const char *path, const struct contents *contents)
{
    bool made;
    char *target = resolve(path, &made);
    const bool ok = target && replace(target, contents);
    const int error = errno;
    if (target && made && !(ok && contents))
        unlink(target);
    free(target);
    errno = error;
    return ok;
}

bool safetensors_write(const char *path, const struct safetensor *tensors, size_t count,
                       struct message message)
{
    size_t bytes = 0;
    char *header = safetensors_header(tensors, count, 0, &bytes);
    const struct contents contents = {header, bytes, tensors, count};
    bool ok = header != NULL;
    if (!ok) {
        errno = ENOMEM;
    } else if (must_write_directly(path)) {
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        ok = fd >= 0 && write_contents(fd, &contents);
        if (fd >= 0)
            ok = close(fd) == 0 && ok;
    } else {
        ok = replace_behind(path, &contents);
    }
    if (!ok)
        message_print(message, "cannot write %s: %s", path, strerror(errno));
    free(header);
    return ok;
}

bool safetensors_writable(const char *path, struct message message)
{
    struct stat status;
    bool ok;
    if (must_write_directly(path)) {
        /* Not opened: a pipe's reader would see it begin and end. */
        ok = access(path, W_OK) == 0;
        if (ok && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            errno = EISDIR;
            ok = false;
        }
    } else {
        ok = replace_behind(path, NULL);
    }
    if (!ok)
        message_print(message, "cannot write %s: %s", path, strerror(errno));
    return ok;
}
