/*
 * message: a text that is composed piece by piece.
 */
#ifndef HARNESS_BASE_MESSAGE_H
#define HARNESS_BASE_MESSAGE_H

#include <stddef.h>

/* Appends to a text, cut to `size`. */
void message_add(char *message, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
