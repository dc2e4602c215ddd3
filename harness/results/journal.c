/*
 * journal: appends lines, flushes them, and reads the file of an interrupted session back.
 */
#define _GNU_SOURCE
#include "journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/members.h"
#include "base/alloc.h"
#include "base/printable.h"
#include "fields.h"
#include "system/lines.h"

/* 9 digits distinguish any two float32; no time is known more precisely. */
#define DUMP_FLAGS (JSON_COMPACT | JSON_REAL_PRECISION(9))

struct journal {
    int fd;
    bool regular; /* a regular file, which can be truncated to its last whole line */
    off_t length; /* bytes of whole lines */
    char *path;
    json_t *session;
    json_t *found; /* {"cell": identity -> last row, "check": -> result, "launch": -> array} */
};

/* ---- identity --------------------------------------------------------------------------------- */

/* The key in results/schema.json, in its order; tests/results/test_schema.c compares the two.  A field with a
 * usual value, which older files lack, is added, with its name, only if its value differs. */
static const struct {
    const char *name, *usual;
} keys[] = {
    {"kernel", NULL},        {"isa", NULL},   {"problem", NULL},   {"input", NULL},
    {"threads", NULL},       {"ranks", "1"},  {"placement", NULL}, {"memory", "first-touch"},
    {"huge_pages", "false"}, {"cache", NULL}, {"plugin", NULL},    {"environment", ""},
};

static void print_value(const json_t *value, const char *absent, char *text, size_t size)
{
    if (json_is_integer(value))
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
    else
        snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : absent);
}

void journal_identity(const json_t *cell, char text[JOURNAL_IDENTITY])
{
    char value[JOURNAL_IDENTITY];
    *text = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *usual = keys[i].usual;
        print_value(json_object_get(cell, keys[i].name), usual ? usual : "", value, sizeof value);
        if (usual && strcmp(value, usual) == 0)
            continue;
        message_add(text, JOURNAL_IDENTITY, "%s%s%s%s", i ? "|" : "", usual ? keys[i].name : "",
                    usual ? "=" : "", value);
    }
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Pipes and terminals have nothing to flush. */
static bool flush(int fd)
{
    return fdatasync(fd) == 0 || errno == EINVAL || errno == EROFS;
}

bool journal_write(struct journal *journal, json_t *line, bool to_disk, struct message message)
{
    bool written = false;
    char *text = line ? json_dumps(line, DUMP_FLAGS) : NULL;
    errno = ENOMEM;
    if (text && !alloc_failed()) { /* jansson drops members if memory runs out */
        const size_t length = strlen(text);
        text[length] = '\n'; /* replaces the terminating 0 */
        written = lines_write(journal->fd, text, length + 1) && (!to_disk || flush(journal->fd));
        if (written)
            journal->length += (off_t)length + 1;
    }
    if (!written) {
        message_print(message, "%s: %s", journal->path, strerror(errno));
        if (journal->regular && ftruncate(journal->fd, journal->length) != 0)
            journal->regular = false; /* the incomplete line stays; --resume cuts it off */
    }
    free(text);
    json_decref(line);
    return written;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct journal *fail(struct journal *journal, const char *why, struct message message)
{
    message_print(message, "%s: %s", journal->path, why);
    journal_close(journal);
    return NULL;
}

/* Opens a file that no other session writes to; NULL fills message. */
static struct journal *open_file(const char *path, int flags, struct message message)
{
    struct stat status;
    struct journal *journal = calloc(1, sizeof *journal);
    const bool standard = strcmp(path, "-") == 0;
    if (!journal || !(journal->path = strdup(standard ? "standard output" : path))) {
        message_print(message, "%s: out of memory", path);
        free(journal);
        return NULL;
    }
    *message.text = 0;
    journal->found = json_pack("{s:{}, s:{}, s:{}}", "cell", "check", "launch");
    journal->fd = standard ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                           : open(path, flags | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd < 0 || fstat(journal->fd, &status) != 0)
        return fail(journal, strerror(errno), message);
    journal->regular = S_ISREG(status.st_mode) && !standard;
    journal->length = status.st_size;
    if (journal->regular && flock(journal->fd, LOCK_EX | LOCK_NB) != 0)
        return fail(journal, "another session is writing to it", message);
    return journal;
}

struct journal *journal_create(const char *path, enum journal_over over, struct message message)
{
    struct journal *journal = open_file(path, O_WRONLY | O_CREAT, message);
    if (!journal || !journal->regular || !journal->length)
        return journal;
    if (over != JOURNAL_REPLACE)
        return fail(journal,
                    over == JOURNAL_RESUMABLE
                        ? "exists; go on with it by --resume, or replace it by --force"
                        : "exists; replace it by --force, or name another file",
                    message);
    if (ftruncate(journal->fd, 0) != 0)
        return fail(journal, strerror(errno), message);
    journal->length = 0;
    return journal;
}

/* Merges a session line; checks and launches of another build are dropped. */
static void merge_session(struct journal *journal, json_t *session)
{
    const json_t *before = json_object_get(journal->session, "build");
    if (!json_equal(before, json_object_get(session, "build"))) {
        json_object_clear(json_object_get(journal->found, "check"));
        json_object_clear(json_object_get(journal->found, "launch"));
    }
    json_decref(journal->session);
    journal->session = json_incref(session);
}

/* Whether a launch counts for its cell: it is not a twin's, and no repeat superseded it. */
static bool counts(const json_t *launch)
{
    return !json_is_true(json_object_get(launch, "superseded")) &&
           !json_is_true(json_object_get(launch, "twin"));
}

/* Merges one line of a resumed file. */
static bool merge_line(struct journal *journal, json_t *line)
{
    char identity[JOURNAL_IDENTITY];
    printable_json(line); /* a results file may be untrusted */
    const char *type = json_string_value(json_object_get(line, "type"));
    if (!type)
        return false;
    json_t *found = json_object_get(journal->found, type);
    journal_identity(line, identity);
    if (strcmp(type, "session") == 0)
        merge_session(journal, line);
    else if (strcmp(type, "cell") == 0)
        json_object_set(found, identity, line);
    else if (strcmp(type, "check") == 0)
        json_object_set(found, identity, json_object_get(line, "check"));
    else if (strcmp(type, "launch") == 0 && counts(line)) {
        json_t *list = json_object_get(found, identity);
        if (!list)
            json_object_set_new(found, identity, list = json_array());
        json_array_append(list, line);
    }
    return true;
}

/* Merges every whole line; returns the number of the first that is no JSON object, 0 if there is none. */
static size_t merge_lines(struct journal *journal, const char *text, size_t length)
{
    size_t number = 0;
    for (size_t at = 0; at < length; number++) {
        const size_t n = (size_t)((const char *)memchr(text + at, '\n', length - at) - text) - at;
        json_t *line = json_loadb(text + at, n, 0, NULL);
        const bool taken = json_is_object(line) && merge_line(journal, line);
        json_decref(line);
        if (!taken)
            return number + 1;
        at += n + 1;
    }
    return 0;
}

/* Truncates the file to whole lines and reads them; returns an error, NULL if there is none. */
static const char *read_back(struct journal *journal, struct message note)
{
    static char why[80];
    const size_t size = (size_t)journal->length;
    if (!journal->regular || size == 0)
        return "is no results file";
    char *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, journal->fd, 0);
    if (text == MAP_FAILED)
        return strerror(errno);
    const char *last = memrchr(text, '\n', size);
    const size_t length = last ? (size_t)(last - text) + 1 : 0;
    const size_t wrong = merge_lines(journal, text, length);
    munmap(text, size);
    if (wrong) {
        snprintf(why, sizeof why, "line %zu is damaged", wrong);
        return why;
    }
    if (strcmp(member_text(journal->session, "schema"), JOURNAL_SCHEMA) != 0)
        return "is no results file of schema " JOURNAL_SCHEMA;
    if (length < size) {
        if (ftruncate(journal->fd, (off_t)length) != 0)
            return strerror(errno);
        message_print(note, "%s: cut off an unfinished line of %zu bytes", journal->path,
                      size - length);
    }
    journal->length = (off_t)length;
    return NULL;
}

struct journal *journal_resume(const char *path, struct message message)
{
    struct journal *journal = open_file(path, O_RDWR, message);
    const char *wrong = journal ? read_back(journal, message) : NULL;
    return wrong ? fail(journal, wrong, message) : journal;
}

const json_t *journal_session(const struct journal *journal)
{
    return journal->session;
}

json_t *journal_find(const struct journal *journal, const char *type, const char *identity)
{
    return json_object_get(json_object_get(journal->found, type), identity);
}

const json_t *journal_find_wrong(const struct journal *journal, const json_t *cell)
{
    char wanted[JOURNAL_IDENTITY], identity[JOURNAL_IDENTITY];
    const char *key;
    json_t *row, *like = json_copy((json_t *)(uintptr_t)cell);
    const json_t *found = NULL;
    json_object_foreach (json_object_get(journal->found, "cell"), key, row) {
        enum cell_state state;
        if (!cell_state_parse(field_word(row, FIELD_STATE), &state) ||
            !cell_state_is_wrong(state) || json_is_integer(field_json(row, FIELD_FAILED_AT)))
            continue;
        json_object_set(like, "threads", field_json(row, FIELD_THREADS));
        journal_identity(like, wanted);
        journal_identity(row, identity);
        if (strcmp(wanted, identity) == 0)
            found = row;
    }
    json_decref(like);
    return found;
}

void journal_close(struct journal *journal)
{
    if (!journal)
        return;
    if (journal->fd >= 0)
        close(journal->fd);
    json_decref(journal->session);
    json_decref(journal->found);
    free(journal->path);
    free(journal);
}
