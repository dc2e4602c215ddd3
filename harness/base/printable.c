/*
 * printable: decodes UTF-8 (RFC 3629) and escapes the rest.
 */
#include "printable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t printable_character(const char *from, size_t length, unsigned *code)
{
    const unsigned char *text = (const unsigned char *)from;
    static const struct {
        unsigned char mask, lead;
        unsigned least; /* shorter ones are not valid */
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (size_t n = 0; n < sizeof forms / sizeof *forms && n < length; n++) {
        if ((text[0] & forms[n].mask) != forms[n].lead)
            continue;
        *code = text[0] & ~(unsigned)forms[n].mask;
        for (size_t i = 1; i <= n; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            *code = *code << 6 | (text[i] & 0x3fU);
        }
        const int surrogate = *code >= 0xd800 && *code < 0xe000;
        return *code < forms[n].least || *code > 0x10ffff || surrogate ? 0 : n + 1;
    }
    return 0;
}

/* C0 and C1 controls. */
static int control(unsigned code)
{
    return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0);
}

size_t printable(const char *text, size_t length, char *out, size_t size)
{
    size_t n = 0;
    for (size_t at = 0; at < length;) {
        unsigned code = 0;
        char escaped[8];
        size_t taken = printable_character(text + at, length - at, &code), written = taken;
        const char *from = text + at;
        if (!taken || control(code)) {
            taken = 1;
            written = (size_t)snprintf(escaped, sizeof escaped, "\\x%02x", (unsigned char)text[at]);
            from = escaped;
        }
        if (n + written + 1 > size)
            break;
        memcpy(out + n, from, written);
        n += written;
        at += taken;
    }
    out[n] = 0;
    return n;
}

void printable_line(const char *text, char *out, size_t size)
{
    printable(text, strnlen(text, size), out, size);
    for (char *at = out; *at; at++)
        if (*at == '\n' || *at == '\t')
            *at = ' ';
}

void printable_tidy(char *text, size_t size)
{
    char line[PRINTABLE_LINE];
    printable_line(text, line, size < sizeof line ? size : sizeof line);
    snprintf(text, size, "%s", line);
}

static void escape(json_t *text)
{
    const size_t length = json_string_length(text);
    const size_t size = PRINTABLE_GROWTH * length + 1;
    char *escaped = malloc(size);
    if (escaped) {
        printable(json_string_value(text), length, escaped, size);
        json_string_set(text, escaped);
    } else {
        json_string_set(text, "");
    }
    free(escaped);
}

void printable_json(json_t *value)
{
    size_t i;
    const char *key;
    json_t *item;
    if (json_is_string(value))
        escape(value);
    json_array_foreach (value, i, item)
        printable_json(item);
    json_object_foreach (value, key, item) {
        printable_json(item);
    }
}
