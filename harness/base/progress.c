/*
 * progress: the live display on a terminal, plain lines elsewhere.
 *
 * A display is drawn over the previous one, line by line, in one write.  The cursor stays at the end of its
 * last line, so that output of other programs begins below it and is not overwritten.
 */
#include "progress.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "halts.h"
#include "units.h"

#define USUAL_COLUMNS 80
#define USUAL_LINES 24

static size_t shown; /* lines of the display that is on the terminal; 0: none */
static long halts;   /* halts_count() when it was drawn */

/* False on a terminal of another session, whose foreground group cannot be read. */
static bool in_background(void)
{
    const pid_t front = tcgetpgrp(STDERR_FILENO);
    return front >= 0 && front != getpgrp();
}

bool progress_room(size_t *columns, size_t *lines)
{
    struct winsize size = {0};
    const char *terminal = getenv("TERM");
    if (!isatty(STDERR_FILENO) || !terminal || strcmp(terminal, "dumb") == 0 || in_background())
        return false;
    (void)ioctl(STDERR_FILENO, TIOCGWINSZ, &size);
    *columns = size.ws_col ? size.ws_col : USUAL_COLUMNS;
    *lines = size.ws_row ? size.ws_row : USUAL_LINES;
    return true;
}

/* Moves the cursor to the beginning of the display.  After a stop (Ctrl-Z) the cursor is elsewhere: then
 * the old display is left alone. */
static void go_back(FILE *out)
{
    if (shown && halts != halts_count())
        fputc('\n', out);
    else if (shown > 1)
        fprintf(out, "\r\033[%zuA", shown - 1);
    else if (shown)
        fputc('\r', out);
    shown = 0;
}

void progress_clear(void)
{
    const bool stands = shown && halts == halts_count();
    if (shown)
        go_back(stderr);
    if (stands)
        fprintf(stderr, "\033[J");
    (void)fflush(stderr);
}

/* Writes as much of a line as fits, and returns where the next one begins.  Escape sequences have no width; a
 * character that is not ASCII may take two columns. */
static const char *put_line(FILE *out, const char *line, size_t width)
{
    size_t used = 0;
    bool escape = false;
    for (; *line && *line != '\n'; line++) {
        const unsigned char c = (unsigned char)*line;
        escape |= c == '\033';
        if (!escape && (c & 0xc0) != 0x80)
            used += c < 0x80 ? 1 : 2;
        if (escape || used <= width)
            fputc(c, out);
        escape &= !isalpha(c);
    }
    fputs("\033[K", out);
    return *line ? line + 1 : line;
}

void progress_show(const char *lines, double share, double left_s, const char *what)
{
    char left[UNITS_TEXT], last[400], *drawn = NULL;
    size_t columns, rows, size, count = 1;
    FILE *out = progress_room(&columns, &rows) ? open_memstream(&drawn, &size) : NULL;
    if (!out)
        return;
    units_clock(fabs(left_s), left);
    snprintf(last, sizeof last, "[%3.0f %%, %s %s] %s", 100 * share, left,
             left_s < 0 ? "over" : "left", what);
    go_back(out);
    for (; *lines; count++) {
        lines = put_line(out, lines, columns - 1);
        fputc('\n', out);
    }
    put_line(out, last, columns - 1);
    fputs("\033[J", out);
    if (fclose(out) == 0) {
        halts = halts_count(); /* before drawing, because a stop may come meanwhile */
        shown = count;
        (void)fwrite(drawn, 1, size, stderr);
    }
    free(drawn);
}

void progress_line(const char *format, ...)
{
    size_t columns, rows;
    va_list arguments;
    if (progress_room(&columns, &rows))
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
