/*
 * machine_read: small text files of /proc and /sys.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "machine_private.h"

static void strip_end(char *text)
{
    size_t n = strlen(text);
    while (n > 0 && isspace((unsigned char)text[n - 1]))
        text[--n] = 0;
}

FILE *machine_read_open(const char *path)
{
    FILE *file = fopen(path, "re");
    if (!file)
        alloc_note(errno);
    return file;
}

bool machine_read_line(const char *path, char *text, size_t size)
{
    FILE *file = machine_read_open(path);
    if (!file)
        return false;
    const bool read = fgets(text, (int)size, file) != NULL;
    fclose(file);
    if (read)
        strip_end(text);
    return read;
}

double machine_read_number(const char *path, double otherwise)
{
    char text[64], *end;
    if (!machine_read_line(path, text, sizeof text))
        return otherwise;
    const double x = strtod(text, &end);
    return end == text ? otherwise : x;
}

bool machine_read_field(const char *path, const char *key, char *value, size_t size)
{
    char line[4096] = ""; /* the flags of /proc/cpuinfo take 1.5 KB */
    const char *rest = line + strlen(key);
    bool found = false;
    FILE *file = machine_read_open(path);
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = strncmp(line, key, strlen(key)) == 0 && *rest && strchr(" \t:", *rest);
    fclose(file);
    strip_end(line);
    if (found)
        snprintf(value, size, "%s", rest + strspn(rest, " \t:"));
    return found;
}
