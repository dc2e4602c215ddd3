/*
 * record: lines of the journal, exit codes.
 */
#include "record.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/progress.h"
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
                                         record->message, sizeof record->message);
    return record->journal || !options->output;
}

bool record_begin(struct record *record, const struct session *session, json_t *command, bool alone)
{
    record->started = clock_now();
    return record_write(record, session_line(session, command, alone));
}

/* Writes a line, if there is a journal; without one only lack of memory is an error. */
static bool add(struct record *record, json_t *line, bool to_disk)
{
    if (record->shown)
        progress_clear();
    if (record->journal)
        return journal_write(record->journal, line, to_disk, record->message,
                             sizeof record->message);
    const bool whole = line && !alloc_failed();
    if (!whole)
        snprintf(record->message, sizeof record->message, "out of memory");
    json_decref(line);
    return whole;
}

bool record_write(struct record *record, json_t *line)
{
    return add(record, line, true);
}

bool record_note(struct record *record, json_t *line)
{
    return add(record, line, false);
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

json_t *record_end(struct record *record, enum rounds_end end, const struct session_time *time,
                   int *code)
{
    json_t *line = session_end_line(end == ROUNDS_DONE, clock_now() - record->started, time);
    *code = end == ROUNDS_INTERRUPTED ? EXIT_INTERRUPTED
            : end == ROUNDS_STOPPED   ? EXIT_ENVIRONMENT
                                      : record_worse(*code, guests_code(true));
    if (end == ROUNDS_STOPPED || !record_write(record, json_incref(line))) {
        progress_say("%s", *record->message ? record->message : "out of memory");
        *code = *code == EXIT_AS_ASKED ? EXIT_ENVIRONMENT : *code;
    }
    return line;
}

int record_close(struct record *record, int code)
{
    char message[512];
    if (!report_close(message, sizeof message)) {
        progress_say("%s", message);
        code = code == EXIT_AS_ASKED ? EXIT_ENVIRONMENT : code;
    }
    journal_close(record->journal);
    return code;
}
