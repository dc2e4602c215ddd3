/*
 * session_lines: the first and the last line of a session in the journal.
 */
#include <stdio.h>
#include <unistd.h>

#include "base/build.h"
#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "session.h"

static json_t *settings(const struct session *s, bool alone)
{
    return json_pack("{s:I, s:f, s:b, s:I, s:o, s:s, s:s, s:b, s:s, s:f, s:b}", "seed",
                     (json_int_t)s->seed, "seconds", s->seconds, "limited", (int)s->limited,
                     "launches", (json_int_t)s->options->launches, "threads",
                     integers_json(s->threads, s->thread_counts), "placement",
                     machine_placements[s->options->placement], "memory",
                     machine_memories[s->options->memory], "huge_pages",
                     (int)s->options->huge_pages, "cache", s->options->cold ? "cold" : "warm",
                     "timeout_s", s->options->timeout_s, "alone", (int)alone);
}

json_t *session_line(const struct session *session, json_t *command, bool alone)
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

double session_worked(const struct session_time *time)
{
    return time->preparing_s + time->checking_s + time->timing_s + time->probing_s;
}

json_t *session_end_line(bool complete, double wall_s, const struct session_time *time)
{
    return json_pack("{s:s, s:b, s:f, s:f, s:f, s:f, s:f, s:f}", "type", "end", "complete",
                     (int)complete, "wall_s", wall_s, "preparing_s", time->preparing_s,
                     "checking_s", time->checking_s, "timing_s", time->timing_s, "probing_s",
                     time->probing_s, "overhead_s", wall_s - session_worked(time));
}
