/*
 * message: texts in buffers of the caller: composed piece by piece, and refusals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Where a function puts its message, one line, cut to `size` bytes; and the whole of an array, which cppcheck
 * would take for read without the &. */
struct message {
    char *text;
    size_t size;
};
#define MESSAGE(array) ((struct message){&(array)[0], sizeof(array)})

/* Appends to a text, cut to `size`. */
void message_add(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void message_print(struct message message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same after "PATH: ", with ? for bytes that cannot be printed: the message may quote the file. */
void message_print_file(struct message message, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the message, and is false, for the caller to return.  They are macros so that compiler and analyzer
 * see the value. */
#define refuse(...) (message_print(__VA_ARGS__), false)
#define refuse_file(...) (message_print_file(__VA_ARGS__), false)
