/*
 * record: lines of the journal, exit codes.
 */
#include "record.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/build.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/progress.h"
#include "base/random.h"
#include "guests.h"
#include "results/report.h"

void record_init(struct record *record, const struct options *options)
{
    *record = (struct record){.shown = options->output && strcmp(options->output, "-") == 0};
    report_open(record->shown);
}

bool record_create(struct record *record, const struct options *options, enum journal_over over)
{
    if (options->output)
        record->journal = journal_create(options->output, options->force ? JOURNAL_REPLACE : over,
                                         MESSAGE(record->message));
    return record->journal || !options->output;
}

static json_t *settings(const struct session *s, bool alone)
{
    const struct setting *how = &s->options->setting;
    return json_pack("{s:I, s:f, s:b, s:I, s:o, s:s, s:s, s:b, s:s, s:f, s:b}", "seed",
                     (json_int_t)s->seed, "seconds", s->seconds, "limited", (int)s->limited,
                     "launches", (json_int_t)s->options->launches, "threads",
                     number_integers(s->threads, s->thread_counts), "placement",
                     machine_placements[how->placement], "memory", machine_memories[how->memory],
                     "huge_pages", (int)how->huge_pages, "cache", how->cold ? "cold" : "warm",
                     "timeout_s", s->options->timeout_s, "alone", (int)alone);
}

/* The session's first line. */
static json_t *first_line(const struct session *session, json_t *command, bool alone)
{
    char now[32], id[32];
    clock_utc(now);
    snprintf(id, sizeof id, "%016llx",
             (unsigned long long)random_key(session->seed, (uint64_t)getpid()));
    return json_pack("{s:s, s:s, s:s, s:s, s:s*, s:O, s:o, s:o, s:o}", "schema", JOURNAL_SCHEMA,
                     "type", "session", "id", id, "started", now, "experiment",
                     session->options->experiment, "command", command, "machine",
                     machine_describe(session->machine), "build", build_describe(), "settings",
                     settings(session, alone));
}

bool record_begin(struct record *record, const struct session *session, json_t *command, bool alone)
{
    record->started = clock_now();
    return record_write(record, first_line(session, command, alone), true);
}

bool record_write(struct record *record, json_t *line, bool to_disk)
{
    if (record->shown)
        progress_clear();
    if (record->journal)
        return journal_write(record->journal, line, to_disk, MESSAGE(record->message));
    const bool whole = line && !alloc_failed();
    if (!whole)
        snprintf(record->message, sizeof record->message, "out of memory");
    json_decref(line);
    return whole;
}

int record_code(enum cell_state state)
{
    return cell_state_is_bad(state) ? EXIT_KERNEL
           : state == CELL_SKIPPED  ? EXIT_ENVIRONMENT
                                    : EXIT_AS_ASKED;
}

int record_worse(int a, int b)
{
    return a == EXIT_AS_ASKED || b == EXIT_KERNEL ? b : a;
}

double record_worked_s(const struct record *record)
{
    const struct record_time *time = &record->time;
    return time->preparing_s + time->checking_s + time->timing_s + time->probing_s;
}

/* The session's last line. */
static json_t *last_line(const struct record *record, bool complete)
{
    const struct record_time *time = &record->time;
    const double wall_s = clock_now() - record->started;
    return json_pack("{s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f}", "type", "end", "complete",
                     (int)complete, "wall_s", wall_s, "preparing_s", time->preparing_s,
                     "checking_s", time->checking_s, "timing_s", time->timing_s, "probing_s",
                     time->probing_s, "overhead_s", wall_s - record_worked_s(record));
}

json_t *record_end(struct record *record, enum session_end end, int *code)
{
    json_t *line = last_line(record, end == SESSION_DONE);
    *code = end == SESSION_INTERRUPTED ? EXIT_INTERRUPTED
            : end == SESSION_STOPPED   ? EXIT_ENVIRONMENT
                                       : record_worse(*code, guests_code(true));
    if (end == SESSION_STOPPED || !record_write(record, json_incref(line), true)) {
        progress_say("%s", *record->message ? record->message : "out of memory");
        *code = *code == EXIT_AS_ASKED ? EXIT_ENVIRONMENT : *code;
    }
    return line;
}
