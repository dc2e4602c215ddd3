/*
 * session_threads: parses --threads.
 */
#include <stdio.h>
#include <string.h>

#include "base/message.h"
#include "problem/sweep.h"
#include "session.h"

#define MOST 4096 /* threads */

#define TEXT 64

/* Adds a number unless it is there; false if there are too many. */
static bool add(int *items, size_t *count, int n)
{
    for (size_t i = 0; i < *count; i++)
        if (items[i] == n)
            return true;
    if (*count == SESSION_MAX_THREAD_COUNTS)
        return false;
    items[(*count)++] = n;
    return true;
}

/* Copies an item, replacing the word "all", alone, at the end of a range or as a choice, by a number. */
static bool replace_all(struct piece item, int all, char text[TEXT])
{
    size_t n = 0;
    for (size_t i = 0; i < item.length && n + 16 < TEXT; i++) {
        const bool word = item.length - i >= 3 && memcmp(item.at + i, "all", 3) == 0;
        n += (size_t)(word ? snprintf(text + n, TEXT - n, "%d", all)
                           : snprintf(text + n, TEXT - n, "%c", item.at[i]));
        i += word ? 2 : 0;
    }
    return item.length && n + 16 < TEXT;
}

/* The most threads that can be bound under every setting. */
static int room(const struct session *session)
{
    int least = machine_room(session->machine, session->settings[0].placement);
    for (size_t s = 1; s < session->setting_count; s++) {
        const int places = machine_room(session->machine, session->settings[s].placement);
        least = places < least ? places : least;
    }
    return least;
}

/* Adds the numbers of a list's item, which may be a sweep.  False fills message. */
static bool read_item(struct piece item, int all, int *items, size_t *count, struct message message)
{
    char text[TEXT], value[SWEEP_VALUE], quoted[SCAN_QUOTED];
    struct piece whole = {text, 0}, at = item;
    const char *why = "is none";
    size_t values = 0;
    uint64_t n;
    bool read = replace_all(item, all, text);
    whole.length = read ? strlen(text) : 0;
    read = read && sweep_count(whole, &values, &at, &why);
    for (size_t i = 0; read && i < values; i++) {
        read = sweep_value(whole, i, value);
        at = piece_of(value);
        read = read && scan_number(at, MOST, &n, &why);
        why = read && !n ? "is less than 1" : why;
        read = read && n;
        if (read && !add(items, count, (int)n))
            return refuse(message, "--threads takes at most %d numbers", SESSION_MAX_THREAD_COUNTS);
    }
    if (!read)
        message_print(message, "--threads takes numbers, ranges of them or all: %s %s",
                      scan_quote(at, quoted), why ? why : "is none");
    return read;
}

bool session_threads_parse(struct session *session, struct message message)
{
    const char *list = session->options->threads ? session->options->threads : "1,all";
    const int all = room(session);
    struct piece rest = piece_of(list);
    bool read = true;
    for (bool more = true; read && more;)
        read = read_item(piece_split(&rest, ",", &more), all, session->threads,
                         &session->thread_counts, message);
    return read;
}
