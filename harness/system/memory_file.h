/*
 * memory_file: files in memory, to share between processes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Creates an empty file, closed on exec; -1 sets errno. */
int memory_file_create(const char *name);

/* Creates a file of so many zero bytes, whose size nobody can change, for a child to write to. */
int memory_file_of_size(const char *name, size_t bytes);

/* Freezes a file: nobody can change its size, nor write to it except through existing mappings.  Returns a
 * read-only descriptor of it for children; -1 sets errno. */
int memory_file_freeze(int fd);

/* Identifies a file of this process to processes that are not its children. */
struct memory_file {
    pid_t pid;
    int fd;
    uint64_t device, inode;
    size_t bytes;
};
bool memory_file_locate(int fd, struct memory_file *file);

/* Opens it in another process, for reading and writing; -1: it is not there, as on another host. */
int memory_file_open(const struct memory_file *file);
