/*
 * message: appends to texts in buffers of a fixed size.
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
