/*
 * message: texts in buffers of the caller: composed piece by piece, and refusals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Appends to a text, cut to `size`. */
void message_add(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the message, cut to `size`, and is false, for the caller to return.  It is a macro so that
 * compiler and analyzer see the value. */
#define refuse(...) (message_refuse(__VA_ARGS__), false)
void message_refuse(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same after "PATH: ", with ? for bytes that cannot be printed: the message may quote the file. */
#define refuse_file(...) (message_refuse_file(__VA_ARGS__), false)
void message_refuse_file(char *message, size_t size, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
