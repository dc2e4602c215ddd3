/*
 * replay: measures a capsule's row again, and shows both side by side.
 */
#include "capsule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/units.h"
#include "problem/cases.h"
#include "results/fields.h"
#include "results/report_rows.h"
#include "run.h"
#include "session/guest_file.h"
#include "session/session.h"

#define WORDS 32
#define WORD 5200
#define REPLAYS 1000 /* in one folder */

/* A command line in the making. */
struct words {
    char text[WORDS][WORD];
    const char *argv[WORDS];
    int count;
};

/* A word of two parts. */
static void add(struct words *words, const char *a, const char *b)
{
    const int n = words->count++;
    snprintf(words->text[n], WORD, "%s%s", a, b);
    words->argv[n] = words->text[n];
}

static void add_option(struct words *words, const char *name, const char *value)
{
    add(words, "--", name);
    add(words, value, "");
}

/* ---- the capsule ----------------------------------------------------------------------------- */

struct capsule {
    const char *folder;
    json_t *all, *row, *session; /* the last two are parts of the first */
};

/* Whether an enclosed file is the one that was put there; *path becomes where it is, "" where the
 * capsule has none. */
static bool intact(const struct capsule *capsule, const char *key, char path[WORD], char *message,
                   size_t size)
{
    char digest[GUEST_DIGEST];
    const json_t *file = json_object_get(capsule->all, key);
    const char *name = report_text(file, "name");
    *path = 0;
    if (!json_is_object(file))
        return true;
    snprintf(path, WORD, "%s/%s", capsule->folder, name);
    if (!*name || strchr(name, '/') || !guest_file_digest(path, digest))
        snprintf(message, size, "%s: cannot be read", path);
    else if (strcmp(digest, report_text(file, "digest")) != 0)
        snprintf(message, size, "%s is not the file that was put there", path);
    else
        return true;
    return false;
}

static bool read_capsule(struct capsule *capsule, char *message, size_t size)
{
    char path[WORD];
    json_error_t error;
    snprintf(path, sizeof path, "%s/%s", capsule->folder, CAPSULE_FILE);
    capsule->all = json_load_file(path, 0, &error);
    capsule->row = json_object_get(capsule->all, "row");
    capsule->session = json_object_get(capsule->all, "session");
    if (!capsule->all)
        snprintf(message, size, "%s: %s", path, error.text);
    else if (strcmp(report_text(capsule->all, "schema"), CAPSULE_SCHEMA) != 0 ||
             !json_is_object(capsule->row) || !json_is_object(capsule->session))
        snprintf(message, size, "%s is no capsule of schema %s", path, CAPSULE_SCHEMA);
    else
        return true;
    return false;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* The problem and the input of the row as one text; tensors lie in the capsule now. */
static bool add_problem(struct words *words, const json_t *row, const char *tensors, char *message,
                        size_t size)
{
    char text[PARSE_TEXT], both[WORD];
    struct input input;
    struct parse_error error;
    if (!parse_input(report_text(row, "input"), &input, &error)) {
        snprintf(message, size, "the row's input: %s", error.message);
        return false;
    }
    if (*tensors &&
        snprintf(input.path, sizeof input.path, "%s", tensors) >= (int)sizeof input.path) {
        snprintf(message, size, "%s: too long a path", tensors);
        return false;
    }
    parse_print_input(&input, text);
    snprintf(both, sizeof both, "%s input=%s", report_text(row, "problem"), text);
    add_option(words, "problem", both);
    return true;
}

/* The thread counts of the row: also the one that it failed at. */
static void add_threads(struct words *words, const json_t *row)
{
    char counts[64];
    const json_t *failed_at = json_object_get(row, "failed_at");
    const int own = (int)json_integer_value(json_object_get(row, "threads"));
    snprintf(counts, sizeof counts, json_is_integer(failed_at) ? "%d,%d" : "%d", own,
             (int)json_integer_value(failed_at));
    add_option(words, "threads", counts);
    const json_int_t ranks = json_integer_value(json_object_get(row, "ranks"));
    if (ranks > 1) {
        snprintf(counts, sizeof counts, "%d", (int)ranks);
        add_option(words, "ranks", counts);
    }
}

/* The enclosed file, with the arguments that the row's `plugin` has behind the digest. */
static void add_plugin(struct words *words, const json_t *row, const char *path)
{
    const char *arguments = strchr(report_text(row, "plugin"), ' ');
    char text[GUEST_TEXT];
    struct guest guest = {.arguments = ""};
    snprintf(guest.path, sizeof guest.path, "%.*s", (int)sizeof guest.path - 1, path);
    if (arguments)
        snprintf(guest.arguments, sizeof guest.arguments, "%s", arguments + 1);
    add_option(words, "plugin", guest_text(&guest, text));
}

/* A file that is not there yet, for the new results. */
static bool add_output(struct words *words, const char *folder, char *message, size_t size)
{
    char path[WORD];
    for (int n = 1; n < REPLAYS; n++) {
        snprintf(path, sizeof path, "%s/replay-%d.jsonl", folder, n);
        if (access(path, F_OK) != 0) {
            add_option(words, "output", path);
            return true;
        }
    }
    snprintf(message, size, "%s was replayed %d times; move some of them away", folder,
             REPLAYS - 1);
    return false;
}

/* The command line that measures, or checks, the row again. */
static bool build(const struct capsule *capsule, struct words *words, char *message, size_t size)
{
    char plugin[WORD], tensors[WORD], hosts[WORD], seed[32];
    const json_t *row = capsule->row;
    const char *command =
        json_string_value(json_array_get(json_object_get(capsule->session, "command"), 0));
    const bool check = command && strcmp(command, "check") == 0;
    if (!intact(capsule, "plugin", plugin, message, size) ||
        !intact(capsule, "tensors", tensors, message, size) ||
        !intact(capsule, "hostfile", hosts, message, size))
        return false;
    add(words, check ? "check" : "run", "");
    if (!add_problem(words, row, tensors, message, size))
        return false;
    add_option(words, "kernel", report_text(row, "kernel"));
    add_option(words, "isa", report_text(row, "isa"));
    add_threads(words, row);
    add_option(words, "placement", report_text(row, "placement"));
    snprintf(seed, sizeof seed, "%" JSON_INTEGER_FORMAT,
             json_integer_value(json_object_get(row, "seed")));
    add_option(words, "seed", seed);
    if (*plugin)
        add_plugin(words, row, plugin);
    if (*hosts)
        add_option(words, "hostfile", hosts);
    if (!check) {
        add_option(words, "memory", report_text(row, "memory"));
        if (json_is_true(json_object_get(row, "huge_pages")))
            add(words, "--huge-pages", "");
        if (strcmp(report_text(row, "cache"), "cold") == 0)
            add(words, "--cold", "");
    }
    return add_output(words, capsule->folder, message, size);
}

/* ---- side by side ---------------------------------------------------------------------------- */

/* "7.462 ms [7.401 7.530]" */
static void print_time(const json_t *row, char text[TABLE_CELL])
{
    char median[UNITS_TEXT], lo[UNITS_TEXT], hi[UNITS_TEXT];
    const json_t *interval = json_object_get(json_object_get(row, "time"), "ci95_s");
    units_seconds(field_of(row, FIELD_MEDIAN), median);
    units_seconds(json_number_value(json_array_get(interval, 0)), lo);
    units_seconds(json_number_value(json_array_get(interval, 1)), hi);
    snprintf(text, TABLE_CELL, json_is_array(interval) ? "%s [%s %s]" : "%s", median, lo, hi);
}

static void print_percent(const json_t *row, char text[TABLE_CELL])
{
    const double share = field_of(row, FIELD_OF_ROOFLINE);
    *text = 0;
    if (!isnan(share))
        snprintf(text, TABLE_CELL, "%.1f %%", 100 * share);
}

/* One side: a session and its row. */
static void fill(const json_t *session, const json_t *row, struct table_row *rows, size_t column)
{
    const json_t *build = json_object_get(session, "build");
    const json_t *machine = json_object_get(session, "machine");
    const char *commit = report_text(build, "commit");
    snprintf(rows[0].text[column], TABLE_CELL, "%s", report_text(row, "state"));
    print_time(row, rows[1].text[column]);
    print_percent(row, rows[2].text[column]);
    units_number(field_of(row, FIELD_ERROR_OVER_BOUND), rows[3].text[column]);
    snprintf(rows[4].text[column], TABLE_CELL, "%s", report_text(row, "timed_at"));
    snprintf(rows[5].text[column], TABLE_CELL, "%.40s", report_text(machine, "cpu"));
    snprintf(rows[6].text[column], TABLE_CELL, "%.12s%s %.40s", commit,
             json_is_true(json_object_get(build, "dirty")) ? " modified" : "",
             report_text(build, "compiler"));
}

static void print_table(const struct capsule *then, const json_t *session, const json_t *row)
{
    static const struct table_column columns[] = {
        {"", 0, true}, {"then", 0, true}, {"now", 0, true}};
    static const char *const names[] = {"state",    "median", "of the ceiling", "error / bound",
                                        "timed at", "CPU",    "build"};
    enum { NAMES = sizeof names / sizeof *names };
    struct table_row rows[NAMES] = {{.note = ""}};
    const struct table table = {
        .columns = columns, .column_count = 3, .rows = rows, .row_count = NAMES};
    for (size_t n = 0; n < NAMES; n++)
        snprintf(rows[n].text[0], TABLE_CELL, "%s", names[n]);
    fill(then->session, then->row, rows, 1);
    fill(session, row, rows, 2);
    printf("\nreplay of %s: %s/%s\n%s\n\n", then->folder, report_text(row, "kernel"),
           report_text(row, "isa"), report_text(row, "problem"));
    table_print(report_output.out, &table, report_output.width, report_output.color);
}

/* What the two times say. */
static void print_verdict(const struct capsule *then, const json_t *session, const json_t *row)
{
    const double before = field_of(then->row, FIELD_MEDIAN);
    const double now = field_of(row, FIELD_MEDIAN);
    const char *there = report_text(json_object_get(then->session, "machine"), "fingerprint");
    const char *here = report_text(json_object_get(session, "machine"), "fingerprint");
    char text[256];
    if (isnan(before) || isnan(now))
        return;
    if (strcmp(there, here) != 0)
        snprintf(text, sizeof text,
                 "Another machine: what travels is the share of the ceiling, not the time.");
    else
        snprintf(text, sizeof text, "%+.1f %% time, on the same machine; the intervals %s.",
                 100 * (now / before - 1),
                 report_meets(row, then->row) ? "overlap" : "do not overlap, or are not there");
    printf("\n");
    table_wrap(report_output.out, text, report_output.width, 0);
}

/* The new row of the same thread count: one that failed at another count was repeated with that. */
static bool find_again(const struct capsule *capsule, const char *output, json_t **session,
                       json_t **row, char *message, size_t size)
{
    const json_t *threads = json_object_get(capsule->row, "threads");
    for (size_t n = 1; capsule_find_row(output, n, session, row, message, size); n++) {
        if (json_equal(json_object_get(*row, "threads"), threads))
            return true;
        json_decref(*session);
        json_decref(*row);
    }
    return false;
}

static int compare(const struct capsule *capsule, const char *output, char *message, size_t size)
{
    json_t *session, *row;
    int code = EXIT_ENVIRONMENT;
    if (find_again(capsule, output, &session, &row, message, size)) {
        const bool same =
            strcmp(report_text(capsule->row, "state"), report_text(row, "state")) == 0;
        print_table(capsule, session, row);
        print_verdict(capsule, session, row);
        code = same ? EXIT_AS_ASKED : EXIT_KERNEL;
    } else {
        progress_say("%s", message);
    }
    json_decref(session);
    json_decref(row);
    return code;
}

int replay_command(const struct options *options, int argc, const char *const *argv)
{
    (void)argc, (void)argv;
    static struct words words;
    char message[2 * WORD] = "";
    struct capsule capsule = {.folder = options->operand};
    struct options again;
    if (!capsule.folder) {
        progress_say("replay takes the folder of a capsule");
        return EXIT_USAGE;
    }
    options_init(&again);
    int code = EXIT_ENVIRONMENT;
    if (!read_capsule(&capsule, message, sizeof message) ||
        !build(&capsule, &words, message, sizeof message) ||
        !options_parse(&again, words.count, words.argv, message, sizeof message))
        progress_say("%s", message);
    else {
        again.if_busy = options->if_busy;
        code = run_command(&again, words.count, words.argv);
        if (code == EXIT_AS_ASKED || code == EXIT_KERNEL)
            code = compare(&capsule, again.output, message, sizeof message);
    }
    json_decref(capsule.all);
    return code;
}
