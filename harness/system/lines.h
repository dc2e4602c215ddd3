/*
 * lines: writes lines to files and pipes, and reads lines from pipes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct lines {
    char *text; /* owned */
    size_t length, capacity;
    size_t taken;    /* bytes of the line that lines_next() returned */
    size_t searched; /* bytes known to hold no end of a line */
};

/* Returns the next line, terminated, and drops the previous one; NULL while the line is incomplete. */
char *lines_next(struct lines *lines);

enum lines_end {
    LINES_GO_ON,
    LINES_ENDED,   /* the end of the file */
    LINES_ENDLESS, /* a line of more than 64 MiB */
    LINES_FAILED,  /* errno */
};

/* Reads available bytes. */
enum lines_end lines_read(struct lines *lines, int fd);

/* Writes all bytes; false sets errno. */
bool lines_write(int fd, const void *data, size_t bytes);
