/*
 * lines: writes lines, and reads lines into a buffer that grows.
 */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST ((size_t)64 << 20) /* bytes */
#define LEAST 4096              /* bytes of room for a read */

char *lines_next(struct lines *lines)
{
    lines->length -= lines->taken;
    if (lines->taken)
        memmove(lines->text, lines->text + lines->taken, lines->length);
    lines->taken = 0;
    const size_t fresh = lines->length - lines->searched;
    char *end = fresh ? memchr(lines->text + lines->searched, '\n', fresh) : NULL;
    lines->searched = end ? 0 : lines->length;
    if (!end)
        return NULL;
    *end = 0;
    lines->taken = (size_t)(end + 1 - lines->text);
    return lines->text;
}

static enum lines_end make_room(struct lines *lines)
{
    if (lines->capacity - lines->length >= LEAST)
        return LINES_GO_ON;
    const size_t capacity = lines->capacity ? 2 * lines->capacity : 2 * (size_t)LEAST;
    char *text = capacity <= MOST ? realloc(lines->text, capacity) : NULL;
    if (!text)
        return capacity <= MOST ? LINES_FAILED : LINES_ENDLESS;
    lines->text = text;
    lines->capacity = capacity;
    return LINES_GO_ON;
}

enum lines_end lines_read(struct lines *lines, int fd)
{
    const enum lines_end room = make_room(lines);
    if (room != LINES_GO_ON)
        return room;
    const ssize_t n = read(fd, lines->text + lines->length, lines->capacity - lines->length);
    lines->length += n > 0 ? (size_t)n : 0;
    if (n < 0 && errno != EINTR)
        return LINES_FAILED;
    return n ? LINES_GO_ON : LINES_ENDED;
}

bool lines_write(int fd, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes) {
        const ssize_t n = write(fd, at, bytes);
        if (n < 0 && errno != EINTR)
            return false;
        at += n > 0 ? n : 0;
        bytes -= n > 0 ? (size_t)n : 0;
    }
    return true;
}
