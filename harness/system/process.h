/*
 * process: a child that answers one line with one line, with deadlines, until it is ended.
 *
 * It reads requests from descriptor 3 and writes answers to descriptor 4; files follow.  It has no other
 * descriptors but the standard ones, no terminal, and a process group of its own.  It ignores the signals
 * that interrupt a session (its parent ends it), and dies with its parent.
 *
 * A launcher, such as mpiexec, passes on only its standard streams: its requests go to its standard input,
 * its answers come from its standard output, and it gets SIGTERM before it is killed.
 */
#ifndef HARNESS_SYSTEM_PROCESS_H
#define HARNESS_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "limits.h"

#define PROCESS_REQUEST_FD 3
#define PROCESS_ANSWER_FD 4
#define PROCESS_FIRST_FILE_FD 5 /* inherited files follow in the order given */
#define PROCESS_MAX_FILES 8

struct process_spec {
    const char *program; /* NULL: this one again, as it was when it started, rebuilt since or not */
    const char *const *arguments; /* behind its name; NULL-terminated, NULL: none */
    const char *const
        *environment; /* "NAME=value" or "NAME" to remove; NULL-terminated, NULL: no change */
    bool
        level; /* the environment fills whole pages, for the stack to begin at one place in a page */
    const int *files; /* descriptors to inherit as 5, 6, ...; -1 leaves a gap */
    size_t file_count;
    const int *cpus;             /* on which it may run */
    size_t cpu_count;            /* 0: where this process may */
    const struct limits *limits; /* NULL: those of this process */
    bool launcher;               /* inherits no files */
    bool capture; /* keep what it prints (printed.h); else it goes to standard error */
};

enum process_end {
    PROCESS_ANSWERED,
    PROCESS_EXITED,      /* without a whole answer; status = exit code */
    PROCESS_SIGNALLED,   /* status = signal */
    PROCESS_ENDED_BADLY, /* likewise, but after its answer, which is not to be believed then */
    PROCESS_ENDLESS,     /* its answer was */
    PROCESS_TIMEOUT,
    PROCESS_INTERRUPTED, /* of the parent, process_catch_interrupts() */
    PROCESS_NOT_STARTED, /* status = errno */
    PROCESS_LOST         /* this process could not talk to it; status = errno */
};

struct process;

/* Starts a child.  What keeps it from starting is told by the first process_ask(); NULL stands for one for
 * which memory was missing. */
struct process *process_open(const struct process_spec *spec);

/* Sends one line and waits for the line that answers it, which stays until the next request.  Unless it is
 * answered the child has been ended, why says how ("was killed by SIGABRT"), and nothing more can be asked.
 * Time in which the child was ready to run and others had the CPUs does not count towards the deadline. */
enum process_end process_ask(struct process *child, const char *request, double deadline_s,
                             const char **answer, char *why, size_t why_size);

/* Stops every thread of the child until it is asked again. */
void process_stop(struct process *child);

/* For task_cpus.h; -1 after its end. */
pid_t process_pid(const struct process *child);

/* Ends it: its requests end, it has 2 s to leave, then it is killed with its process group. */
void process_close(struct process *child);

struct process_outcome {
    enum process_end end;
    int status;
    char *answer;  /* the line, owned; NULL unless answered */
    char *printed; /* what it printed, printed.h; owned, NULL: nothing, or not captured */
    double wall_s;
};

/* Runs a child for one request, and kills what it has started. */
struct process_outcome process_run(const struct process_spec *spec, const char *request,
                                   double deadline_s);

/* Changes of the environment with which only hwloc binds OpenMP's threads, whatever the user has set. */
#define PROCESS_OPENMP 9
extern const char *const process_openmp[PROCESS_OPENMP];

/* "SIGSEGV"; "signal 99" where it has no name.  Static until the next call. */
const char *process_signal_name(int signal);

/* From here on SIGINT, SIGTERM and SIGHUP only raise a flag (a second one kills) and end the child with an
 * open request.  SIGPIPE and SIGXFSZ are ignored, SIGXFSZ by children, too. */
void process_catch_interrupts(void);

/* For what only prints from here on: the kernel ends it, without a word, where nobody reads the pipe any
 * more, as in `attnbench list | head`. */
void process_end_with_reader(void);
bool process_interrupted(void);

/* Where the system names this process's own descriptors. */
#define PROCESS_DESCRIPTORS "/proc/self/fd/"

/* Writes the path by which another process opens a descriptor of this one.  Returns its length, as snprintf()
 * does. */
int process_descriptor(const char *number, char *path, size_t size);

/* Path of `name` beside the program, also where the program's file was replaced since it was started;
 * false where that does not fit. */
bool process_beside(const char *name, char *path, size_t size);

#endif
