/*
 * session_counts: on how many threads, ranks and hosts cells run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session.h"

#define MOST 4096 /* threads, and ranks */

static void add(int *items, size_t *count, int n)
{
    for (size_t i = 0; i < *count; i++)
        if (items[i] == n)
            return;
    items[(*count)++] = n;
}

/* Reads a list of numbers, each kept once; `all` is the number that the word of that name means, 0 where it is
 * no word.  False where the list is none, or too long. */
static bool read_list(const char *list, int all, int *items, size_t *count)
{
    for (const char *at = list; *at;) {
        const size_t length = strcspn(at, ",");
        char *end;
        const long n = strtol(at, &end, 10);
        const bool word = all && length == 3 && strncmp(at, "all", 3) == 0;
        if (*count == SESSION_MAX_THREAD_COUNTS ||
            (!word && (end != at + length || n < 1 || n > MOST)))
            return false;
        add(items, count, word ? all : (int)n);
        at += length + (at[length] == ',');
    }
    return true;
}

static bool count_threads(struct session *session, char *message, size_t message_size)
{
    const char *list = session->options->threads ? session->options->threads : "1,all";
    const int all = machine_room(session->machine, session->options->placement);
    const bool read = read_list(list, all, session->threads, &session->thread_counts);
    if (!read)
        snprintf(message, message_size, "--threads takes numbers or all, not '%s'", list);
    return read;
}

static bool count_ranks(struct session *session, char *message, size_t message_size)
{
    const char *list = session->options->ranks ? session->options->ranks : "1";
    const bool read = read_list(list, 0, session->ranks, &session->rank_counts);
    if (!read)
        snprintf(message, message_size, "--ranks takes numbers from 1 to %d, not '%s'", MOST, list);
    return read;
}

/* A host a line, comments with #. */
static bool count_hosts(struct session *session, char *message, size_t message_size)
{
    const char *path = session->options->hostfile;
    char line[512];
    session->hosts = 1;
    if (!path)
        return true;
    FILE *file = realpath(path, session->hostfile) ? fopen(session->hostfile, "r") : NULL;
    if (!file) {
        snprintf(message, message_size, "cannot read %s: %s", path, strerror(errno));
        return false;
    }
    session->hosts = 0;
    while (fgets(line, sizeof line, file)) {
        const char *word = line + strspn(line, " \t\n");
        session->hosts += *word && *word != '#';
    }
    fclose(file);
    if (!session->hosts)
        snprintf(message, message_size, "%s names no host", path);
    return session->hosts;
}

bool session_count(struct session *session, char *message, size_t message_size)
{
    return count_threads(session, message, message_size) &&
           count_ranks(session, message, message_size) &&
           count_hosts(session, message, message_size);
}
