/*
 * named_pipe: whether opening a file would block until some process writes to it.
 *
 * Pipes that a shell has opened (/dev/fd, /dev/stdin) do have a writer and are accepted.
 */
#pragma once

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#define NAMED_PIPE_REFUSAL "is a named pipe; a file is needed"

static inline bool named_pipe_is(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISFIFO(status.st_mode) && strncmp(path, "/dev/", 5) != 0;
}
