/*
 * cases: lists of cases; cases_load.c reads suites into them.
 */
#include "cases.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "sweep.h"

#define CASES_MAX 4096 /* keeps the quadratic search for duplicates fast */
#define GROWTH 64
#define MOST_ALIKE 6 /* names in a message */

size_t cases_find(const struct case_list *list, const char *name)
{
    size_t i = 0;
    while (i < list->count && strcmp(list->items[i].name, name) != 0)
        i++;
    return i;
}

bool cases_append(struct case_list *list, const struct problem_case *c, const char **why)
{
    const size_t there = cases_find(list, c->name);
    *why = "the name is used by another case already";
    if (there < list->count)
        return case_text_same(&list->items[there], c);
    *why = "too many cases";
    if (list->count == CASES_MAX)
        return false;
    if (list->count % GROWTH == 0) {
        void *grown = alloc_resized(list->items, (list->count + GROWTH) * sizeof *list->items);
        *why = "out of memory";
        if (!grown)
            return false;
        list->items = grown;
    }
    list->items[list->count++] = *c;
    return true;
}

void cases_free(struct case_list *list)
{
    for (size_t i = 0; i < list->pass_count; i++)
        free(list->passes[i]);
    free(list->passes);
    free(list->items);
    *list = (struct case_list){0};
}

bool cases_add_named(struct case_list *list, struct problem_case *c, const char **why)
{
    case_text_name_apart(c, list->items, list->count);
    const size_t first = strcspn(c->name, "-"); /* the part that renaming keeps */
    for (size_t i = 0; i < list->count; i++)
        if (strncmp(list->items[i].name, c->name, first) == 0 && case_text_same(&list->items[i], c))
            return true;
    for (size_t number = 2; cases_find(list, c->name) < list->count; number++)
        case_text_name(c, number);
    return cases_append(list, c, why);
}

bool cases_add_problem(struct case_list *list, const char *text, struct message message)
{
    const struct piece all = piece_of(text);
    struct sweep sweep;
    struct parse_error error;
    const char *why = NULL;
    char quoted[SCAN_QUOTED];
    bool read = sweep_begin(&sweep, all, &error);
    for (size_t i = 0; read && !why && i < sweep.count; i++) {
        struct problem_case c = {0};
        read = sweep_case(&sweep, i, &c, &error);
        if (read && cases_add_named(list, &c, &why))
            why = NULL;
    }
    scan_quote(all, quoted);
    if (!read)
        message_print(message, "problem %s, position %zu: %s", quoted, error.position,
                      error.message);
    else if (why)
        message_print(message, "problem %s: %s", quoted, why);
    return read && !why;
}

/* ---- selection ----------------------------------------------------------------------------- */

/* Marks the cases that the pattern matches; false: none. */
static bool keep_matching(const struct case_list *list, const char *pattern, bool *kept)
{
    bool any = false;
    for (size_t i = 0; i < list->count; i++)
        if (fnmatch(pattern, list->items[i].name, 0) == 0)
            any = kept[i] = true;
    return any;
}

/* How many of a name's words, separated by hyphens, are in the other one. */
static size_t words_in(struct piece name, const char *other)
{
    size_t n = 0;
    for (bool more = true; more;) {
        char word[sizeof((struct problem_case *)0)->name];
        const bool whole = piece_copy(piece_split(&name, "-*", &more), word, sizeof word);
        n += whole && *word && strstr(other, word);
    }
    return n;
}

/* Adds the names of cases that share most words with the item, else the first names. */
static void add_alike(const struct case_list *list, struct piece item, struct message message)
{
    size_t most = 0, told = 0;
    const char *before;
    for (size_t i = 0; i < list->count; i++) {
        const size_t n = words_in(item, list->items[i].name);
        most = n > most ? n : most;
    }
    before = most ? "; alike: " : "; among them: ";
    for (size_t i = 0; i < list->count && told <= MOST_ALIKE; i++)
        if (words_in(item, list->items[i].name) == most && told++ < MOST_ALIKE) {
            message_add(message.text, message.size, "%s%s", before, list->items[i].name);
            before = ", ";
        }
    if (told > MOST_ALIKE)
        message_add(message.text, message.size, ", ...");
}

static void no_such_case(const struct case_list *list, struct piece item, struct message message)
{
    char quoted[SCAN_QUOTED];
    struct scan_choice choice = {.given = item};
    for (size_t i = 0; i < list->count; i++)
        scan_offer(&choice, list->items[i].name);
    scan_quote(item, quoted);
    if (choice.nearest)
        message_print(message, "no case %s; did you mean '%s'?", quoted, choice.nearest);
    else {
        message_print(message, "no case %s among the %zu of the suites", quoted, list->count);
        add_alike(list, item, message);
    }
}

bool cases_select(struct case_list *list, const char *names, struct message message)
{
    struct piece rest = piece_of(names);
    bool kept[CASES_MAX] = {0};
    for (bool more = true; more;) {
        const struct piece item = piece_split(&rest, ",", &more);
        char pattern[2 * sizeof list->items->name];
        if (!piece_copy(item, pattern, sizeof pattern) || !keep_matching(list, pattern, kept)) {
            no_such_case(list, item, message);
            return false;
        }
    }
    size_t n = 0;
    for (size_t i = 0; i < list->count; i++)
        if (kept[i])
            list->items[n++] = list->items[i];
    list->count = n;
    return true;
}

/* ---- files of inputs ----------------------------------------------------------------------- */

/* The data directories. */
static size_t find_directories(const char *directories[2])
{
    const char *chosen = getenv("ATTNBENCH_DATA");
    const bool choose = chosen && *chosen;
    directories[0] = choose ? chosen : ATTNBENCH_BUILD_DATA;
    directories[1] = ATTNBENCH_INSTALLED_DATA;
    return choose ? 1 : 2;
}

/* Whether a file exists and lies in the directory after links are resolved, so that a foreign suite cannot
 * read outside of the data by `..` or a link. */
static bool lies_in(const char *directory, const char *path)
{
    char *whole = realpath(directory, NULL), *file = realpath(path, NULL);
    const size_t length = whole ? strlen(whole) : 0;
    const bool inside = whole && file && strncmp(file, whole, length) == 0 && file[length] == '/';
    free(whole);
    free(file);
    return inside;
}

bool cases_find_file(const char *path, char found[CASES_PATH], struct message message)
{
    const char *directories[2];
    const size_t count = find_directories(directories);
    snprintf(found, CASES_PATH, "%s", path);
    if (access(found, F_OK) == 0)
        return true;
    for (size_t i = 0; i < count && *path != '/'; i++) {
        const int n = snprintf(found, CASES_PATH, "%s/%s", directories[i], path);
        if (n > 0 && n < CASES_PATH && lies_in(directories[i], found))
            return true;
    }
    snprintf(found, CASES_PATH, "%s", path);
    if (*path == '/')
        message_print(message, "%s: No such file", path);
    else if (count == 1)
        message_print(message,
                      "%s: No such file in the working directory, beside its suite file or in %s "
                      "(ATTNBENCH_DATA)",
                      path, directories[0]);
    else
        message_print(
            message,
            "%s: No such file in the working directory, beside its suite file, in %s or in %s; "
            "ATTNBENCH_DATA names another directory",
            path, directories[0], directories[1]);
    return false;
}
