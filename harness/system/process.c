/*
 * process: starts a child with pipes, exchanges lines with it within deadlines, ends it and its descendants.
 */
#define _GNU_SOURCE
#include "process_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "lines.h"
#include "orphans.h"
#include "printed.h"
#include "task.h"

#define PATIENCE_S 2.0 /* for a child to exit after its requests have ended */

/* ---- start ----------------------------------------------------------------------------------- */

struct process {
    pid_t pid;           /* -1: not started, or reaped */
    int request, answer; /* this process's ends of its pipes; -1: closed */
    bool launcher, stopped;
    bool by_itself; /* it ended without being killed */
    int *failure;   /* errno of a failed start, in memory shared with it */
    bool signalled; /* by a signal; else it exited */
    int status;     /* its signal or exit code; errno if it was not started, or was lost */
    struct lines lines;
    struct printed printed;
};

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void start(struct process *child, const struct process_spec *spec)
{
    int request[2] = {-1, -1}, answer[2] = {-1, -1}, printed[2] = {-1, -1};
    if (pipe2(request, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0 &&
        (!spec->capture || pipe2(printed, O_CLOEXEC) == 0)) {
        const struct process_ends ends = {request[0], answer[1], printed[1]};
        child->pid = process_fork(spec, &ends, child->failure);
    }
    if (child->pid < 0)
        child->status = *child->failure = errno;
    if (printed[0] >= 0)
        fcntl(printed[0], F_SETFL, O_NONBLOCK);
    child->request = request[1];
    child->answer = answer[0];
    child->printed.fd = printed[0];
    close_end(&request[0]);
    close_end(&answer[1]);
    close_end(&printed[1]);
}

struct process *process_open(const struct process_spec *spec)
{
    struct process *child = calloc(1, sizeof *child);
    void *const page = mmap(NULL, sizeof *child->failure, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!child || page == MAP_FAILED) {
        if (page != MAP_FAILED)
            munmap(page, sizeof *child->failure);
        free(child);
        return NULL;
    }
    signal(SIGPIPE, SIG_IGN); /* a dead child is noticed when it does not answer */
    child->pid = -1;
    child->failure = page;
    child->launcher = spec->launcher;
    start(child, spec);
    return child;
}

pid_t process_pid(const struct process *child)
{
    return child ? child->pid : -1;
}

/* ---- end ------------------------------------------------------------------------------------- */

void process_stop(struct process *child)
{
    if (child->pid > 0 && !child->stopped)
        child->stopped = kill(-child->pid, SIGSTOP) == 0;
}

static void go_on(struct process *child)
{
    if (child->stopped)
        kill(-child->pid, SIGCONT);
    child->stopped = false;
}

/* Whether a child exits in time; does not reap it. */
static bool ends(struct process *child, double patience_s)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    const double until = clock_now() + patience_s;
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid == child->pid)
            return true;
        if (clock_now() > until)
            return false;
        sigtimedwait(&ended, NULL, &moment);
        printed_read(&child->printed); /* a full pipe would block it */
    }
}

/* Ends a child: kills it and its group unless it exits in time, and reaps it. */
static void finish(struct process *child, double patience_s)
{
    int status = 0;
    close_end(&child->request);
    go_on(child);
    child->by_itself = patience_s > 0 && ends(child, patience_s);
    kill(-child->pid, SIGKILL);
    kill(child->pid, SIGKILL);
    (void)TEMP_FAILURE_RETRY(waitpid(child->pid, &status, 0));
    process_unregister(child->pid);
    printed_read(&child->printed);
    child->pid = -1;
    child->status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    child->signalled = WIFSIGNALED(status);
}

void process_close(struct process *child)
{
    if (!child)
        return;
    const sigset_t before = process_block();
    if (child->pid > 0)
        finish(child, PATIENCE_S);
    sigprocmask(SIG_SETMASK, &before, NULL);
    close_end(&child->request);
    close_end(&child->answer);
    close_end(&child->printed.fd);
    munmap(child->failure, sizeof *child->failure);
    free(child->lines.text);
    free(child);
}

/* ---- one question ---------------------------------------------------------------------------- */

/* Sleeps until an answer is complete, the pipe closes, the deadline passes or an interrupt comes. */
static enum process_end listen(struct process *child, double deadline_s, const char **answer)
{
    const double until = clock_now() + deadline_s - task_waited_longest_s(child->pid);
    static const enum process_end ends_of_lines[] = {[LINES_GO_ON] = PROCESS_ANSWERED,
                                                     [LINES_ENDED] = PROCESS_EXITED,
                                                     [LINES_ENDLESS] = PROCESS_ENDLESS,
                                                     [LINES_FAILED] = PROCESS_LOST};
    const sigset_t unblocked = process_unblocked();
    enum process_end end = PROCESS_ANSWERED;
    while (end == PROCESS_ANSWERED && !(*answer = lines_next(&child->lines))) {
        const double left = until + task_waited_longest_s(child->pid) - clock_now();
        if (process_interrupted())
            return PROCESS_INTERRUPTED;
        if (left <= 0)
            return PROCESS_TIMEOUT;
        struct timespec wait = {.tv_sec = (time_t)left};
        wait.tv_nsec = (long)((left - (double)wait.tv_sec) * 1e9);
        struct pollfd poll[] = {{.fd = child->answer, .events = POLLIN},
                                {.fd = child->printed.fd, .events = POLLIN}};
        if (ppoll(poll, 2, &wait, &unblocked) <= 0)
            continue;
        if (poll[1].revents)
            printed_read(&child->printed);
        if (poll[0].revents)
            end = ends_of_lines[lines_read(&child->lines, child->answer)];
    }
    return end;
}

static enum process_end ask(struct process *child, const char *request, double deadline_s,
                            const char **answer)
{
    go_on(child);
    if (!lines_write(child->request, request, strlen(request)) ||
        !lines_write(child->request, "\n", 1))
        return errno == EPIPE ? PROCESS_EXITED : PROCESS_LOST; /* its exit tells more */
    return listen(child, deadline_s, answer);
}

/* Ends a child that has not answered; returns how it ended. */
static enum process_end finish_unanswered(struct process *child, enum process_end end)
{
    const int error = errno;
    const bool asked_to_end = end == PROCESS_TIMEOUT && child->launcher;
    if (asked_to_end)
        kill(child->pid, SIGTERM);
    finish(child, end == PROCESS_EXITED || asked_to_end ? PATIENCE_S : 0);
    if (end == PROCESS_EXITED && *child->failure)
        end = PROCESS_NOT_STARTED;
    if (end == PROCESS_LOST || end == PROCESS_NOT_STARTED)
        child->status = end == PROCESS_LOST ? error : *child->failure;
    return end == PROCESS_EXITED && child->signalled ? PROCESS_SIGNALLED : end;
}

static void explain(enum process_end end, int status, double deadline_s, struct message why)
{
    switch (end) {
    case PROCESS_ANSWERED:
        break;
    case PROCESS_EXITED:
        message_print(why, "ended (exit status %d)", status);
        break;
    case PROCESS_SIGNALLED:
    case PROCESS_ENDED_BADLY:
        message_print(why, "was killed by %s", process_signal_name(status));
        break;
    case PROCESS_ENDLESS:
        message_print(why, "answers without an end");
        break;
    case PROCESS_TIMEOUT:
        message_print(why, "gave no answer within %.3g s", deadline_s);
        break;
    case PROCESS_INTERRUPTED:
        message_print(why, "was interrupted");
        break;
    case PROCESS_NOT_STARTED:
        message_print(why, "cannot be started: %s", strerror(status));
        break;
    case PROCESS_LOST:
        message_print(why, "cannot be talked to: %s", strerror(status));
        break;
    }
}

enum process_end process_ask(struct process *child, const char *request, double deadline_s,
                             const char **answer, struct message why)
{
    enum process_end end = PROCESS_NOT_STARTED;
    if (child && child->pid > 0) {
        const sigset_t before = process_block();
        end = ask(child, request, deadline_s, answer);
        if (end != PROCESS_ANSWERED)
            end = finish_unanswered(child, end);
        sigprocmask(SIG_SETMASK, &before, NULL);
    } else if (child && !*child->failure) {
        message_print(why, "is not there any more");
        return PROCESS_EXITED;
    }
    explain(end, child ? child->status : ENOMEM, deadline_s, why);
    return end;
}

/* ---- a child of one question ----------------------------------------------------------------- */

struct process_outcome process_run(const struct process_spec *spec, const char *request,
                                   double deadline_s)
{
    const sigset_t before = process_block();
    const double start = clock_now();
    const char *answer;
    char why[64];                              /* unused: the status tells the same */
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); /* for orphans.h */
    struct process *child = process_open(spec);
    const unsigned long long started = orphans_started(process_pid(child));
    struct process_outcome outcome = {
        .end = process_ask(child, request, deadline_s, &answer, MESSAGE(why))};
    if (outcome.end == PROCESS_ANSWERED) {
        finish(child, PATIENCE_S);
        if (child->by_itself && child->signalled)
            outcome.end = PROCESS_ENDED_BADLY;
    }
    if (started)
        orphans_end(started);
    outcome.status = child ? child->status : ENOMEM;
    if (child) {
        printed_read(&child->printed); /* output of the last of them */
        outcome.printed = printed_text(&child->printed);
    }
    if (outcome.end == PROCESS_ANSWERED) {
        outcome.answer = child->lines.text; /* begins with the line */
        child->lines.text = NULL;
    }
    process_close(child);
    outcome.wall_s = clock_now() - start;
    sigprocmask(SIG_SETMASK, &before, NULL);
    return outcome;
}
