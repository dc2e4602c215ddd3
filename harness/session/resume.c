/*
 * resume: options, machine and cells from a results file.
 */
#include "resume.h"

#include <stdlib.h>

#include "base/members.h"
#include "base/build.h"
#include "base/printable.h"
#include "results/fields.h"

bool resume_options(const struct journal *journal, struct options *options, json_t **command,
                    struct message message)
{
    json_t *all = json_deep_copy(json_object_get(journal_session(journal), "command"));
    for (int i = 1; i < options->argument_count; i++)
        json_array_append_new(all, json_string(options->arguments[i]));
    const size_t count = json_array_size(all);
    const char **texts = calloc(count + 1, sizeof *texts);
    size_t read = 0; /* words before the first that is no string */
    while (texts && read < count && (texts[read] = json_string_value(json_array_get(all, read))))
        read++;
    struct options merged;
    options_init(&merged);
    if (count)
        message_print(message, "%s: word %zu of its command is no text", options->resume, read + 1);
    else
        message_print(message, "%s names no command", options->resume);
    const bool parsed = read && read == count && options_parse(&merged, (int)count, texts, message);
    const bool same = parsed && merged.command == options->command;
    if (parsed && !same)
        message_print(message, "%s was written by attnbench %s", options->resume, texts[0]);
    free(texts);
    merged.arguments = options->arguments;
    merged.argument_count = options->argument_count;
    if (!parsed)
        printable_tidy(message.text, message.size);
    const json_t *settings = json_object_get(journal_session(journal), "settings");
    if (same && merged.seed == OPTIONS_NOT_GIVEN && merged.command == COMMAND_CHECK)
        merged.seed = /* drawn problems depend on it */
            (uint64_t)json_integer_value(json_object_get(settings, "seed"));
    if (same) {
        *options = merged;
        *command = all;
    } else {
        json_decref(all);
    }
    return same;
}

bool resume_same_machine(const struct journal *journal, const struct session *session,
                         struct message message)
{
    json_t *here = machine_describe(session->machine);
    const json_t *there = json_object_get(journal_session(journal), "machine");
    const bool same =
        json_equal(json_object_get(here, "fingerprint"), json_object_get(there, "fingerprint"));
    const char *cpu = member_text(there, "cpu");
    if (!same)
        message_print(message, "%s was begun on another machine (%s)", session->options->resume,
                      *cpu ? cpu : "unknown");
    json_decref(here);
    return same;
}

static void restore_row(struct cell *cell, const json_t *row, enum cell_state state)
{
    cell_end(cell, state, "%s", field_word(row, FIELD_WHY));
    cell->failed_at = (int)json_integer_value(field_json(row, FIELD_FAILED_AT));
    cell->check = json_deep_copy(field_json(row, FIELD_CHECK));
    cell->row = json_deep_copy(row);
    cell_set_work(cell, row);
}

/* Restores the check and the launches that the same build recorded for an unfinished cell. */
static void restore_launches(struct cell *cell, json_t *check, json_t *launches)
{
    const size_t count = json_array_size(launches);
    cell->check = json_incref(check);
    if (!count)
        return;
    const json_t *last = json_array_get(launches, count - 1);
    json_decref(cell->launches);
    cell->launches = json_copy(launches);
    cell->cost_s = json_number_value(json_object_get(last, "wall_s"));
    cell_set_work(cell, last);
}

/* Fails the cell if its variant failed on another number of threads in a row of the file, which this session
 * need not have as a cell. */
static void restore_failure(struct cell *cell, const json_t *row)
{
    enum cell_state state = CELL_FAILED;
    cell_state_parse(field_word(row, FIELD_STATE), &state);
    cell_inherit(cell, state, (int)json_integer_value(field_json(row, FIELD_THREADS)),
                 field_word(row, FIELD_WHY));
}

bool resume_cells(const struct journal *journal, struct session *session)
{
    json_t *build = build_describe();
    const bool same = json_equal(build, json_object_get(journal_session(journal), "build"));
    json_decref(build);
    for (size_t i = 0; i < session->cell_count; i++) {
        struct cell *cell = &session->cells[i];
        char identity[JOURNAL_IDENTITY];
        json_t *fields = cell_identity(cell);
        journal_identity(fields, identity);
        const json_t *row = journal_find(journal, "cell", identity);
        const json_t *wrong = journal_find_wrong(journal, fields);
        json_decref(fields);
        enum cell_state state = CELL_SKIPPED; /* run again: memory or input may be there now */
        if (row)
            cell_state_parse(field_word(row, FIELD_STATE), &state);
        if (state != CELL_SKIPPED) {
            restore_row(cell, row, state);
        } else if (same && !cell->done) {
            restore_launches(cell, journal_find(journal, "check", identity),
                             journal_find(journal, "launch", identity));
        }
        if (wrong && (!cell->done || cell->state == CELL_OK))
            restore_failure(cell, wrong);
    }
    return !same;
}
