/*
 * experiment_command: experiments one after the other, step by step, each step in a worker.
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "isa.h"
#include "problem/catalogue.h"
#include "session/guests.h"
#include "session/launch.h"
#include "base/progress.h"
#include "results/report.h"
#include "session/record.h"
#include "system/process.h"

/* Steps are short; one that takes longer is stopped, as it probably hangs. */
#define DEADLINE_S 900.0

/* A worker's BLAS library is configured for the host's preferred instruction set and for products of this
 * many rows, as in prefill and in the projections of a layer. */
#define USUAL_LENGTH 1024

/* State of one call of experiment_command(). */
struct running {
    const struct options *options;
    struct session session; /* without cells */
    struct record record;
    const struct experiment *experiment; /* the current one */
    json_t *rows;                        /* its rows so far */
    size_t steps, step;                  /* how many it has; the current one, from 0 */
    double started;                      /* time at which the current step began */
    enum session_end end;
    int code;
};

/* ---- steps ----------------------------------------------------------------------------------- */

/* Keeps a row for the report and writes it to the journal; steals it. */
static enum session_end keep(struct running *r, json_t *row)
{
    json_object_set_new(row, "type", json_string("experiment"));
    json_object_set_new(row, "name", json_string(r->experiment->name));
    json_array_append(r->rows, row);
    return record_write(&r->record, row, true) ? SESSION_DONE : SESSION_STOPPED;
}

/* The guest's kernel that a step names; NULL where it names none. */
static const struct attn_kernel *guest_in(json_t *step)
{
    const char *key;
    json_t *value;
    json_object_foreach (step, key, value) {
        const char *text = json_string_value(value);
        const struct attn_kernel *kernel = text ? catalogue_named(text) : NULL;
        if (kernel && catalogue_guest(kernel))
            return kernel;
    }
    return NULL;
}

/* Runs a step in a worker, by the experiment's compute(), each thread on a core of its own if there are
 * enough. The answer's "rows" has the rows. */
static struct launch run_step(const struct running *r, json_t *step)
{
    const struct attn_kernel *guest = guest_in(step);
    const int threads = r->session.threads[0];
    struct protocol_request request = {
        .action = PROTOCOL_EXPERIMENT,
        .threads = threads,
        .team = threads,
        .files = PROTOCOL_NO_FILES,
        .setting.placement =
            threads <= machine_cores(r->session.machine) ? PLACEMENT_CORES : PLACEMENT_NONE};
    struct launch launch = {.state = CELL_SKIPPED, .why = "a step is too long"};
    char *text = json_dumps(step, JSON_COMPACT);
    attn_problem_init(&request.c.problem);
    request.c.problem.q_len = request.c.problem.kv_len = USUAL_LENGTH;
    protocol_kernel(&request, guest ? guest->name : "", attn_isa_preferred(),
                    guest ? catalogue_guest(guest) : NULL);
    snprintf(request.experiment, sizeof request.experiment, "%s", r->experiment->name);
    if (text && strlen(text) < sizeof request.step) {
        snprintf(request.step, sizeof request.step, "%s", text);
        launch = launch_worker(&request, DEADLINE_S);
    }
    free(text);
    return launch;
}

static enum session_end compute_step(struct running *r, json_t *step)
{
    char name[160];
    size_t i;
    json_t *row;
    struct launch launch = run_step(r, step);
    experiment_label(step, name, sizeof name);
    enum session_end end = launch.interrupted ? SESSION_INTERRUPTED : SESSION_DONE;
    if (end == SESSION_DONE && launch.state != CELL_OK) {
        progress_say("experiment %s: %s: %s: %s", r->experiment->name, name,
                     cell_state_name(launch.state), launch.why);
        if (launch.log)
            progress_say("%s printed:\n%s", name, launch.log);
        r->code =
            record_worse(r->code, launch.state == CELL_SKIPPED ? EXIT_ENVIRONMENT : EXIT_KERNEL);
    } else if (end == SESSION_DONE) {
        json_array_foreach (json_object_get(launch.answer, "rows"), i, row)
            end = end == SESSION_DONE ? keep(r, json_incref(row)) : end;
        progress_line("experiment %s: %s: %.2f s", r->experiment->name, name, launch.wall_s);
    }
    launch_free(&launch);
    return end;
}

/* ---- an experiment --------------------------------------------------------------------------- */

/* Runs all steps, or up to the first after which the session cannot go on. */
static void run_steps(struct running *r, const json_t *steps)
{
    r->started = clock_now();
    r->steps = json_array_size(steps);
    for (r->step = 0; r->end == SESSION_DONE && r->step < r->steps; r->step++) {
        json_t *step = json_array_get(steps, r->step);
        const double share = (double)r->step / (double)r->steps;
        const double elapsed = clock_now() - r->started;
        progress_show("", share, r->step ? elapsed * (1 - share) / share : 0, r->experiment->name);
        r->end = compute_step(r, step);
    }
}

/* All parameters of an experiment, given or default, with the seed. */
static json_t *asked_of(const struct options *options, const struct experiment *experiment)
{
    json_t *all = options_value_standard(experiment->calculation->parameters, options->quick);
    json_object_update_existing(all, options->values);
    json_object_set_new(all, "seed", json_integer((json_int_t)options->seed));
    return all;
}

/* The steps for the given parameters; none where this build cannot run the experiment. */
static json_t *plan_steps(struct running *r)
{
    const struct calculation *calculation = r->experiment->calculation;
    json_t *steps = json_array(), *asked = asked_of(r->options, r->experiment);
    if (!calculation->ready || calculation->ready(MESSAGE(r->record.message))) {
        calculation->plan(asked, steps);
    } else {
        progress_say("experiment %s: %s", r->experiment->name, r->record.message);
        r->code = record_worse(r->code, EXIT_ENVIRONMENT);
    }
    json_decref(asked);
    return steps;
}

static void run_experiment(struct running *r, const struct experiment *experiment)
{
    r->experiment = experiment;
    r->rows = json_array();
    json_t *steps = plan_steps(r);
    run_steps(r, steps);
    progress_clear();
    if (json_array_size(r->rows)) {
        report_sentence("experiment %s: %s", experiment->name, experiment->question);
        if (!experiment->calculation->report(r->rows))
            r->code = EXIT_KERNEL;
    }
    json_decref(r->rows);
    json_decref(steps);
}

/* ---- the session ----------------------------------------------------------------------------- */

static bool begin(struct running *r)
{
    struct session *session = &r->session;
    json_t *command = options_arguments(r->options);
    json_array_insert_new(command, 0, json_string("attnbench"));
    session->options = r->options;
    session->seed = r->options->seed;
    session->machine = machine_open(NULL, MESSAGE(r->record.message));
    bool begun = session->machine && record_create(&r->record, r->options, JOURNAL_ONCE);
    if (begun) {
        session->thread_counts = 1;
        session->threads[0] =
            r->options->team ? (int)r->options->team : machine_cores(session->machine);
        begun = record_begin(&r->record, session, command, false);
    }
    json_decref(command);
    return begun;
}

static void run_all(struct running *r)
{
    const struct experiment *named = experiment_find(r->options->subject), *experiment;
    for (size_t i = 0; r->end == SESSION_DONE && (experiment = experiment_at(i)); i++)
        if (named ? named == experiment : experiment->calculation != NULL)
            run_experiment(r, experiment);
}

static int run(struct running *r)
{
    if (!begin(r)) {
        progress_say("%s", r->record.message);
        return EXIT_ENVIRONMENT;
    }
    run_all(r);
    r->record.time.timing_s = clock_now() - r->record.started;
    json_decref(record_end(&r->record, r->end, &r->code));
    if (r->end == SESSION_INTERRUPTED)
        progress_say("interrupted; what was done is kept");
    return r->code;
}

/* Has an experiment check its own arguments; with all, each gets its defaults. */
static bool accepted(struct running *r)
{
    const char *name = r->options->subject;
    const struct experiment *experiment = name ? experiment_find(name) : NULL;
    const struct calculation *calculation = experiment ? experiment->calculation : NULL;
    const bool checks = experiment && calculation->accepts;
    json_t *asked = checks ? asked_of(r->options, experiment) : NULL;
    const bool right = name && (!checks || calculation->accepts(asked, MESSAGE(r->record.message)));
    if (!name)
        snprintf(r->record.message, sizeof r->record.message,
                 "experiment takes a name, or all; attnbench experiment --help lists them");
    json_decref(asked);
    return right;
}

int experiment_command(const struct options *options)
{
    struct running r = {.options = options};
    const char *kernels = json_string_value(json_object_get(options->values, "kernels"));
    record_init(&r.record, options);
    process_catch_interrupts();
    int code =
        guests_load(options->plugins, options->plugin_count, kernels, 0, MESSAGE(r.record.message));
    if (code == EXIT_AS_ASKED && !accepted(&r))
        code = EXIT_USAGE;
    if (code == EXIT_AS_ASKED)
        code = run(&r);
    else if (code != EXIT_INTERRUPTED)
        progress_say("%s", r.record.message);
    journal_close(r.record.journal);
    session_free(&r.session);
    return code;
}
