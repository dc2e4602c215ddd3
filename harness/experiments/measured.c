/*
 * measured: from a step to a session of one case, and from its cells to rows.
 */
#include "measured.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problem/select.h"

const char *const measured_checks[] = {"full", "own", NULL};

struct measuring {
    const json_t *step;
    const struct measured_events *events;
};

/* ---- rows ------------------------------------------------------------------------------------ */

/* What a row takes from a cell's row, by where it is there. */
static const char *const identity[] = {"kernel", "isa", "threads", "problem", "input", NULL};
static const char *const outcome[] = {
    "state", "why",   "gflops", "gbytes_per_s", "fraction_of_fma", "fraction_of_machine",
    "flags", "repro", NULL};
static const char *const of_time[] = {"median_s",         "ci95_s", "launches",
                                      "launch_medians_s", "stop",   NULL};
static const char *const of_check[] = {"error_over_bound", NULL};

/* What is absent becomes null. */
static void copy(json_t *to, const json_t *from, const char *const *keys)
{
    for (; *keys; keys++) {
        json_t *value = json_object_get(from, *keys);
        json_object_set_new(to, *keys, value ? json_incref(value) : json_null());
    }
}

static json_t *row_of(const json_t *step, const json_t *cell)
{
    json_t *params = json_copy((json_t *)step), *values = json_object();
    json_object_del(params, "kernels");
    json_object_del(params, "teams");
    json_object_del(params, "unbound");
    json_object_del(params, "check");
    copy(params, cell, identity);
    copy(values, cell, outcome);
    json_object_set(values, "extra",
                    json_object_get(cell, "extra")); /* of programs that give any */
    copy(values, json_object_get(cell, "time"), of_time);
    copy(values, json_object_get(cell, "check"), of_check);
    return experiment_row(params, values);
}

bool measured_went_well(const json_t *row)
{
    const char *state = experiment_text(json_object_get(row, "values"), "state");
    return strcmp(state, "ok") == 0 || strcmp(state, "unsupported") == 0 ||
           strcmp(state, "unavailable") == 0;
}

/* ---- events of the rounds -------------------------------------------------------------------- */

static void launching(void *context, const struct cell *cell, const char *what)
{
    const struct measuring *m = context;
    char variant[96], text[256];
    if (!cell) {
        m->events->launching(m->events->context, what);
        return;
    }
    cell_variant(cell, variant);
    snprintf(text, sizeof text, "%s  %d thr  %s", variant, cell->threads, what);
    m->events->launching(m->events->context, text);
}

static bool launched(void *context, json_t *record)
{
    (void)context;
    json_decref(record);
    return true;
}

static bool finished(void *context, struct cell *cell)
{
    const struct measuring *m = context;
    return m->events->row(m->events->context, row_of(m->step, cell->row));
}

/* ---- the session ----------------------------------------------------------------------------- */

static enum rounds_end run_session(const struct session *session, struct measuring *measuring)
{
    const struct rounds_events events = {measuring, launching, launched, finished};
    struct rounds rounds = {
        .session = session,
        .events = &events,
        .action = PROTOCOL_MEASURE,
        .own_input = strcmp(experiment_text(measuring->step, "check"), "own") == 0,
        .command = "run",
        .topology = session_topology(session),
        .cells = session->cells,
        .count = session->cell_count,
        .until = INFINITY,
        .outputs = -1,
    };
    const enum rounds_end end = rounds_run(&rounds);
    cell_free(&rounds.twin);
    if (rounds.topology >= 0)
        close(rounds.topology);
    return end;
}

/* Whether there is a core for each of so many threads. */
static bool has_cores(const char *threads)
{
    char message[256];
    struct machine *machine = machine_open(NULL, message, sizeof message);
    const bool has = machine && machine_cores(machine) >= strtol(threads, NULL, 10);
    if (machine)
        machine_close(machine);
    return has;
}

bool measured_kernels(const char *list, char *message, size_t message_size)
{
    struct selected selected[SELECT_MAX];
    size_t count;
    return select_kernels(list, selected, &count, message, message_size);
}

enum rounds_end measured_run(const json_t *step, const struct measured_events *events,
                             char *message, size_t message_size)
{
    struct measuring measuring = {step, events};
    struct lock lock = {.fd = -1};
    struct session session;
    struct options options;
    enum rounds_end end = ROUNDS_STOPPED;
    bool alone;
    options_init(&options);
    options.problems[options.problem_count++] = experiment_text(step, "problem");
    options.kernel = experiment_text(step, "kernels");
    options.threads = experiment_text(step, "teams");
    if (json_is_true(json_object_get(step, "unbound")) && !has_cores(options.threads))
        options.placement = PLACEMENT_NONE;
    options.launches = (size_t)json_integer_value(json_object_get(step, "launches"));
    options.seed = (uint64_t)json_integer_value(json_object_get(step, "seed"));
    if (!queue_enter(&lock, "attnbench experiment", events->if_busy, &alone))
        return ROUNDS_INTERRUPTED;
    if (session_plan(&session, &options, message, message_size) == EXIT_AS_ASKED)
        end = run_session(&session, &measuring);
    session_free(&session);
    lock_release(&lock);
    return end;
}
