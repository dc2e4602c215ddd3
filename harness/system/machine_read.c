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

bool machine_read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        alloc_note(errno);
        return false;
    }
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
    FILE *file = fopen(path, "re");
    if (!file) {
        alloc_note(errno);
        return false;
    }
    char line[4096]; /* the flags of /proc/cpuinfo take 1.5 KB */
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon)
            continue;
        *colon = 0;
        strip_end(line);
        if (strcmp(line, key) != 0)
            continue;
        found = true;
        strip_end(colon + 1);
        snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
    }
    fclose(file);
    return found;
}
