/*
 * run: a session, case by case.
 *
 * This process starts no thread and runs no kernel.  It plans, starts one worker per launch, sleeps while the
 * worker measures, and writes its answers to the journal.
 */
#include "commands.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/members.h"
#include "problem/outputs.h"
#include "base/progress.h"
#include "results/report.h"
#include "session/guests.h"
#include "session/resume.h"
#include "session/rounds.h"
#include "system/memory_file.h"
#include "system/process.h"

/* State of one call of run_command(). */
struct run {
    struct options options;
    struct session session;
    struct record record;
    json_t *command;  /* arguments, for the journal */
    struct lock lock; /* of the machine */
    json_t *noise;    /* lines of type noise, from twins */
    struct session_needs needs;
    size_t at;          /* index of the current case */
    size_t simplified;  /* failing drawn problems that were simplified */
    const char *wisdom; /* output file of tune */
    double put_off_s;   /* seconds of checks, which the time asked for does not include */
};

static const char *command_name(const struct run *run)
{
    return run->options.command == COMMAND_CHECK ? "check" : "run";
}

/* ---- the session ----------------------------------------------------------------------------- */

/* Prints the largest difference between two kernels on a case, and writes it to the journal. */
static bool compare_outputs(struct run *run, const struct rounds *rounds)
{
    size_t slots[OUTPUTS_MAX], n = 0;
    struct outputs_difference difference;
    for (size_t i = 0; i < rounds->count && n < OUTPUTS_MAX; i++)
        if (rounds->cells[i].state == CELL_OK && rounds->cells[i].check)
            slots[n++] = i;
    if (n < 2 ||
        !outputs_compare(rounds->outputs, &rounds->cells[0].c->problem, slots, n, &difference) ||
        difference.a == difference.b)
        return true;
    const struct cell *a = &rounds->cells[slots[difference.a]];
    const struct cell *b = &rounds->cells[slots[difference.b]];
    report_difference(difference.largest, a, b);
    return record_write(&run->record,
                        json_pack("{s:s, s:f, s:[o, o]}", "type", "difference", "largest",
                                  difference.largest, "between", cell_identity(a),
                                  cell_identity(b)),
                        true);
}

/* Writes the noise measured by the case's twin to the journal, and keeps it for the summary. */
static bool note_noise(struct run *run, const struct rounds *rounds)
{
    json_t *noise = rounds_twin_noise(rounds);
    if (!noise)
        return true;
    json_array_append(run->noise, noise);
    return record_write(&run->record, noise, true);
}

/* Whether an interrupted case has a row to show. */
static bool has_row(const struct rounds *rounds)
{
    for (size_t i = 0; i < rounds->count; i++)
        if (rounds->cells[i].row && !report_absent_all(&rounds->cells[i], 1))
            return true;
    return false;
}

static enum session_end run_case(struct run *run, int topology)
{
    struct session *session = &run->session;
    size_t first, count;
    session_cells_of(session, run->at, &first, &count);
    const double left = session->seconds + run->put_off_s - (clock_now() - run->record.started);
    const bool check = run->options.command == COMMAND_CHECK;
    const bool drawn = session_drew(session, session->cells[first].c);
    struct rounds rounds = {
        .session = session,
        .record = &run->record,
        .needed_s = run->needs.seconds,
        .action = check ? PROTOCOL_CHECK : PROTOCOL_MEASURE,
        .own_input = drawn || run->options.checked == CHECKED_CASE,
        .command = run->options.invariant ? "check --invariant" : command_name(run),
        .topology = topology,
        .cells = &session->cells[first],
        .count = count,
        .until = session->limited ? clock_now() + session_needs_share(session, first, count, left)
                                  : INFINITY,
        .outputs = check && !drawn ? memory_file_create("attnbench-outputs") : -1,
    };
    enum session_end end = rounds_run(&rounds);
    run->put_off_s += rounds.put_off_s;
    const bool told = end == SESSION_DONE || (end == SESSION_INTERRUPTED && has_row(&rounds));
    if (told && !(check && report_absent_all(rounds.cells, count)))
        run_tell_case(session, topology, rounds.cells, count, &run->simplified);
    if (end == SESSION_DONE && !(drawn   ? true
                                 : check ? compare_outputs(run, &rounds)
                                         : note_noise(run, &rounds)))
        end = SESSION_STOPPED;
    cell_free(&rounds.twin);
    if (rounds.outputs >= 0)
        close(rounds.outputs);
    return end;
}

static enum session_end run_cases(struct run *run)
{
    enum session_end end = SESSION_DONE;
    const int topology = session_topology(&run->session);
    for (run->at = 0; end == SESSION_DONE && run->at < run->session.cases.count; run->at++)
        end = process_interrupted() ? SESSION_INTERRUPTED : run_case(run, topology);
    if (topology >= 0)
        close(topology);
    return end;
}

/* The exit code of the session, from the states of its cells. */
static int exit_code(const struct session *session)
{
    int code = EXIT_AS_ASKED;
    for (size_t i = 0; i < session->cell_count; i++)
        if (session->cells[i].done)
            code = record_worse(code, record_code(session->cells[i].state));
    return code;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* Reads options and the journal of --resume, and plans cells; returns EXIT_AS_ASKED or the code to end
 * with. */
static int begin(struct run *run)
{
    const struct message message = MESSAGE(run->record.message);
    const char *resumed = run->options.resume;
    if (resumed) {
        run->record.journal = journal_resume(resumed, message);
        if (!run->record.journal)
            return EXIT_ENVIRONMENT;
        if (*message.text)
            progress_say("%s", message.text);
        if (!resume_options(run->record.journal, &run->options, &run->command, message))
            return EXIT_USAGE;
        run->options.output = run->options.resume = resumed;
    } else {
        run->command = options_arguments(&run->options);
    }
    const struct options *o = &run->options;
    if (o->command == COMMAND_TUNE && !tune_begin(&run->options, &run->wisdom, message))
        return EXIT_USAGE;
    if (o->wisdom && !tune_load(o->wisdom, message))
        return EXIT_ENVIRONMENT;
    const int loaded = guests_load(o->plugins, o->plugin_count, o->kernel, o->timeout_s, message);
    if (loaded != EXIT_AS_ASKED)
        return loaded;
    const int planned = session_plan(&run->session, &run->options, message);
    if (planned != EXIT_AS_ASKED)
        return planned;
    if (resumed && !resume_same_machine(run->record.journal, &run->session, message))
        return EXIT_USAGE;
    if (resumed && resume_cells(run->record.journal, &run->session))
        progress_say("%s was begun by another build: unfinished cells start over", resumed);
    run->needs = session_needs(&run->session);
    return EXIT_AS_ASKED;
}

/* Records in the journal how the session ended, and prints it. */
static int finish(struct run *run, enum session_end end)
{
    int code = exit_code(&run->session);
    const bool check = run->options.command == COMMAND_CHECK;
    json_t *ended = record_end(&run->record, end, &code);
    if (check)
        report_absent_cases(run->session.cells, run->session.cell_count);
    if (run->session.first_drawn < run->session.cases.count)
        report_absent_drawn(run->session.cases.count - run->session.first_drawn, run->session.seed);
    const double wall_s = end == SESSION_DONE ? member_number(ended, "wall_s") : NAN;
    report_summary(run->session.cells, run->session.cell_count, wall_s);
    report_session_noise(run->noise);
    if (record_worked_s(&run->record) > 0)
        report_session_time(ended);
    if (!check)
        report_passes(&run->session.cases, run->session.cells, run->session.cell_count);
    json_decref(ended);
    if (end == SESSION_INTERRUPTED && run->record.journal)
        progress_say("interrupted; go on with: attnbench %s --resume %s", command_name(run),
                     run->options.output);
    else if (end == SESSION_INTERRUPTED)
        progress_say("interrupted; with --output FILE a session can be resumed");
    char message[512];
    if (run->wisdom && end == SESSION_DONE &&
        !tune_write(run->session.cells, run->session.cell_count, run->wisdom, MESSAGE(message))) {
        progress_say("%s", message);
        code = code == EXIT_AS_ASKED ? EXIT_ENVIRONMENT : code;
    }
    /* A check fails unless each named kernel was checked; a run only where nothing was measured. */
    const bool counts = check || report_absent_all(run->session.cells, run->session.cell_count);
    if (counts && code == EXIT_AS_ASKED && run_tell_missing(&run->session) && check)
        code = EXIT_KERNEL;
    return code;
}

/* Takes the machine's lock.  If another session holds it, prints which, then waits or goes on without it, by
 * if_busy.  *alone: whether the lock was taken.  False: interrupted. */
static bool take_turn(struct lock *lock, enum if_busy if_busy, bool *alone)
{
    char owner[600];
    enum lock_state state;
    bool said = false;
    while ((state = lock_try(lock, lock_path(), "attnbench run", owner, sizeof owner)) ==
               LOCK_HELD &&
           if_busy == IF_BUSY_WAIT && !process_interrupted()) {
        if (!said)
            progress_say("%s is measuring on this machine: waiting (--if-busy go-on measures "
                         "beside it)",
                         owner);
        said = true;
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    *alone = state == LOCK_TAKEN;
    if (state == LOCK_UNUSABLE)
        progress_say("cannot tell whether other sessions measure on this machine: %s", owner);
    if (state == LOCK_HELD && if_busy == IF_BUSY_GO_ON)
        progress_say("%s is measuring on this machine too: expect noise", owner);
    return !process_interrupted();
}

/* Creates the journal, locks the machine if the session measures, then begins the session.  Returns
 * EXIT_AS_ASKED or the code to end with. */
static int enter(struct run *run)
{
    const bool check = run->options.command == COMMAND_CHECK;
    bool alone = false;
    if (!run->options.resume && !record_create(&run->record, &run->options, JOURNAL_RESUMABLE))
        return EXIT_ENVIRONMENT;
    if (!check && run->needs.cells && !take_turn(&run->lock, run->options.if_busy, &alone))
        return EXIT_INTERRUPTED;
    beforehand_tell(&run->session, &run->needs);
    return record_begin(&run->record, &run->session, run->command, alone) ? EXIT_AS_ASKED
                                                                          : EXIT_ENVIRONMENT;
}

int run_command(const struct options *options)
{
    struct run run = {.options = *options, .lock.fd = -1, .noise = json_array()};
    record_init(&run.record, options);
    process_catch_interrupts();
    int code = begin(&run);
    const bool dry = code == EXIT_AS_ASKED && run.options.dry_run;
    if (dry) {
        char text[BEFOREHAND_TEXT];
        beforehand_text(&run.session, &run.needs, text);
        const bool ready = beforehand_files(&run.session, MESSAGE(run.record.message));
        code = puts(text) >= 0 && ready ? EXIT_AS_ASKED : EXIT_ENVIRONMENT;
    } else if (code == EXIT_AS_ASKED) {
        code = enter(&run);
    }
    if (code == EXIT_AS_ASKED && !dry)
        code = finish(&run, run_cases(&run));
    else if (code != EXIT_AS_ASKED && code != EXIT_INTERRUPTED)
        progress_say("%s", run.record.message);
    journal_close(run.record.journal);
    lock_release(&run.lock);
    session_free(&run.session);
    json_decref(run.command);
    json_decref(run.noise);
    return code;
}
