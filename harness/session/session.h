/*
 * session: the plan of a run, made before anything is measured.
 */
#pragma once

#include "base/shell_words.h"
#include "results/cell.h"
#include "check/check.h"
#include "options.h"

#define SESSION_MAX_THREAD_COUNTS CHECK_COUNTS
#define SESSION_MAX_SETTINGS 2

/* Exit codes of the program. */
enum {
    EXIT_AS_ASKED = 0,
    EXIT_KERNEL = 1, /* a kernel failed, crashed, timed out or was implausible */
    EXIT_USAGE = 2,
    EXIT_ENVIRONMENT = 3, /* input, output, memory */
    EXIT_INTERRUPTED = 130
};

struct session {
    const struct options *options;
    struct machine *machine; /* owned */
    struct case_list cases;  /* owned */
    size_t first_drawn;      /* cases from this one on were drawn from the seed */
    struct cell *cells;      /* owned; in the order of cases */
    size_t cell_count;
    int threads[SESSION_MAX_THREAD_COUNTS];
    size_t thread_counts;
    struct setting settings[SESSION_MAX_SETTINGS]; /* base and new; or the only one */
    size_t setting_count;
    struct session_words { /* memory of the settings' variables */
        struct shell_words words;
        char environment[SETTING_ENVIRONMENT];
    } words[SESSION_MAX_SETTINGS];
    uint64_t seed;
    double seconds; /* its length, or an estimate, without checks that do not count */
    bool limited;   /* whether the session ends by `seconds`: not with --launches alone */
};

/* Loads cases, selects kernels, lists the cells, and ends those that cannot run.  Returns EXIT_AS_ASKED, or
 * another code and fills message. */
int session_plan(struct session *session, const struct options *options, struct message message);
/* Steps of session_plan(), each in a file of its name. */
bool session_settings_parse(struct session *session, struct message message);
bool session_threads_parse(struct session *session, struct message message);
bool session_cells_plan(struct session *session, struct message message);
void session_free(struct session *session);

/* Whether the case was drawn at random. */
static inline bool session_drew(const struct session *session, const struct problem_case *c)
{
    const struct problem_case *items = session->cases.items;
    return c >= items + session->first_drawn && c < items + session->cases.count;
}

/* Cells [first, first + count) belong to case number `index`. */
void session_cells_of(const struct session *session, size_t index, size_t *first, size_t *count);

/* A memory file with the machine's topology, so that workers need not discover it; -1: there is none. */
int session_topology(const struct session *session);

/* How the launches of a case, or a session, ended; SESSION_STOPPED: the journal cannot be written. */
enum session_end { SESSION_DONE, SESSION_INTERRUPTED, SESSION_STOPPED };
