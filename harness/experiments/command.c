/*
 * command: experiments one after the other, step by step, each step in a worker.
 */
#include "experiments/command.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "experiments/asked.h"
#include "launch.h"
#include "progress.h"
#include "report.h"
#include "report_experiment.h"
#include "session.h"

/* Nothing here runs for long; a step that does not end is given up. */
#define DEADLINE_S 900.0

/* What one call of experiment_command() holds together. */
struct running {
    struct asked asked;
    struct machine *machine;
    struct journal *journal; /* NULL without --output */
    int threads;
    bool interrupted, failed, mismatched;
    double started;
    char message[1024];
};

/* ---- help ------------------------------------------------------------------------------------ */

void experiment_print_list(FILE *out)
{
    const struct experiment *experiment;
    for (size_t i = 0; (experiment = experiment_at(i)); i++)
        fprintf(out, "  %-16s %s\n", experiment->name, experiment->question);
}

/* Lines of a text, indented. */
static void print_indented(FILE *out, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_common(FILE *out)
{
    parameters_print(out, asked_parameters);
    fprintf(out, "  %-19s %s\n  %-19s %s\n  %-19s %s\n", "--quick", "smaller numbers, in seconds",
            "--output FILE", "results as JSON Lines; - for standard output", "--help", "this page");
}

void experiment_print_help(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "usage: attnbench experiment %s [PARAMETER]... [--output FILE]\n\n",
            experiment ? experiment->name : "NAME|all");
    if (experiment) {
        fprintf(out, "Question\n  %s\n\nMethod\n", experiment->question);
        print_indented(out, experiment->method);
        fprintf(out, "\nSource\n");
        print_indented(out, experiment->source);
        fprintf(out, "\nParameters\n");
        parameters_print(out, experiment->parameters);
    } else {
        fprintf(out, "Experiments about attention itself; `all` runs each of\n\n");
        experiment_print_list(out);
        fprintf(out, "\nattnbench experiment NAME --help has its question, method and source.\n\n");
    }
    print_common(out);
    fprintf(out, "\nExit status: 0 done, 1 a number differs from one that is known or a step "
                 "failed,\n2 usage, 3 input, output or environment, 130 interrupted.\n");
}

/* ---- steps ----------------------------------------------------------------------------------- */

static struct launch launch_step(const struct running *r, const struct experiment *experiment,
                                 const char *step)
{
    struct protocol_request request = {
        .action = PROTOCOL_EXPERIMENT,
        .threads = r->threads,
        .team = r->threads,
        .placement = r->threads <= machine_cores(r->machine) ? PLACEMENT_CORES : PLACEMENT_NONE};
    attn_problem_init(&request.c.problem);
    for (size_t i = 0; i < PROTOCOL_FILE_COUNT; i++)
        request.files[i] = -1;
    snprintf(request.experiment, sizeof request.experiment, "%s", experiment->name);
    snprintf(request.step, sizeof request.step, "%s", step);
    return launch_worker(&request, DEADLINE_S);
}

/* What a step is about: its texts and numbers, without its lists. */
static void label(const json_t *step, char *text, size_t size)
{
    const char *key;
    const json_t *value;
    size_t n = 0;
    *text = 0;
    json_object_foreach ((json_t *)step, key, value) {
        if (json_is_string(value) && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? " " : "",
                                  json_string_value(value));
        if (json_is_integer(value) && n < size)
            n += (size_t)snprintf(text + n, size - n, " %s=%" JSON_INTEGER_FORMAT, key,
                                  json_integer_value(value));
    }
}

/* Keeps the rows of an answer, for the journal and for the report. */
static bool keep(struct running *r, const struct experiment *experiment, const json_t *answer,
                 json_t *rows)
{
    size_t i;
    json_t *row;
    json_array_foreach (json_object_get(answer, "rows"), i, row) {
        json_object_set_new(row, "type", json_string("experiment"));
        json_object_set_new(row, "name", json_string(experiment->name));
        json_array_append(rows, row);
        if (r->journal &&
            !journal_write(r->journal, json_incref(row), r->message, sizeof r->message))
            return false;
    }
    return true;
}

/* One step; false where the session cannot go on. */
static bool run_step(struct running *r, const struct experiment *experiment, const json_t *step,
                     json_t *rows)
{
    char *text = json_dumps(step, JSON_COMPACT), name[160];
    struct launch launch = {.state = CELL_SKIPPED, .why = "a step is too long"};
    if (text && strlen(text) < PROTOCOL_STEP)
        launch = launch_step(r, experiment, text);
    bool going_on = true;
    label(step, name, sizeof name);
    if (launch.interrupted) {
        r->interrupted = true;
        going_on = false;
    } else if (launch.state != CELL_OK) {
        progress_say("experiment %s: %s: %s: %s", experiment->name, name,
                     cell_state_name(launch.state), launch.why);
        r->failed = true;
    } else {
        going_on = keep(r, experiment, launch.answer, rows);
        progress_line("experiment %s: %s: %.2f s", experiment->name, name, launch.wall_s);
    }
    json_decref(launch.answer);
    free(text);
    return going_on;
}

static void show_progress(const struct running *r, const struct experiment *experiment, size_t done,
                          size_t count)
{
    const double share = (double)done / (double)count;
    const double elapsed = clock_now() - r->started;
    progress_show(share, done ? elapsed * (1 - share) / share : 0, experiment->name);
}

/* An experiment; false where the session cannot go on. */
static bool run_experiment(struct running *r, const struct experiment *experiment)
{
    json_t *asked = asked_of(&r->asked, experiment);
    json_t *steps = experiment->plan(asked, r->message, sizeof r->message);
    json_t *rows = json_array();
    const size_t count = json_array_size(steps);
    bool going_on = steps;
    r->started = clock_now();
    for (size_t i = 0; going_on && i < count; i++) {
        show_progress(r, experiment, i, count);
        going_on = run_step(r, experiment, json_array_get(steps, i), rows);
    }
    if (json_array_size(rows)) {
        report_heading("experiment %s: %s", experiment->name, experiment->question);
        r->mismatched |= !experiment->report(rows);
    }
    json_decref(rows);
    json_decref(steps);
    json_decref(asked);
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
    if (r->machine && r->asked.output)
        r->journal = journal_create(r->asked.output, r->message, sizeof r->message);
    if (!r->machine || (r->asked.output && !r->journal)) {
        json_decref(command);
        return false;
    }
    r->threads = r->asked.threads ? r->asked.threads : machine_cores(r->machine);
    session.machine = r->machine;
    session.seed = (uint64_t)r->asked.seed;
    session.threads[0] = r->threads;
    const bool written = write_line(r, session_line(&session, command, false));
    json_decref(command);
    return written;
}

static bool run_all(struct running *r)
{
    const struct experiment *experiment;
    bool going_on = true;
    for (size_t i = 0; going_on && (experiment = experiment_at(i)); i++)
        if (!r->asked.experiment || r->asked.experiment == experiment)
            going_on = run_experiment(r, experiment);
    return going_on;
}

static int run(struct running *r, int argc, const char *const *argv)
{
    process_catch_interrupts();
    const double start = clock_now();
    report_open(r->asked.output && strcmp(r->asked.output, "-") == 0);
    bool right = open_session(r, argc, argv);
    if (right)
        right = run_all(r) || r->interrupted;
    progress_clear();
    const struct session_time time = {.working_s = clock_now() - start};
    if (right)
        right = write_line(r, session_end_line(!r->interrupted, time.working_s, &time));
    right = right && report_close(r->message, sizeof r->message);
    if (!right)
        progress_say("%s", r->message);
    else if (r->interrupted)
        progress_say("interrupted; what was done is kept");
    return !right                       ? EXIT_ENVIRONMENT
           : r->interrupted             ? EXIT_INTERRUPTED
           : r->failed || r->mismatched ? EXIT_KERNEL
                                        : EXIT_AS_ASKED;
}

int experiment_command(int argc, const char *const *argv)
{
    struct running r = {0};
    int code = EXIT_USAGE;
    if (!asked_parse(&r.asked, argc, argv, r.message, sizeof r.message)) {
        progress_say("%s", r.message);
    } else if (r.asked.help) {
        experiment_print_help(stdout, r.asked.experiment);
        code = fflush(stdout) == 0 ? EXIT_AS_ASKED : EXIT_ENVIRONMENT;
    } else {
        code = run(&r, argc, argv);
    }
    asked_free(&r.asked);
    journal_close(r.journal);
    if (r.machine)
        machine_close(r.machine);
    return code;
}
