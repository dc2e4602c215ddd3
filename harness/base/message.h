/*
 * message: texts in buffers of the caller: composed piece by piece, and refusals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Room for a message of one line, cut to `size` bytes. */
struct message {
    char *text;
    size_t size;
};

/* All of an array; a pointer does not compile.  Without the & cppcheck takes the array for read. */
#define MESSAGE(array) ((struct message){&(array)[0], MESSAGE_SIZE(array)})
#define MESSAGE_SIZE(array)                                                \
    (sizeof(array) + 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p( \
                                                 __typeof__(array), __typeof__(&(array)[0]))]))

/* Appends to a text, cut to `size`. */
void message_add(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the message, cut to its size. */
void message_print(struct message message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The same after "PATH: ", with ? for bytes that cannot be printed: the message may quote the file. */
void message_print_file(struct message message, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Prints the message, and is false, for the caller to return.  They are macros so that compiler and analyzer
 * see the value. */
#define refuse(...) (message_print(__VA_ARGS__), false)
#define refuse_file(...) (message_print_file(__VA_ARGS__), false)
