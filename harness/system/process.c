/*
 * process: fork and exec of this program, its pipes, its deadline, its end.
 */
#define _GNU_SOURCE
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define ANSWER_MAX ((size_t)64 << 20) /* bytes; more is no answer */
#define PARKED_FD 100                 /* inherited files wait here while 0 to 12 are rearranged */

/* ---- interrupts ------------------------------------------------------------------------------ */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

static const int caught[] = {SIGINT, SIGTERM, SIGHUP};

/* Interrupts, blocked outside of ppoll() so that none comes between reading the flag and sleeping;
 * and the signal of a child's end, which reap() waits for. */
static sigset_t caught_set(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigaddset(&set, caught[i]);
    return set;
}

void process_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++) {
        struct sigaction before;
        sigaction(caught[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup and background jobs keep ignoring them */
            sigaction(caught[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
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

int process_memory_file(const char *name)
{
    return memfd_create(name, MFD_CLOEXEC);
}

/* ---- the child ------------------------------------------------------------------------------- */

static bool overridden(const char *variable, const char *const *environment)
{
    for (size_t i = 0; environment[i]; i++) {
        const size_t n = strcspn(environment[i], "=");
        if (strncmp(variable, environment[i], n) == 0 && variable[n] == '=')
            return true;
    }
    return false;
}

char **process_environment(const char *const *changes)
{
    static const char *const none[] = {NULL};
    changes = changes ? changes : none;
    size_t inherited = 0, changed = 0, n = 0;
    while (environ[inherited])
        inherited++;
    while (changes[changed])
        changed++;
    char **result = calloc(inherited + changed + 1, sizeof *result);
    for (size_t i = 0; result && i < inherited; i++)
        if (!overridden(environ[i], changes))
            result[n++] = environ[i];
    for (size_t i = 0; result && i < changed; i++)
        if (strchr(changes[i], '='))
            result[n++] = (char *)changes[i];
    return result;
}

/* Moves what the child inherits to its places.  Only calls that are safe after fork. */
static bool arrange_files(const struct process_spec *spec, int request, int answer)
{
    int from[PROCESS_MAX_FILES + 2] = {request, answer};
    const size_t count = spec->file_count + 2;
    for (size_t i = 0; i < spec->file_count; i++)
        from[i + 2] = spec->files[i];
    for (size_t i = 0; i < count; i++)
        if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, PARKED_FD)) < 0)
            return false;
    for (size_t i = 0; i < count; i++)
        if (from[i] >= 0 && dup2(from[i], PROCESS_REQUEST_FD + (int)i) < 0)
            return false;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
           dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

static _Noreturn void become_child(const struct process_spec *spec, char **environment,
                                   pid_t parent, int request, int answer)
{
    const sigset_t set = caught_set();
    setpgid(0, 0); /* an interrupt at the terminal goes to the parent only */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() == parent && arrange_files(spec, request, answer)) {
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, &set, NULL);
        execve("/proc/self/exe", spec->argv, environment);
    }
    _exit(127);
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

/* Reads what is there; false at the end of file or where the line is too long. */
static bool read_some(int fd, struct line *line)
{
    if (line->length + 4096 > line->capacity) {
        const size_t capacity = line->capacity ? 2 * line->capacity : 8192;
        char *text = capacity <= ANSWER_MAX ? realloc(line->text, capacity) : NULL;
        if (!text)
            return false;
        line->text = text;
        line->capacity = capacity;
    }
    const ssize_t n = read(fd, line->text + line->length, line->capacity - line->length - 1);
    if (n <= 0)
        return n < 0 && errno == EINTR;
    line->length += (size_t)n;
    line->text[line->length] = 0;
    char *end = strchr(line->text, '\n');
    if (end) {
        *end = 0;
        line->whole = true;
    }
    return true;
}

/* Sleeps until the answer is whole, the pipe closes, time is up or somebody interrupts. */
static enum process_end listen(int fd, double deadline, struct line *line)
{
    sigset_t unblocked;
    sigprocmask(SIG_SETMASK, NULL, &unblocked);
    for (size_t i = 0; i < sizeof caught / sizeof *caught; i++)
        sigdelset(&unblocked, caught[i]);
    while (!line->whole) {
        const double left = deadline - clock_now();
        if (interrupted)
            return PROCESS_INTERRUPTED;
        if (left <= 0)
            return PROCESS_TIMEOUT;
        struct timespec wait = {.tv_sec = (time_t)left};
        wait.tv_nsec = (long)((left - (double)wait.tv_sec) * 1e9);
        struct pollfd poll = {.fd = fd, .events = POLLIN};
        if (ppoll(&poll, 1, &wait, &unblocked) > 0 && !read_some(fd, line))
            return PROCESS_EXITED;
    }
    return PROCESS_ANSWERED;
}

/* Waits for a child that answered or closed its pipe; one that lingers is killed. */
static int reap(pid_t pid, bool kill_now)
{
    const struct timespec patience = {.tv_sec = 2};
    sigset_t ended;
    sigemptyset(&ended);
    sigaddset(&ended, SIGCHLD);
    int status = 0;
    pid_t done = kill_now ? 0 : waitpid(pid, &status, WNOHANG);
    while (!kill_now && done == 0 &&
           (sigtimedwait(&ended, NULL, &patience) == SIGCHLD || errno == EINTR))
        done = waitpid(pid, &status, WNOHANG);
    if (done == 0) {
        kill(-pid, SIGKILL);
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    return status;
}

static void send_request(int fd, const char *request)
{
    struct {
        const char *text;
        size_t left;
    } parts[] = {{request, strlen(request)}, {"\n", 1}};
    for (size_t i = 0; i < 2; i++)
        while (parts[i].left) {
            const ssize_t n = write(fd, parts[i].text, parts[i].left);
            if (n < 0 && errno != EINTR)
                return; /* the child is gone; its end says how */
            parts[i].text += n > 0 ? n : 0;
            parts[i].left -= n > 0 ? (size_t)n : 0;
        }
}

/* Talks to a started child until its end. */
static struct process_outcome converse(const struct process_spec *spec, pid_t pid, int request,
                                       int answer)
{
    const double start = clock_now();
    struct line line = {0};
    offer_to_oom_killer(pid);
    send_request(request, spec->request);
    close(request);
    struct process_outcome outcome = {.end = listen(answer, start + spec->deadline_s, &line)};
    const bool ended = outcome.end == PROCESS_ANSWERED || outcome.end == PROCESS_EXITED;
    const int status = reap(pid, !ended);
    if (outcome.end == PROCESS_EXITED) {
        outcome.end = WIFSIGNALED(status) ? PROCESS_SIGNALLED : PROCESS_EXITED;
        outcome.status = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
    }
    if (outcome.end == PROCESS_ANSWERED)
        outcome.answer = line.text;
    else
        free(line.text);
    outcome.wall_s = clock_now() - start;
    return outcome;
}

struct process_outcome process_run(const struct process_spec *spec)
{
    struct process_outcome outcome = {.end = PROCESS_NOT_STARTED};
    int request[2] = {-1, -1}, answer[2] = {-1, -1};
    const sigset_t set = caught_set();
    sigset_t before;
    const pid_t parent = getpid();
    char **environment = process_environment(spec->environment);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid_t pid = -1;
    if (environment && pipe2(request, O_CLOEXEC) == 0 && pipe2(answer, O_CLOEXEC) == 0)
        pid = fork();
    if (pid == 0)
        become_child(spec, environment, parent, request[0], answer[1]);
    outcome.status = errno;
    close(request[0]);
    close(answer[1]);
    if (pid > 0)
        outcome = converse(spec, pid, request[1], answer[0]);
    else
        close(request[1]);
    close(answer[0]);
    sigprocmask(SIG_SETMASK, &before, NULL);
    free(environment);
    return outcome;
}

bool process_beside(const char *name, char *path, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : size;
    if (folder + strlen(name) >= size)
        return false;
    strcpy(path + folder, name);
    return true;
}
