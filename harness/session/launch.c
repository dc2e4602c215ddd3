/*
 * launch: starts a worker, waits until it ends or its deadline passes, and derives state and reason.
 */
#include "launch.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/members.h"
#include "base/message.h"
#include "base/printable.h"
#include "launch_environment.h"
#include "system/memory_file.h"
#include "system/process.h"

/* A kernel slower than this counts as hanging: a tenth of naive's rate on an old core. */
#define SLOWEST_FLOPS 5e7
#define DEADLINE_FLOOR_S 60.0

#define QUOTED 120 /* most bytes of a quoted line */

/* Shared memory for "progress", the same for all workers of the session. */
static struct {
    int fd;
    char *text;
} progress = {.fd = -1};

static bool progress_open(void)
{
    if (progress.text)
        return true;
    progress.fd = memory_file_of_size("attnbench-progress", PROTOCOL_PROGRESS);
    if (progress.fd < 0)
        return false;
    progress.text =
        mmap(NULL, PROTOCOL_PROGRESS, PROT_READ | PROT_WRITE, MAP_SHARED, progress.fd, 0);
    if (progress.text == MAP_FAILED)
        progress.text = NULL;
    return progress.text;
}

double launch_deadline(const struct attn_problem *problem, double calls)
{
    return DEADLINE_FLOOR_S + calls * attn_useful_flops(problem) / SLOWEST_FLOPS;
}

/* What the worker was doing, escaped, as a kernel may have overwritten it. */
static const char *doing(void)
{
    static char text[CELL_WHY - 80]; /* leaves room for the text before it */
    printable(progress.text, strnlen(progress.text, PROTOCOL_PROGRESS), text, sizeof text);
    return *text ? text : "starting";
}

/* The last line that is not blank, without blanks around it. */
static const char *telling_line(const char *log, size_t *length)
{
    static const char silent[] = "\n\t ";
    const char *begin = log + strspn(log, silent), *end = log + strlen(log);
    while (end > begin && strchr(silent, end[-1]))
        end--;
    for (const char *at = begin; at < end; at++)
        if (*at == '\n')
            begin = at + 1;
    *length = (size_t)(end - begin);
    return begin;
}

void launch_quote(const struct launch *launch, char why[CELL_WHY])
{
    size_t length;
    const char *line = telling_line(launch->log ? launch->log : "", &length);
    if (length)
        message_add(why, CELL_WHY, "; it printed '%.*s'", (int)(length < QUOTED ? length : QUOTED),
                    line);
    printable_tidy(why, CELL_WHY);
}

/* Whether the line is one that OpenMP runtimes print last when threads or memory run out. */
static bool says_lack(const char *printed)
{
    static const char *const lines[] = {"libgomp: Thread creation failed", "libgomp: Out of memory",
                                        "OMP: Error #34"};
    for (size_t n = 0; printed && n < sizeof lines / sizeof *lines; n++) {
        const char *at = strstr(printed, lines[n]);
        if (at && (at == printed || at[-1] == '\n'))
            return true;
    }
    return false;
}

/* State and reason of a launch without an answer, from the way in which its worker ended. */
static void explain(const struct process_outcome *outcome, double deadline_s, bool starved,
                    struct launch *launch)
{
    const size_t size = sizeof launch->why;
    launch->state = CELL_CRASHED;
    switch (outcome->end) {
    case PROCESS_SIGNALLED:
        starved = starved && outcome->status == SIGKILL;
        launch->state = starved ? CELL_SKIPPED : CELL_CRASHED;
        snprintf(launch->why, size, "%s%s while %s", process_signal_name(outcome->status),
                 starved ? " for lack of memory" : "", doing());
        break;
    case PROCESS_ENDED_BADLY:
        snprintf(launch->why, size, "%s after its answer", process_signal_name(outcome->status));
        break;
    case PROCESS_EXITED:
        launch->state = says_lack(outcome->printed) ? CELL_SKIPPED : CELL_CRASHED;
        snprintf(launch->why, size, "ended without an answer (exit status %d) while %s",
                 outcome->status, doing());
        break;
    case PROCESS_ENDLESS:
        snprintf(launch->why, size, "answered without an end while %s", doing());
        break;
    case PROCESS_TIMEOUT:
        launch->state = CELL_TIMEOUT;
        snprintf(launch->why, size, "no answer within %.3g s, while %s", deadline_s, doing());
        break;
    case PROCESS_INTERRUPTED:
        launch->interrupted = true;
        break;
    case PROCESS_NOT_STARTED:
        launch->state = CELL_SKIPPED;
        snprintf(launch->why, size, "cannot start a worker: %s", strerror(outcome->status));
        break;
    case PROCESS_LOST:
        launch->state = CELL_SKIPPED;
        snprintf(launch->why, size, "cannot talk to the worker: %s", strerror(outcome->status));
        break;
    case PROCESS_ANSWERED:
        break;
    }
}

static void read_answer(const char *line, const char *token, struct launch *launch)
{
    char message[256] = "";
    launch->answer = protocol_answer(line, token, MESSAGE(message));
    launch->state = CELL_CRASHED;
    if (!launch->answer) {
        snprintf(launch->why, sizeof launch->why, "%s", message);
        return;
    }
    cell_state_parse(member_text(launch->answer, "state"), &launch->state);
    snprintf(launch->why, sizeof launch->why, "%s", member_text(launch->answer, "why"));
}

/* Fills the launch from an outcome, whose texts are freed or moved.  starved: the system has ended a process
 * for lack of memory meanwhile. */
static void read_outcome(const struct process_outcome *outcome, const struct protocol_request *r,
                         double deadline_s, bool starved, struct launch *launch)
{
    launch->why[0] = 0;
    launch->wall_s = outcome->wall_s;
    launch->log = outcome->printed;
    if (outcome->answer)
        read_answer(outcome->answer, r->token, launch);
    else
        explain(outcome, deadline_s, starved, launch);
    if (cell_state_is_bad(launch->state) || says_lack(outcome->printed))
        launch_quote(launch, launch->why);
    printable_tidy(launch->why, CELL_WHY);
    free(outcome->answer);
}

/* ---- a launch --------------------------------------------------------------------------------- */

struct launch launch_worker(const struct protocol_request *request, double deadline_s)
{
    struct launch launch = {.state = CELL_SKIPPED, .why = "out of memory"};
    struct launch_environment environment;
    struct protocol_request r = *request;
    if (!progress_open() || !random_token(r.token))
        return launch;
    *progress.text = 0;
    r.files[PROTOCOL_STATUS] = progress.fd;
    char *line = protocol_print(&r);
    if (!line)
        return launch;
    launch_environment(&r, &environment);
    static const char *const arguments[] = {"worker", NULL};
    const struct limits limits = {.memory_bytes = limits_memory(), .processes = r.program};
    const struct process_spec spec = {
        .arguments = arguments,
        .environment = environment.variables,
        .level = true,
        .files = r.files,
        .file_count = PROTOCOL_FILE_COUNT,
        .limits = &limits,
        /* what a kernel may print */
        .capture = *r.plugin || (r.action != PROTOCOL_PREPARE && r.action != PROTOCOL_CEILINGS &&
                                 r.action != PROTOCOL_EXPERIMENT),
    };
    const long starved = machine_oom_kills();
    const struct process_outcome outcome = process_run(&spec, line, deadline_s);
    launch.memory_limit_bytes = limits.memory_bytes;
    read_outcome(&outcome, &r, deadline_s, machine_oom_kills() > starved, &launch);
    free(line);
    return launch;
}

struct launch launch_describe(const char *kernel, enum attn_isa isa, const struct guest *guest,
                              double deadline_s)
{
    struct protocol_request r = {.action = PROTOCOL_DESCRIBE,
                                 .threads = 1,
                                 .team = 1,
                                 .setting.placement = PLACEMENT_NONE,
                                 .files = PROTOCOL_NO_FILES};
    attn_problem_init(&r.c.problem);
    protocol_kernel(&r, kernel, isa, guest);
    return launch_worker(&r, deadline_s);
}

void launch_free(struct launch *launch)
{
    json_decref(launch->answer);
    free(launch->log);
}
