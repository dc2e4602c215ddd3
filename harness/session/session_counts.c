/*
 * session_counts: on how many threads cells run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

#define MOST 4096 /* threads */

static void add(int *items, size_t *count, int n)
{
    for (size_t i = 0; i < *count; i++)
        if (items[i] == n)
            return;
    items[(*count)++] = n;
}

/* Reads a list of numbers, each kept once; `all` is the number that the word of that name means.  False where the
 * list is none, or too long. */
static bool read_list(const char *list, int all, int *items, size_t *count)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        char *end;
        const long n = strtol(at, &end, 10);
        const bool word = length == 3 && strncmp(at, "all", 3) == 0;
        if (*count == SESSION_MAX_THREAD_COUNTS ||
            (!word && (end != at + length || n < 1 || n > MOST)))
            return false;
        add(items, count, word ? all : (int)n);
        at += length + (at[length] == ',');
    }
    return true;
}

bool session_count(struct session *session, char *message, size_t message_size)
{
    const char *list = session->options->threads ? session->options->threads : "1,all";
    const int all = machine_room(session->machine, session->options->placement);
    const bool read = read_list(list, all, session->threads, &session->thread_counts);
    if (!read)
        snprintf(message, message_size, "--threads takes numbers or all, not '%s'", list);
    return read;
}
