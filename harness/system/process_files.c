/*
 * process_files: what a child is given: files in memory, a token; and the files beside the program.
 */
#define _GNU_SOURCE
#include "process.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1 */
#endif

int process_memory_file(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
}

int process_room_file(const char *name, size_t bytes)
{
    const int fd = process_memory_file(name);
    const unsigned seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, seals) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

int process_read_only(int fd)
{
    char path[64];
    const unsigned size = F_SEAL_SHRINK | F_SEAL_GROW;
    /* Where there is no seal against writing (before Linux 5.1), the descriptor itself must do. */
    if (fcntl(fd, F_ADD_SEALS, size | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
        fcntl(fd, F_ADD_SEALS, size | F_SEAL_SEAL);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

bool process_file_known(int fd, struct process_file *file)
{
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0)
        return false;
    *file =
        (struct process_file){getpid(), fd, status.st_dev, status.st_ino, (size_t)status.st_size};
    return true;
}

int process_file_of(const struct process_file *file)
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

bool process_token(char token[PROCESS_TOKEN])
{
    unsigned char bytes[(PROCESS_TOKEN - 1) / 2];
    if (getentropy(bytes, sizeof bytes) != 0)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(token + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

bool process_beside(const char *name, char *path, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : size;
    if (folder + strlen(name) >= size)
        return false;
    strcpy(path + folder, name);
    return true;
}

void process_standard_files(void)
{
    static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", flags[fd]); /* the lowest number that is free */
}

int process_descriptor(const char *number, char *path, size_t size)
{
    return snprintf(path, size, "/proc/%ld/fd/%s", (long)getpid(), number);
}
