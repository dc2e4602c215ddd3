/*
 * refuse: prints refusals into buffers of the caller.
 */
#ifndef HARNESS_BASE_REFUSE_H
#define HARNESS_BASE_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

#include "message.h"

/* Prints the message, cut to `size`, and is false, for the caller to return.  It is a macro so that
 * compiler and analyzer see the value. */
#define refuse(...) (refuse_message(__VA_ARGS__), false)
void refuse_message(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same after "PATH: ", with ? for bytes that cannot be printed: the message may quote the file. */
#define refuse_file(...) (refuse_file_message(__VA_ARGS__), false)
void refuse_file_message(char *message, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

#endif
