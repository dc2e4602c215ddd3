/*
 * printable: text that a stranger wrote, made fit for a terminal and for JSON.
 */
#ifndef HARNESS_BASE_PRINTABLE_H
#define HARNESS_BASE_PRINTABLE_H

#include <stddef.h>

#define PRINTABLE_GROWTH 4 /* a byte becomes at most four: \x1b */

/* Copies `length` bytes to `out`, as valid UTF-8 without control characters, which a terminal would
 * obey: they and what is no UTF-8 become \x and two digits, except for line ends and tabs.  What
 * does not fit in `size` bytes is left out.  Returns the length. */
size_t printable(const char *text, size_t length, char *out, size_t size);

/* The same of a text that fills at most `size` bytes of itself and of `out`, in one line: with spaces for line
 * ends and tabs. */
void printable_line(const char *text, char *out, size_t size);

#endif
