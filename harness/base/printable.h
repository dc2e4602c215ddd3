/*
 * printable: untrusted text, escaped for a terminal and for JSON.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#define PRINTABLE_GROWTH 4 /* a byte becomes at most four: \x1b */

/* Length in bytes of the UTF-8 character (RFC 3629) at the beginning of a text, its code point in *code; 0
 * where it is not valid UTF-8. */
size_t printable_character(const char *text, size_t length, unsigned *code);

/* Copies `length` bytes to `out` as valid UTF-8.  Control characters other than line ends and tabs, and
 * bytes that are not UTF-8, become \x and two digits.  What does not fit in `size` bytes is dropped.
 * Returns the length. */
size_t printable(const char *text, size_t length, char *out, size_t size);

/* The same for a string, or its first `size` bytes, with spaces for line ends and tabs; `out` has `size`
 * bytes. */
void printable_line(const char *text, char *out, size_t size);

/* The same in place; texts longer than PRINTABLE_LINE bytes are cut to that. */
#define PRINTABLE_LINE ((size_t)1024)
void printable_tidy(char *text, size_t size);

/* Escapes every text of a value; names of fields stay. */
void printable_json(json_t *value);
