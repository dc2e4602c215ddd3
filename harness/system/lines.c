/*
 * lines: into a pipe, and out of one into a buffer that grows.
 */
#include "lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST ((size_t)64 << 20) /* bytes */
#define LEAST 4096              /* that there is room for when something is read */

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

int lines_send(int fd, const char *text)
{
    struct {
        const char *text;
        size_t left;
    } parts[] = {{text, strlen(text)}, {"\n", 1}};
    for (size_t i = 0; i < 2; i++)
        while (parts[i].left) {
            const ssize_t n = write(fd, parts[i].text, parts[i].left);
            if (n < 0 && errno != EINTR)
                return errno;
            parts[i].text += n > 0 ? n : 0;
            parts[i].left -= n > 0 ? (size_t)n : 0;
        }
    return 0;
}
