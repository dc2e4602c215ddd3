/*
 * process: starts this program again, talks to it until its deadline, and clears up behind it.
 */
#define _GNU_SOURCE
#include "process_private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "orphans.h"
#include "printed.h"
#include "task_cpus.h"

#define ANSWER_MAX ((size_t)64 << 20) /* bytes; more is no answer */
#define PATIENCE_S 2.0                /* for the end of a child that has answered */

/* ---- interrupts ------------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

const int process_interrupts[PROCESS_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

/* Interrupts, blocked outside of ppoll() so that none comes between reading the flag and sleeping;
 * and the signal of a child's end, which reap() waits for. */
static sigset_t caught_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++)
        sigaddset(&set, process_interrupts[i]);
    return set;
}

void process_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++) {
        struct sigaction before;
        sigaction(process_interrupts[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup and background jobs keep ignoring them */
            sigaction(process_interrupts[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of write() */
}

bool process_interrupted(void)
{
    return interrupted;
}

const char *process_signal_name(int signal)
{
    static char text[32];
    const char *name = sigabbrev_np(signal);
    if (name)
        snprintf(text, sizeof text, "SIG%s", name);
    else
        snprintf(text, sizeof text, "signal %d", signal);
    return text;
}

/* Where memory runs out, the system shall kill the worker and no other process. */
static void offer_to_oom_killer(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/oom_score_adj", (int)pid);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) != 4)
        errno = 0; /* not permitted: the worker is killed no sooner than others */
    close(fd);
}

/* ---- the conversation ------------------------------------------------------------------------ */

/* The answer, as far as it was read. */
struct line {
    char *text;
    size_t length, capacity;
    bool whole;
};

/* Reads what is there; false at the end of file or where the line is too long, and with *error where
 * this process is to blame. */
static bool read_some(int fd, struct line *line, int *error)
{
    if (line->length + 4096 > line->capacity) {
        const size_t capacity = line->capacity ? 2 * line->capacity : 8192;
        char *text = capacity <= ANSWER_MAX ? realloc(line->text, capacity) : NULL;
        if (!text) {
            *error = capacity <= ANSWER_MAX ? ENOMEM : 0;
            return false;
        }
        line->text = text;
        line->capacity = capacity;
    }
    const ssize_t n = read(fd, line->text + line->length, line->capacity - line->length - 1);
    if (n < 0 && errno != EINTR)
        *error = errno;
    if (n <= 0)
        return n < 0 && errno == EINTR;
    char *end = memchr(line->text + line->length, '\n', (size_t)n);
    line->length += (size_t)n;
    line->text[line->length] = 0;
    if (end) {
        *end = 0;
        line->whole = true;
    }
    return true;
}

/* What is being heard from a child. */
struct conversation {
    pid_t pid;
    int answer;
    int error; /* errno of what this process could not do */
    struct line line;
    struct printed printed;
};

/* Sleeps until the answer is whole, the pipe closes, the child's time is up or somebody interrupts. */
static enum process_end listen(struct conversation *c, double deadline)
{
    sigset_t unblocked;
    sigprocmask(SIG_SETMASK, NULL, &unblocked);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++)
        sigdelset(&unblocked, process_interrupts[i]);
    while (!c->line.whole) {
        const double left = deadline + task_waited_longest_s(c->pid) - clock_now();
        if (interrupted)
            return PROCESS_INTERRUPTED;
        if (left <= 0)
            return PROCESS_TIMEOUT;
        struct timespec wait = {.tv_sec = (time_t)left};
        wait.tv_nsec = (long)((left - (double)wait.tv_sec) * 1e9);
        struct pollfd poll[] = {{.fd = c->answer, .events = POLLIN},
                                {.fd = c->printed.fd, .events = POLLIN}};
        if (ppoll(poll, 2, &wait, &unblocked) <= 0)
            continue;
        if (poll[1].revents)
            printed_read(&c->printed);
        if (poll[0].revents && !read_some(c->answer, &c->line, &c->error))
            return c->error ? PROCESS_LOST : PROCESS_EXITED;
    }
    return PROCESS_ANSWERED;
}

/* Whether a child ends in time by itself; it is not reaped yet. */
static bool ends(pid_t pid, struct printed *printed)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    const double until = clock_now() + PATIENCE_S;
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    for (;;) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid)
            return true;
        if (clock_now() > until)
            return false;
        sigtimedwait(&ended, NULL, &moment);
        printed_read(printed); /* it may be waiting for room in the pipe */
    }
}

/* Ends a child and what it started; *by_itself: it did not have to be killed. */
static int reap(pid_t pid, bool kill_now, struct printed *printed, bool *by_itself)
{
    const unsigned long long started = orphans_started(pid);
    int status = 0;
    *by_itself = !kill_now && ends(pid, printed);
    kill(-pid, SIGKILL);
    kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    process_unregister(pid);
    if (started)
        orphans_end(started);
    printed_read(printed);
    return status;
}

/* Returns 0, or errno; a child that is gone is no error here, as its end says more. */
static int send_request(int fd, const char *request)
{
    struct {
        const char *text;
        size_t left;
    } parts[] = {{request, strlen(request)}, {"\n", 1}};
    for (size_t i = 0; i < 2; i++)
        while (parts[i].left) {
            const ssize_t n = write(fd, parts[i].text, parts[i].left);
            if (n < 0 && errno != EINTR)
                return errno == EPIPE ? 0 : errno;
            parts[i].text += n > 0 ? n : 0;
            parts[i].left -= n > 0 ? (size_t)n : 0;
        }
    return 0;
}

/* Talks to a started child until its end. */
static struct process_outcome converse(const struct process_spec *spec, pid_t pid, int request,
                                       int answer, int printed)
{
    const double start = clock_now();
    struct conversation c = {.pid = pid, .answer = answer, .printed.fd = printed};
    offer_to_oom_killer(pid);
    c.error = send_request(request, spec->request);
    close(request);
    struct process_outcome outcome = {.end = c.error ? PROCESS_LOST
                                                     : listen(&c, start + spec->deadline_s)};
    const bool ended = outcome.end == PROCESS_ANSWERED || outcome.end == PROCESS_EXITED;
    bool by_itself;
    const int status = reap(pid, !ended, &c.printed, &by_itself);
    if (outcome.end == PROCESS_EXITED)
        outcome.end = WIFSIGNALED(status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
    if (outcome.end == PROCESS_ANSWERED && by_itself && WIFSIGNALED(status))
        outcome.end = PROCESS_ENDED_BADLY;
    outcome.status = c.error               ? c.error
                     : WIFSIGNALED(status) ? WTERMSIG(status)
                                           : WEXITSTATUS(status);
    if (outcome.end == PROCESS_ANSWERED)
        outcome.answer = c.line.text;
    else
        free(c.line.text);
    outcome.printed = printed_text(&c.printed);
    if (c.printed.fd >= 0)
        close(c.printed.fd);
    outcome.wall_s = clock_now() - start;
    return outcome;
}

static void close_pair(const int pair[2])
{
    for (int i = 0; i < 2; i++)
        if (pair[i] >= 0)
            close(pair[i]);
}

struct process_outcome process_run(const struct process_spec *spec)
{
    struct process_outcome outcome = {.end = PROCESS_NOT_STARTED};
    int request[2] = {-1, -1}, answer[2] = {-1, -1}, printed[2] = {-1, -1};
    const sigset_t set = caught_set();
    sigset_t before;
    const pid_t parent = getpid();
    char **environment = process_environment(spec->environment);
    orphans_adopt();
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t pid = -1;
    if (process_share_error() && environment && pipe2(request, O_CLOEXEC) == 0 &&
        pipe2(answer, O_CLOEXEC) == 0 && (!spec->capture || pipe2(printed, O_CLOEXEC) == 0))
        pid = _Fork();
    const struct process_ends ends = {request[0], answer[1], printed[1]};
    if (pid == 0)
        process_become(spec, environment, parent, &ends, &set);
    outcome.status = errno;
    if (pid > 0) {
        close(request[0]);
        close(answer[1]);
        if (spec->capture) {
            close(printed[1]);
            fcntl(printed[0], F_SETFL, O_NONBLOCK);
        }
        outcome = converse(spec, pid, request[1], answer[0], printed[0]);
        close(answer[0]);
        if (outcome.end == PROCESS_EXITED && process_child_error()) {
            outcome.end = PROCESS_NOT_STARTED;
            outcome.status = process_child_error();
        }
    } else {
        close_pair(request);
        close_pair(answer);
        close_pair(printed);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(environment);
    return outcome;
}
