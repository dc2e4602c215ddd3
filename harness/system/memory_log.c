/*
 * memory_log: writes through a mapping that was made before the file was sealed.
 */
#include "memory_log.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool memory_log_open(struct memory_log *log, int fd, size_t bytes)
{
    struct stat status;
    *log = (struct memory_log){.mapping = NULL};
    if (fstat(fd, &status) != 0 || (size_t)status.st_size > bytes)
        return false;
    void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED)
        return false;
    if (ftruncate(fd, (off_t)bytes) != 0) {
        munmap(mapping, bytes);
        return false;
    }
    *log = (struct memory_log){mapping, bytes, (size_t)status.st_size};
    return true;
}

bool memory_log_append(struct memory_log *log, int fd)
{
    struct stat status;
    if (!log->mapping || fstat(fd, &status) != 0 ||
        (size_t)status.st_size > log->bytes - log->written)
        return false;
    const size_t bytes = (size_t)status.st_size;
    char *to = log->mapping + log->written;
    for (size_t at = 0; at < bytes;) {
        const ssize_t n = pread(fd, to + at, bytes - at, (off_t)at);
        if (n <= 0) {
            memset(to, 0, at);
            return false;
        }
        at += (size_t)n;
    }
    log->written += bytes;
    return true;
}

void memory_log_close(struct memory_log *log)
{
    if (log->mapping)
        munmap(log->mapping, log->bytes);
    *log = (struct memory_log){.mapping = NULL};
}
