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

void message_refuse(char *message, size_t size, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, size, format, arguments);
    va_end(arguments);
}

void message_refuse_file(char *message, size_t size, const char *path, const char *format, ...)
{
    const int n = snprintf(message, size, "%s: ", path);
    va_list arguments;
    va_start(arguments, format);
    if (n >= 0 && (size_t)n < size)
        vsnprintf(message + n, size - (size_t)n, format, arguments);
    va_end(arguments);
    for (size_t i = n < 0 ? 0 : (size_t)n; i < size && message[i]; i++)
        if (message[i] < ' ' || message[i] > '~')
            message[i] = '?';
}
