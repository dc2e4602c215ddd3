/*
 * refuse: what cannot be done, and other messages, in buffers of the caller.
 */
#ifndef HARNESS_BASE_REFUSE_H
#define HARNESS_BASE_REFUSE_H

#include <stdbool.h>
#include <stddef.h>

/* Prints the message, cut to its room.  False, for the caller to return: macros, so that compiler and
 * analyzer see that. */
#define refuse(...) (refuse_message(__VA_ARGS__), false)
void refuse_message(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same after "PATH: ", with ? for what cannot be printed: the text may quote the file. */
#define refuse_file(...) (refuse_file_message(__VA_ARGS__), false)
void refuse_file_message(char *message, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds to a message, cut to its room. */
void message_add(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
