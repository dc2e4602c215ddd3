/*
 * conversation: starting the program, lines to and fro, its end.
 */
#define _GNU_SOURCE
#include "conversation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "process.h"
#include "task_cpus.h"

#define PATIENCE_S 2.0
#define PARKED_FD 100 /* what the program inherits waits here while 3 to 5 are rearranged */
#define MOST_FDS 4096 /* looked at where close_range() is missing */

struct conversation {
    pid_t pid;
    int requests, answers; /* descriptors; -1 closed */
    bool stopped, launcher;
    size_t length, taken; /* bytes read, and of them those of the last answer */
    char line[CONVERSATION_ANSWER];
};

/* ---- the program ----------------------------------------------------------------------------- */

/* What the child needs; all of it is made before the fork, after which only few calls are safe. */
struct start {
    const struct conversation_spec *spec;
    char **environment;
    cpu_set_t cpus;
    char **arguments;
    pid_t parent;
    int request, answer, failure; /* `failure` gets errno where the program cannot be executed */
};

static bool leave_open_only(int last)
{
    if (close_range((unsigned)last + 1, ~0U, CLOSE_RANGE_CLOEXEC) == 0)
        return true;
    for (int fd = last + 1; fd < MOST_FDS; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    return true;
}

static bool arrange_files(const struct start *s)
{
    const bool launcher = s->spec->launcher;
    const int first = launcher ? STDIN_FILENO : PROCESS_REQUEST_FD;
    int from[] = {s->request, s->answer, s->spec->file};
    const int count = !launcher && s->spec->file >= 0 ? 3 : 2;
    for (int i = 0; i < count; i++)
        if ((from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, PARKED_FD)) < 0)
            return false;
    for (int i = 0; i < count; i++)
        if (dup2(from[i], first + i) < 0)
            return false;
    if (launcher)
        return leave_open_only(STDERR_FILENO);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 &&
           dup2(STDERR_FILENO, STDOUT_FILENO) >= 0 && leave_open_only(first + count - 1);
}

static _Noreturn void become_program(const struct start *s)
{
    sigset_t none;
    sigemptyset(&none);
    const int failure = fcntl(s->failure, F_DUPFD_CLOEXEC, PARKED_FD);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process_unregister(getpid());
    if (getppid() == s->parent && failure >= 0 && arrange_files(s) &&
        (!s->spec->cpu_count || sched_setaffinity(0, sizeof s->cpus, &s->cpus) == 0)) {
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        execve(s->spec->program, s->arguments, s->environment);
    }
    const int error = errno;
    if (write(failure, &error, sizeof error) != sizeof error)
        _exit(126);
    _exit(127);
}

/* The pid, or -1 with errno, also where the program cannot be executed. */
static pid_t start_program(struct start *s, const int failure[2])
{
    int error = 0;
    s->parent = getpid();
    s->failure = failure[1];
    const pid_t pid = _Fork();
    if (pid == 0)
        become_program(s);
    error = errno;
    close(failure[1]);
    if (pid < 0) {
        errno = error;
        return -1;
    }
    if (read(failure[0], &error, sizeof error) != sizeof error)
        return pid;
    waitpid(pid, NULL, 0);
    errno = error;
    return -1;
}

/* argv of the program; free() it. */
static char **arguments_of(const struct conversation_spec *spec)
{
    size_t count = 0;
    while (spec->arguments && spec->arguments[count])
        count++;
    char **argv = calloc(count + 2, sizeof *argv);
    if (!argv)
        return NULL;
    argv[0] = (char *)spec->program;
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)spec->arguments[i];
    return argv;
}

struct conversation *conversation_open(const struct conversation_spec *spec, char *why,
                                       size_t why_size)
{
    struct conversation *talk = calloc(1, sizeof *talk);
    struct start s = {.spec = spec,
                      .environment = process_environment(spec->environment),
                      .arguments = arguments_of(spec)};
    int request[2] = {-1, -1}, answer[2] = {-1, -1}, failure[2] = {-1, -1};
    CPU_ZERO(&s.cpus);
    for (size_t i = 0; i < spec->cpu_count; i++)
        CPU_SET((size_t)spec->cpus[i], &s.cpus);
    signal(SIGPIPE, SIG_IGN); /* a program that is gone is noticed when it does not answer */
    pid_t pid = -1;
    if (talk && s.environment && s.arguments && pipe2(request, O_CLOEXEC) == 0 &&
        pipe2(answer, O_CLOEXEC) == 0 && pipe2(failure, O_CLOEXEC) == 0) {
        s.request = request[0];
        s.answer = answer[1];
        pid = start_program(&s, failure);
    }
    if (pid < 0)
        snprintf(why, why_size, "cannot start %s: %s", spec->program, strerror(errno));
    close(failure[0]);
    close(request[0]);
    close(answer[1]);
    free(s.environment);
    free(s.arguments);
    if (pid > 0) {
        talk->pid = pid;
        talk->launcher = spec->launcher;
        talk->requests = request[1];
        talk->answers = answer[0];
        return talk;
    }
    close(request[1]);
    close(answer[0]);
    free(talk);
    return NULL;
}

/* ---- its end --------------------------------------------------------------------------------- */

static void go_on(struct conversation *talk)
{
    if (talk->pid > 0 && talk->stopped)
        kill(-talk->pid, SIGCONT);
    talk->stopped = false;
}

/* Waits for the program's end, at most so long, then kills it; its wait status. */
static int reap(struct conversation *talk, double patience_s)
{
    const double until = clock_now() + patience_s;
    int status = 0;
    pid_t done;
    go_on(talk);
    while ((done = waitpid(talk->pid, &status, WNOHANG)) == 0 && clock_now() < until)
        poll(NULL, 0, 1);
    kill(-talk->pid, SIGKILL); /* and what it has left behind */
    if (done == 0)
        while (waitpid(talk->pid, &status, 0) < 0 && errno == EINTR)
            ;
    process_unregister(talk->pid);
    talk->pid = -1;
    return status;
}

static void hang_up(struct conversation *talk)
{
    if (talk->requests >= 0)
        close(talk->requests);
    talk->requests = -1;
}

void conversation_close(struct conversation *talk)
{
    if (!talk)
        return;
    hang_up(talk);
    if (talk->pid > 0)
        reap(talk, PATIENCE_S);
    close(talk->answers);
    free(talk);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool send_line(struct conversation *talk, const char *text)
{
    const size_t length = strlen(text);
    char *line = malloc(length + 1);
    size_t sent = 0;
    if (!line)
        return false;
    memcpy(line, text, length);
    line[length] = '\n';
    while (sent <= length) {
        const ssize_t n = write(talk->requests, line + sent, length + 1 - sent);
        if (n < 0 && errno != EINTR)
            break;
        sent += n > 0 ? (size_t)n : 0;
    }
    free(line);
    return sent > length;
}

/* Makes the next line the start of the buffer, terminated; NULL where it is not whole yet. */
static const char *next_line(struct conversation *talk)
{
    char *end = memchr(talk->line, '\n', talk->length);
    if (!end)
        return NULL;
    *end = 0;
    talk->taken = (size_t)(end + 1 - talk->line);
    return talk->line;
}

/* Reads until a line is whole. */
static enum conversation_end listen(struct conversation *talk, double deadline_s,
                                    const char **answer)
{
    const double until = clock_now() + deadline_s, waited_s = task_waited_longest_s(talk->pid);
    while (!(*answer = next_line(talk))) {
        const double left = until + task_waited_longest_s(talk->pid) - waited_s - clock_now();
        struct pollfd poll_fd = {.fd = talk->answers, .events = POLLIN};
        if (left <= 0)
            return CONVERSATION_LATE;
        if (poll(&poll_fd, 1, left < 1000 ? (int)(left * 1e3) + 1 : 1000000) <= 0)
            continue;
        const size_t room = sizeof talk->line - talk->length;
        const ssize_t n = read(talk->answers, talk->line + talk->length, room);
        if (n == 0 || (n < 0 && errno != EINTR))
            return CONVERSATION_ENDED; /* also where there is no room: a read of nothing is 0 */
        talk->length += n > 0 ? (size_t)n : 0;
    }
    return CONVERSATION_ANSWERED;
}

/* "ended (exit status 1)" */
static void explain(struct conversation *talk, char *why, size_t why_size)
{
    const bool full = talk->length == sizeof talk->line;
    const int status = reap(talk, full ? 0 : PATIENCE_S);
    if (full)
        snprintf(why, why_size, "answers without an end");
    else if (WIFSIGNALED(status))
        snprintf(why, why_size, "was killed by %s", process_signal_name(WTERMSIG(status)));
    else
        snprintf(why, why_size, "ended (exit status %d)", WEXITSTATUS(status));
}

enum conversation_end conversation_ask(struct conversation *talk, const char *request,
                                       double deadline_s, const char **answer, char *why,
                                       size_t why_size)
{
    if (talk->pid < 0) {
        snprintf(why, why_size, "is not there any more");
        return CONVERSATION_ENDED;
    }
    memmove(talk->line, talk->line + talk->taken, talk->length - talk->taken);
    talk->length -= talk->taken;
    talk->taken = 0;
    go_on(talk);
    enum conversation_end end = CONVERSATION_ENDED;
    if (!request || send_line(talk, request))
        end = listen(talk, deadline_s, answer);
    if (end == CONVERSATION_LATE) {
        if (talk->launcher)
            kill(talk->pid, SIGTERM);
        reap(talk, talk->launcher ? PATIENCE_S : 0);
        snprintf(why, why_size, "gave no answer within %.3g s", deadline_s);
    } else if (end == CONVERSATION_ENDED) {
        hang_up(talk);
        explain(talk, why, why_size);
    }
    return end;
}

/* ---- the running program --------------------------------------------------------------------- */

void conversation_stop(struct conversation *talk)
{
    if (talk->pid > 0 && !talk->stopped)
        talk->stopped = kill(-talk->pid, SIGSTOP) == 0;
}

pid_t conversation_pid(const struct conversation *talk)
{
    return talk->pid;
}
