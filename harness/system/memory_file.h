/*
 * memory_file: files in memory, which processes share.
 */
#ifndef HARNESS_SYSTEM_MEMORY_FILE_H
#define HARNESS_SYSTEM_MEMORY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* An empty file in memory, closed on exec; -1 sets errno. */
int memory_file_create(const char *name);

/* One of so many bytes, zeros, for a child to write to: nobody can change its size. */
int memory_file_of_size(const char *name, size_t bytes);

/* Freezes a memory file: nobody can change its size, nor write to it but through mappings that
 * there are already.  Returns a descriptor of it, to lend to children, that cannot write; -1 sets
 * errno. */
int memory_file_freeze(int fd);

/* Identifies a file of this process for processes that it has not started. */
struct memory_file {
    pid_t pid;
    int fd;
    uint64_t device, inode;
    size_t bytes;
};
bool memory_file_locate(int fd, struct memory_file *file);

/* Opens it in another process, to read and write; -1 where it is not there, as on another host. */
int memory_file_open(const struct memory_file *file);

#endif
