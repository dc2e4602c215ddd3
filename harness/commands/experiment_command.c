/*
 * experiment_command: experiments one after the other, step by step, each step in a worker.
 */
#include "experiment_command.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "experiments/computed.h"
#include "experiments/measured.h"
#include "session/guests.h"
#include "base/progress.h"
#include "results/report.h"
#include "results/report_experiment.h"
#include "session/session.h"
#include "system/process.h"

/* State of one call of experiment_command(). */
struct running {
    const struct options *options;
    struct machine *machine;
    struct journal *journal; /* NULL without --output */
    int threads;
    const struct experiment *experiment; /* the current one */
    json_t *rows;                        /* its rows so far */
    size_t steps, step;                  /* how many it has, and the current one */
    bool interrupted, failed, skipped, mismatched;
    double started;
    char message[1024];
};

/* ---- steps ----------------------------------------------------------------------------------- */

static void show_progress(const struct running *r, const char *what)
{
    char text[320];
    const double share = (double)r->step / (double)r->steps;
    const double elapsed = clock_now() - r->started;
    snprintf(text, sizeof text, "%s  %s", r->experiment->name, what);
    progress_show("", share, r->step ? elapsed * (1 - share) / share : 0, text);
}

/* Keeps a row for the report and writes it to the journal; takes ownership. */
static bool keep(struct running *r, json_t *row)
{
    json_object_set_new(row, "type", json_string("experiment"));
    json_object_set_new(row, "name", json_string(r->experiment->name));
    json_array_append(r->rows, row);
    if (r->journal)
        return journal_write(r->journal, row, r->message, sizeof r->message);
    json_decref(row);
    return true;
}

/* One step in a worker; false where the session cannot go on. */
static bool compute_step(struct running *r, json_t *step)
{
    char name[160];
    size_t i;
    json_t *row;
    struct launch launch = computed_run(r->experiment, step, r->threads, r->machine);
    experiment_label(step, name, sizeof name);
    bool going_on = !launch.interrupted;
    r->interrupted |= launch.interrupted;
    if (going_on && launch.state != CELL_OK) {
        progress_say("experiment %s: %s: %s: %s", r->experiment->name, name,
                     cell_state_name(launch.state), launch.why);
        if (launch.log)
            progress_say("%s printed:\n%s", name, launch.log);
        *(launch.state == CELL_SKIPPED ? &r->skipped : &r->failed) = true;
    } else if (going_on) {
        json_array_foreach (json_object_get(launch.answer, "rows"), i, row)
            going_on = going_on && keep(r, json_incref(row));
        progress_line("experiment %s: %s: %.2f s", r->experiment->name, name, launch.wall_s);
    }
    launch_free(&launch);
    return going_on;
}

/* ---- steps that are measured ----------------------------------------------------------------- */

static void launching(void *context, const char *what)
{
    show_progress(context, what);
}

static bool measured(void *context, json_t *row)
{
    struct running *r = context;
    if (!measured_went_well(row)) {
        const json_t *params = json_object_get(row, "params");
        const json_t *values = json_object_get(row, "values");
        progress_say("experiment %s: %s %s: %s: %s", r->experiment->name,
                     experiment_text(params, "kernel"), experiment_text(params, "problem"),
                     experiment_text(values, "state"), experiment_text(values, "why"));
        r->failed = true;
    }
    return keep(r, row);
}

/* One step's cells; false where the session cannot go on. */
static bool measure_step(struct running *r, const json_t *step)
{
    const struct measured_events events = {.if_busy = r->options->if_busy,
                                           .environment = r->experiment->environment,
                                           .context = r,
                                           .launching = launching,
                                           .row = measured};
    const double start = clock_now();
    const enum rounds_end end = measured_run(step, &events, r->message, sizeof r->message);
    r->interrupted |= end == ROUNDS_INTERRUPTED;
    if (end == ROUNDS_DONE)
        progress_line("experiment %s: %s: %.2f s", r->experiment->name,
                      experiment_text(step, "problem"), clock_now() - start);
    return end == ROUNDS_DONE;
}

/* ---- an experiment --------------------------------------------------------------------------- */

/* All steps; false where the session cannot go on. */
static bool run_steps(struct running *r, const json_t *steps)
{
    bool going_on = true;
    r->started = clock_now();
    r->steps = json_array_size(steps);
    for (r->step = 0; going_on && r->step < r->steps; r->step++) {
        json_t *step = json_array_get(steps, r->step);
        show_progress(r, "");
        going_on = r->experiment->compute ? compute_step(r, step) : measure_step(r, step);
    }
    return going_on;
}

/* All parameters of an experiment, given or standard, with the seed. */
static json_t *asked_of(const struct options *options, const struct experiment *experiment)
{
    json_t *all = options_standard(experiment->parameters, options->quick);
    json_object_update_existing(all, options->values);
    json_object_set_new(all, "seed", json_integer((json_int_t)options->seed));
    return all;
}

static bool accepts(const struct experiment *experiment, const json_t *asked, struct running *r)
{
    return !experiment->accepts || experiment->accepts(asked, r->message, sizeof r->message);
}

static bool ready(struct running *r)
{
    return !r->experiment->ready || r->experiment->ready(r->message, sizeof r->message);
}

/* The kernels that it brings; false: interrupted. */
static bool load_plugins(const struct experiment *experiment, const json_t *asked)
{
    const char *texts[OPTIONS_MAX_PLUGINS];
    json_t *plugins = experiment->plugins ? experiment->plugins(asked) : NULL, *text;
    size_t i, count = 0;
    json_array_foreach (plugins, i, text)
        if (count < OPTIONS_MAX_PLUGINS)
            texts[count++] = json_string_value(text);
    const bool loaded = guests_load(texts, count, NULL, 0);
    json_decref(plugins);
    return loaded;
}

/* The steps for the given parameters; none where this build cannot run the experiment. */
static json_t *plan_steps(struct running *r)
{
    json_t *steps = json_array(), *asked = asked_of(r->options, r->experiment);
    if (!r->experiment->compute) /* what is computed is the same on any number of threads */
        json_object_set_new(asked, "threads", json_integer(r->threads));
    bool able = accepts(r->experiment, asked, r);
    if (able && !ready(r)) {
        able = false;
        r->skipped = true;
    }
    if (able && !load_plugins(r->experiment, asked))
        r->interrupted = true;
    else if (able)
        r->experiment->plan(asked, steps);
    else
        progress_say("experiment %s: %s", r->experiment->name, r->message);
    json_decref(asked);
    return steps;
}

/* False where the session cannot go on. */
static bool run_experiment(struct running *r, const struct experiment *experiment)
{
    r->experiment = experiment;
    r->rows = json_array();
    json_t *steps = plan_steps(r);
    const bool going_on = run_steps(r, steps);
    if (json_array_size(r->rows)) {
        report_heading("experiment %s: %s", experiment->name, experiment->question);
        r->mismatched |= !experiment->report(r->rows);
    }
    json_decref(r->rows);
    json_decref(steps);
    return going_on;
}

/* ---- the session ----------------------------------------------------------------------------- */

static bool write_line(struct running *r, json_t *line)
{
    if (r->journal)
        return journal_write(r->journal, line, r->message, sizeof r->message);
    json_decref(line);
    return true;
}

static bool open_session(struct running *r, int argc, const char *const *argv)
{
    struct options options;
    struct session session = {.options = &options, .thread_counts = 1};
    json_t *command = json_array();
    json_array_append_new(command, json_string("attnbench"));
    for (int i = 0; i < argc; i++)
        json_array_append_new(command, json_string(argv[i]));
    options_init(&options);
    r->machine = machine_open(NULL, r->message, sizeof r->message);
    if (r->machine && r->options->output)
        r->journal =
            journal_create(r->options->output, r->options->force ? JOURNAL_REPLACE : JOURNAL_ONCE,
                           r->message, sizeof r->message);
    if (!r->machine || (r->options->output && !r->journal)) {
        json_decref(command);
        return false;
    }
    r->threads = r->options->team ? (int)r->options->team : machine_cores(r->machine);
    session.machine = r->machine;
    session.seed = r->options->seed;
    session.threads[0] = r->threads;
    const bool written = write_line(r, session_line(&session, command, false));
    json_decref(command);
    return written;
}

static bool run_all(struct running *r)
{
    const struct experiment *named = experiment_find(r->options->subject), *experiment;
    bool going_on = true;
    for (size_t i = 0; going_on && (experiment = experiment_at(i)); i++)
        if (named ? named == experiment : !experiment->run)
            going_on = run_experiment(r, experiment);
    return going_on;
}

static int run(struct running *r, int argc, const char *const *argv)
{
    const double start = clock_now();
    report_open(r->options->output && strcmp(r->options->output, "-") == 0);
    bool right = open_session(r, argc, argv);
    if (right)
        right = run_all(r) || r->interrupted;
    progress_clear();
    const struct session_time time = {.timing_s = clock_now() - start};
    if (right)
        right = write_line(r, session_end_line(!r->interrupted, time.timing_s, &time));
    right = right && report_close(r->message, sizeof r->message);
    if (!right)
        progress_say("%s", r->message);
    else if (r->interrupted)
        progress_say("interrupted; what was done is kept");
    return !right                       ? EXIT_ENVIRONMENT
           : r->interrupted             ? EXIT_INTERRUPTED
           : r->failed || r->mismatched ? EXIT_KERNEL
           : r->skipped                 ? EXIT_ENVIRONMENT
                                        : guests_code(true);
}

/* Checks of the arguments that only the experiment itself can make. */
static bool accepted(struct running *r)
{
    const char *name = r->options->subject;
    const struct experiment *experiment = name ? experiment_find(name) : NULL;
    json_t *asked = experiment ? asked_of(r->options, experiment) : NULL;
    const bool right = name && (!experiment || accepts(experiment, asked, r));
    if (!name)
        snprintf(r->message, sizeof r->message,
                 "experiment takes a name, or all; attnbench experiment --help lists them");
    json_decref(asked);
    return right;
}

int experiment_command(const struct options *options, int argc, const char *const *argv)
{
    struct running r = {.options = options};
    int code = EXIT_USAGE;
    process_catch_interrupts();
    const char *kernels = json_string_value(json_object_get(options->values, "kernels"));
    if (!guests_load(options->plugins, options->plugin_count, kernels, 0))
        return EXIT_INTERRUPTED;
    if (accepted(&r))
        code = run(&r, argc, argv);
    else
        progress_say("%s", r.message);
    journal_close(r.journal);
    if (r.machine)
        machine_close(r.machine);
    return code;
}
