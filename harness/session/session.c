/*
 * session: plans cases and cells from options.
 */
#include "base/alloc.h"
#include "session_needs.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "problem/batch_cases.h"
#include "problem/draw.h"
#include "problem/model_cases.h"
#include "system/memory_file.h"

#define DRAWN_PROBLEMS 500 /* of a check without other cases */

/* The suites that the session's cases are from; NULL: it has problems alone. */
static const char *suites_of(const struct options *o)
{
    return o->suite || o->problem_count || o->model ? o->suite
           : o->invariant                           ? "invariance"
           : o->command == COMMAND_CHECK            ? "conformance"
                                                    : "default";
}

/* Draws problems for a check that selects no others, or with --draw. */
static bool draw_cases(struct session *session, struct message message)
{
    const struct options *o = session->options;
    const bool selects = o->suite || o->problem_count || o->model || o->cases;
    const uint64_t draws = o->draws != OPTIONS_NOT_GIVEN ? o->draws
                           : o->command == COMMAND_CHECK && !selects && !o->invariant
                               ? DRAWN_PROBLEMS
                               : 0;
    for (uint64_t n = 0; n < draws; n++) {
        struct problem_case c;
        const char *why;
        draw_case(&c, session->seed, n, DRAW_WORK);
        if (attn_problem_valid(&c.problem, &why) && !cases_append(&session->cases, &c, &why))
            return refuse(message, "--draw: %s", why);
    }
    return true;
}

static bool plan_cases(struct session *session, struct message message)
{
    const struct options *o = session->options;
    const bool batches = o->batch && o->problem_count && !o->model; /* of the problems */
    const struct model_asked asked = {o->model, o->prefill, o->decode, batches ? NULL : o->batch};
    const char *suites = suites_of(o);
    for (size_t i = 0; i < o->problem_count; i++)
        if (!(batches ? batch_cases_add(&session->cases, o->problems[i], o->batch, message)
                      : cases_add_problem(&session->cases, o->problems[i], message)))
            return false;
    if (!model_cases_add(&session->cases, &asked, message))
        return false;
    if (suites && !cases_load(&session->cases, suites, message))
        return false;
    if (o->cases && !cases_select(&session->cases, o->cases, message))
        return false;
    session->first_drawn = session->cases.count;
    return draw_cases(session, message);
}

int session_plan(struct session *session, const struct options *options, struct message message)
{
    *session = (struct session){.options = options, .seed = options->seed};
    if (options->seed == OPTIONS_NOT_GIVEN)
        session->seed = (uint64_t)(clock_now() * 1e9) & INT64_MAX;
    session->machine = machine_open(NULL, message);
    if (!session->machine)
        return EXIT_ENVIRONMENT;
    if (!session_settings_parse(session, message) || !session_threads_parse(session, message) ||
        !plan_cases(session, message) || !session_cells_plan(session, message))
        return alloc_failed() ? EXIT_ENVIRONMENT : EXIT_USAGE;
    session->limited = options->seconds > 0 || !options->launches;
    session->seconds = options->seconds > 0 ? options->seconds
                                            : session_needs_seconds(session, suites_of(options));
    return EXIT_AS_ASKED;
}

void session_free(struct session *session)
{
    for (size_t i = 0; i < session->cell_count; i++)
        cell_free(&session->cells[i]);
    free(session->cells);
    cases_free(&session->cases);
    if (session->machine)
        machine_close(session->machine);
}

int session_topology(const struct session *session)
{
    char *xml = machine_export(session->machine);
    const int fd = xml ? memory_file_create("attnbench-topology") : -1;
    const bool written = fd >= 0 && write(fd, xml, strlen(xml)) == (ssize_t)strlen(xml);
    free(xml);
    const int lent = written ? memory_file_freeze(fd) : -1;
    if (fd >= 0)
        close(fd);
    return lent;
}
