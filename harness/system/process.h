/*
 * process: a child that answers requests, lines of text, within deadlines.
 *
 * It reads requests from descriptor 3 and writes answers to descriptor 4; inherited files follow.  It has no
 * other descriptors except the standard ones, no terminal, and its own process group.  It ignores the signals
 * that interrupt a session, as its parent ends it, and dies with its parent.
 *
 * A launcher, such as mpiexec, passes on only standard streams: it gets requests on its standard input,
 * answers on its standard output, and gets SIGTERM before it is killed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/message.h"
#include "limits.h"

#define PROCESS_REQUEST_FD 3
#define PROCESS_ANSWER_FD 4
#define PROCESS_FIRST_FILE_FD 5 /* inherited files follow in the order given */
#define PROCESS_MAX_FILES 8

struct process_spec {
    const char
        *program; /* NULL: this program, even if its file has been replaced since it started */
    const char *const *arguments; /* after its name; NULL-terminated, NULL: none */
    const char *const
        *environment; /* "NAME=value" or "NAME" to remove; NULL-terminated, NULL: no change */
    bool
        level; /* pad the environment to whole pages, so that the stack's offset in a page is fixed */
    const int *files; /* descriptors to inherit as 5, 6, ...; -1 leaves a gap */
    size_t file_count;
    const int *cpus;             /* it may run on */
    size_t cpu_count;            /* 0: this process's CPUs */
    const struct limits *limits; /* NULL: those of this process */
    bool launcher;               /* inherits no files */
    bool capture;                /* keep its output (printed.h); else it goes to standard error */
};

enum process_end {
    PROCESS_ANSWERED,
    PROCESS_EXITED,      /* without a whole answer; status = exit code */
    PROCESS_SIGNALLED,   /* status = signal */
    PROCESS_ENDED_BADLY, /* likewise, but after its answer, which cannot be trusted then */
    PROCESS_ENDLESS,     /* its answer is too long */
    PROCESS_TIMEOUT,
    PROCESS_INTERRUPTED, /* the parent was, process_catch_interrupts() */
    PROCESS_NOT_STARTED, /* status = errno */
    PROCESS_LOST         /* reading or writing failed; status = errno */
};

struct process;

/* Starts a child.  If it cannot start, the first process_ask() fails with the reason; NULL, if memory runs
 * out, is such a child. */
struct process *process_open(const struct process_spec *spec);

/* Sends a line and waits for the answer, which is valid until the next request.  Without an answer the child
 * is ended, and why says how it ended ("was killed by SIGABRT").  Time that the child waits for a CPU does
 * not count towards the deadline. */
enum process_end process_ask(struct process *child, const char *request, double deadline_s,
                             const char **answer, struct message why);

/* Stops every thread of the child until the next request. */
void process_stop(struct process *child);

/* For task.h; -1 after its end. */
pid_t process_pid(const struct process *child);

/* Closes its requests, waits up to 2 s for it to exit, then kills its process group. */
void process_close(struct process *child);

struct process_outcome {
    enum process_end end;
    int status;
    char *answer;  /* the line, owned; NULL unless answered */
    char *printed; /* its output, printed.h; owned, NULL: none, or not captured */
    double wall_s;
};

/* Runs a child for one request, and kills the processes that it has started. */
struct process_outcome process_run(const struct process_spec *spec, const char *request,
                                   double deadline_s);

/* Changes of the environment that keep OpenMP from binding threads, which hwloc does, whatever the user has
 * set. */
#define PROCESS_OPENMP 9
extern const char *const process_openmp[PROCESS_OPENMP];

/* "SIGSEGV"; "signal 99" if it has no name.  Valid until the next call. */
const char *process_signal_name(int signal);

/* From here on SIGINT, SIGTERM and SIGHUP only raise a flag (a second one kills) and end the child with an
 * open request.  SIGPIPE and SIGXFSZ are ignored, SIGXFSZ by children, too. */
void process_catch_interrupts(void);

/* For commands that only print: SIGPIPE ends the process silently once nobody reads its output, as in
 * `attnbench list | head`. */
void process_end_with_reader(void);
bool process_interrupted(void);

/* The folder with this process's descriptors. */
#define PROCESS_DESCRIPTORS "/proc/self/fd/"

/* Writes the path by which another process opens a descriptor of this one.  Returns its length, as snprintf()
 * does. */
int process_descriptor(const char *number, char *path, size_t size);

/* Path of `name` in the program's folder, even if the program's file has been replaced since it started;
 * false: it does not fit. */
bool process_beside(const char *name, char *path, size_t size);
