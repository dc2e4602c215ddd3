/*
 * memory_log: a memory file that grows while other processes read it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* A file that nobody else can write, since it is frozen, but to which this process appends.  Zeros follow what
 * it has written. */
struct memory_log {
    char *mapping; /* NULL: none */
    size_t bytes, written;
};

/* Enlarges a file to `bytes` bytes and maps it, before memory_file_freeze(); false, with the file as it was,
 * where it is larger or that is refused. */
bool memory_log_open(struct memory_log *log, int fd, size_t bytes);

/* Appends all of another file; false, with the log as before, if there is no room or the file cannot be read. */
bool memory_log_append(struct memory_log *log, int fd);
void memory_log_close(struct memory_log *log);
