/*
 * message: prints into buffers, cut to their size.
 */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void message_add(char *message, size_t size, const char *format, ...)
{
    const size_t n = strnlen(message, size);
    va_list arguments;
    va_start(arguments, format);
    if (n < size)
        vsnprintf(message + n, size - n, format, arguments);
    va_end(arguments);
}

void message_print(struct message message, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message.text, message.size, format, arguments);
    va_end(arguments);
}

void message_print_file(struct message message, const char *path, const char *format, ...)
{
    const int printed = snprintf(message.text, message.size, "%s: ", path);
    const size_t n = printed < 0 ? 0 : (size_t)printed;
    va_list arguments;
    va_start(arguments, format);
    if (n < message.size)
        vsnprintf(message.text + n, message.size - n, format, arguments);
    va_end(arguments);
    for (size_t i = n; i < message.size && message.text[i]; i++)
        if (message.text[i] < ' ' || message.text[i] > '~')
            message.text[i] = '?';
}
