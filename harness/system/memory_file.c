/*
 * memory_file: memfd_create(), seals, and paths of descriptors.
 */
#define _GNU_SOURCE
#include "memory_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

int memory_file_create(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int memory_file_of_size(const char *name, size_t bytes)
{
    const int fd = memory_file_create(name);
    const unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int memory_file_freeze(int fd)
{
    char path[64];
    const unsigned size = F_SEAL_SHRINK | F_SEAL_GROW;
    /* Before Linux 5.1 there is no seal against writing; the read-only descriptor must suffice. */
    if (fcntl(fd, F_ADD_SEALS, size | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
        fcntl(fd, F_ADD_SEALS, size | F_SEAL_SEAL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool memory_file_locate(int fd, struct memory_file *file)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return false;
    *file =
        (struct memory_file){getpid(), fd, status.st_dev, status.st_ino, (size_t)status.st_size};
    return true;
}

int memory_file_open(const struct memory_file *file)
{
    char path[64];
    struct stat status;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)file->pid, file->fd);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == file->device &&
        status.st_ino == file->inode)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}
