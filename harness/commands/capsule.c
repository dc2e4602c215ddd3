/*
 * capsule: writes the folder.  Everything is looked up before anything is written; what was written goes
 * again where the rest cannot be.
 */
#include "capsule.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/progress.h"
#include "problem/cases.h"
#include "results/report_rows.h"
#include "session/guest_file.h"
#include "session/session.h"
#include "base/named_pipe.h"

/* A file that goes into the capsule. */
struct enclosed {
    const char *key; /* in capsule.json */
    char path[4096];
    char digest[GUEST_DIGEST];
};

enum { PLUGIN, TENSORS, HOSTS, ENCLOSED };

/* ---- the row --------------------------------------------------------------------------------- */

bool capsule_find_row(const char *path, size_t number, json_t **session, json_t **row,
                      char *message, size_t message_size)
{
    char *text = NULL;
    size_t room = 0, line = 0, cells = 0;
    const bool pipe = named_pipe_is(path);
    FILE *file = pipe ? NULL : fopen(path, "r");
    *session = *row = NULL;
    bool sound = file;
    snprintf(message, message_size, "%s: %s", path,
             pipe   ? NAMED_PIPE_REFUSAL
             : file ? "is no results file"
                    : strerror(errno));
    while (sound && cells < number && getline(&text, &room, file) > 0) {
        json_t *object = json_loads(text, 0, NULL);
        const char *type = json_string_value(json_object_get(object, "type"));
        line++;
        sound = type;
        if (type && strcmp(type, "session") == 0) {
            json_decref(*session);
            *session = json_incref(object);
        } else if (type && strcmp(type, "cell") == 0) {
            json_decref(*row);
            *row = json_incref(object);
            cells++;
        }
        json_decref(object);
    }
    if (!sound && line)
        snprintf(message, message_size, "%s: line %zu is no line of results", path, line);
    else if (file && *session && cells < number)
        snprintf(message, message_size, "%s: no row %zu, it has %zu", path, number, cells);
    const bool found = sound && *session && cells == number;
    if (file)
        fclose(file);
    free(text);
    return found;
}

/* ---- what it needs --------------------------------------------------------------------------- */

/* The value of an option in a command, its word number i, or the next behind it; NULL: that is another word. */
static const char *value_at(const json_t *command, size_t i, const char *option)
{
    const char *word = json_string_value(json_array_get(command, i));
    const size_t length = strlen(option);
    if (!word || strncmp(word, option, length) != 0)
        return NULL;
    return word[length] == '=' ? word + length + 1
                               : json_string_value(json_array_get(command, i + 1));
}

/* The plug-in among those of the session's command that has the row's digest and arguments. */
static bool find_plugin(const json_t *session, const json_t *row, struct enclosed *plugin,
                        char *message, size_t size)
{
    const char *of_row = report_text(row, "plugin");
    struct guest guest;
    char its[GUEST_IDENTITY];
    const json_t *command = json_object_get(session, "command");
    *plugin = (struct enclosed){.key = "plugin"};
    if (!*of_row)
        return true;
    for (size_t i = 0; i < json_array_size(command); i++) {
        const char *text = value_at(command, i, "--plugin");
        if (!text)
            continue;
        guest_file_name(text, &guest);
        if (!guest_file_digest(guest.path, guest.digest))
            continue;
        guest_identity(&guest, its);
        if (strcmp(its, of_row) == 0) {
            memcpy(plugin->path, guest.path, sizeof plugin->path);
            memcpy(plugin->digest, guest.digest, sizeof plugin->digest);
            return true;
        }
    }
    snprintf(message, size, "the row's plug-in, %s, is not where its session found it", of_row);
    return false;
}

static bool find_tensors(const json_t *row, struct enclosed *tensors, char *message, size_t size)
{
    struct input input;
    struct parse_error error;
    *tensors = (struct enclosed){.key = "tensors"};
    if (!parse_input(report_text(row, "input"), &input, &error)) {
        snprintf(message, size, "the row's input: %s", error.message);
        return false;
    }
    if (input.kind != INPUT_FILE)
        return true;
    if (!cases_find_file(input.path, tensors->path, message, size))
        return false;
    if (!guest_file_digest(tensors->path, tensors->digest)) {
        snprintf(message, size, "%s: cannot be read", tensors->path);
        return false;
    }
    return true;
}

/* The host file of the session's command, where the row is of ranks. */
static bool find_hosts(const json_t *session, const json_t *row, struct enclosed *hosts,
                       char *message, size_t size)
{
    const json_t *command = json_object_get(session, "command");
    *hosts = (struct enclosed){.key = "hostfile"};
    if (strcmp(report_text(row, "kernel"), "ring") != 0)
        return true;
    for (size_t i = 0; i < json_array_size(command); i++) {
        const char *path = value_at(command, i, "--hostfile");
        if (path)
            snprintf(hosts->path, sizeof hosts->path, "%s", path);
    }
    if (!*hosts->path || guest_file_digest(hosts->path, hosts->digest))
        return true;
    snprintf(message, size, "%s, the row's host file, cannot be read", hosts->path);
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static json_t *described(const struct enclosed *file)
{
    return *file->path
               ? json_pack("{s:s, s:s}", "name", name_of(file->path), "digest", file->digest)
               : json_null();
}

/* Copies bytes and whether it may be executed; a plug-in that is a program must stay one. */
static bool copy(const char *from, int folder)
{
    char block[1 << 16];
    struct stat status;
    ssize_t n = -1;
    const int in = open(from, O_RDONLY | O_CLOEXEC);
    const int out = in >= 0 && fstat(in, &status) == 0
                        ? openat(folder, name_of(from), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                                 status.st_mode & 0777)
                        : -1;
    bool written = out >= 0;
    while (written && (n = read(in, block, sizeof block)) > 0)
        written = write(out, block, (size_t)n) == n;
    written = written && n == 0 && fsync(out) == 0;
    if (out >= 0)
        close(out);
    if (in >= 0)
        close(in);
    return written;
}

static bool write_json(json_t *capsule, int folder)
{
    const int fd = openat(folder, CAPSULE_FILE, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const bool written = fd >= 0 &&
                         json_dumpfd(capsule, fd, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0 &&
                         fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return written;
}

/* Makes the folder and fills it; nothing is left of it where that fails. */
static bool write_all(const char *path, const struct enclosed *files, json_t *capsule)
{
    if (mkdir(path, 0777) != 0)
        return false;
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool written = folder >= 0;
    for (size_t n = 0; written && n < ENCLOSED; n++)
        written = !*files[n].path || copy(files[n].path, folder);
    written = written && write_json(capsule, folder);
    const int why = errno;
    for (size_t n = 0; !written && folder >= 0 && n < ENCLOSED; n++)
        if (*files[n].path)
            unlinkat(folder, name_of(files[n].path), 0);
    if (!written && folder >= 0)
        unlinkat(folder, CAPSULE_FILE, 0);
    if (folder >= 0)
        close(folder);
    if (!written)
        rmdir(path);
    errno = why;
    return written;
}

int capsule_command(const struct options *options, int argc, const char *const *argv)
{
    (void)argc, (void)argv;
    char message[4600] = "";
    json_t *session, *row;
    struct enclosed files[ENCLOSED];
    if (!options->operand || !options->row || !options->output) {
        progress_say("capsule takes a results file, --row and --output");
        return EXIT_USAGE;
    }
    bool right =
        capsule_find_row(options->operand, options->row, &session, &row, message, sizeof message) &&
        find_plugin(session, row, &files[PLUGIN], message, sizeof message) &&
        find_tensors(row, &files[TENSORS], message, sizeof message) &&
        find_hosts(session, row, &files[HOSTS], message, sizeof message);
    if (right) {
        json_t *capsule =
            json_pack("{s:s, s:O, s:O, s:o, s:o, s:o}", "schema", CAPSULE_SCHEMA, "session",
                      session, "row", row, "plugin", described(&files[PLUGIN]), "tensors",
                      described(&files[TENSORS]), "hostfile", described(&files[HOSTS]));
        right = write_all(options->output, files, capsule);
        snprintf(message, sizeof message, "%s: %s", options->output, strerror(errno));
        json_decref(capsule);
    }
    if (right)
        printf("%s: row %zu of %s; repeat it with: attnbench replay %s\n", options->output,
               options->row, options->operand, options->output);
    else
        progress_say("%s", message);
    json_decref(session);
    json_decref(row);
    return right && fflush(stdout) == 0 ? EXIT_AS_ASKED : EXIT_ENVIRONMENT;
}
