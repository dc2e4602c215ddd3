/*
 * progress: the live line on a terminal, plain lines elsewhere.
 */
#include "progress.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "units.h"

static bool shown; /* a live line stands on the terminal */

static bool live(void)
{
    const char *terminal = getenv("TERM");
    return isatty(STDERR_FILENO) && terminal && strcmp(terminal, "dumb") != 0;
}

void progress_clear(void)
{
    if (shown)
        fprintf(stderr, "\r\033[K");
    (void)fflush(stderr);
    shown = false;
}

void progress_show(double share, double left_s, const char *what)
{
    struct winsize size;
    char left[UNITS_TEXT], text[400];
    if (!live())
        return;
    const int width =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    units_clock(left_s, left);
    snprintf(text, sizeof text, "[%3.0f %%, %s left] %s", 100 * share, left, what);
    fprintf(stderr, "\r\033[K%.*s", width - 1, text);
    (void)fflush(stderr);
    shown = true;
}

void progress_line(const char *format, ...)
{
    va_list arguments;
    if (live())
        return;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}

void progress_say(const char *format, ...)
{
    va_list arguments;
    progress_clear();
    fprintf(stderr, "attnbench: ");
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
}
