/*
 * refuse: what cannot be done, and other messages, in buffers of the caller.
 */
#ifndef HARNESS_BASE_REFUSE_H
#define HARNESS_BASE_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

/* Prints the message, cut to its room.  Returns false, for the caller to return. */
bool refuse(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same after "PATH: ", with ? for what cannot be printed: the text may quote the file. */
bool refuse_file(char *message, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds to a message, cut to its room. */
void message_add(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
