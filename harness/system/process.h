/*
 * process: one child at a time, talked to through two pipes, with a deadline.
 *
 * The child is this same program (/proc/self/exe): a rebuild in the middle of a session changes
 * nothing.  It gets a request of one line on descriptor 3 and answers with one line on
 * descriptor 4; it has no terminal and no descriptors but those it is given, ignores what asks a session
 * to end (the parent ends it), and dies with its parent.  Whatever it has started is killed when it ends.
 */
#ifndef HARNESS_SYSTEM_PROCESS_H
#define HARNESS_SYSTEM_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "limits.h"

#define PROCESS_REQUEST_FD 3
#define PROCESS_ANSWER_FD 4
#define PROCESS_FIRST_FILE_FD 5 /* inherited files follow in the order given */
#define PROCESS_MAX_FILES 8

struct process_spec {
    char *const *argv;              /* NULL-terminated; argv[0] is only a name */
    const char *const *environment; /* "NAME=value" or "NAME" to remove; NULL-terminated */
    const int *files;               /* descriptors to inherit as 5, 6, ...; -1 leaves a gap */
    size_t file_count;
    const char *request; /* one line, without its newline */
    double deadline_s;   /* without the time in which it was ready to run and others had the CPUs */
    struct limits limits;
    bool capture; /* keep what it prints for the outcome; else it goes to standard error */
};

enum process_end {
    PROCESS_ANSWERED,
    PROCESS_EXITED,      /* without a whole answer; status = exit code */
    PROCESS_SIGNALLED,   /* status = signal */
    PROCESS_ENDED_BADLY, /* likewise, but after its answer, which is not to be believed then */
    PROCESS_TIMEOUT,
    PROCESS_INTERRUPTED, /* of the parent, process_catch_interrupts() */
    PROCESS_NOT_STARTED, /* status = errno */
    PROCESS_LOST         /* this process could not talk to it; status = errno */
};

struct process_outcome {
    enum process_end end;
    int status;
    char *answer;  /* the line, owned; NULL unless answered */
    char *printed; /* what it printed, printed.h; owned, NULL: nothing, or not captured */
    double wall_s;
};

/* Runs a child to its end; sleeps in poll meanwhile. */
struct process_outcome process_run(const struct process_spec *spec);

/* Such changes with which hwloc alone binds OpenMP's threads, whatever the user has set for another program. */
#define PROCESS_OPENMP 9
extern const char *const process_openmp[PROCESS_OPENMP];

/* This process's environment with changes as in process_spec (NULL: none), for free(); the strings are
 * not copied.  NULL where memory is missing. */
char **process_environment(const char *const *changes);

/* "SIGSEGV"; "signal 99" where it has no name.  Static until the next call. */
const char *process_signal_name(int signal);

/* From here on SIGINT, SIGTERM and SIGHUP only raise a flag (a second one kills) and end a running
 * child; SIGPIPE is ignored, and SIGXFSZ, which children ignore, too. */
void process_catch_interrupts(void);
bool process_interrupted(void);

/* Removes what OpenMP has registered of a process that is no more.  LLVM's and Intel's keep a file in shared
 * memory for each, named by its pid, from the moment that they are loaded, and for a child from fork() on:
 * whoever starts a process uses _Fork().  Where a process is killed the file stays, and if it was killed before
 * it had filled the file, a later process of that pid dies of SIGBUS when it reads it.  Calls nothing but
 * what is safe between fork and exec. */
void process_unregister(pid_t pid);

/* A text that nobody can guess; false where the system gives no random numbers. */
#define PROCESS_TOKEN 33 /* bytes, with its end */
bool process_token(char token[PROCESS_TOKEN]);

/* An empty file in memory, closed on exec; -1 sets errno. */
/* Makes sure that descriptors 0 to 2 are open, so that no file gets one of them and what is printed: on
 * /dev/null, where using a closed one fails as it did. */
void process_standard_files(void);

int process_memory_file(const char *name);

/* One of so many bytes, zeros, for a child to write to: nobody can change its size. */
int process_room_file(const char *name, size_t bytes);

/* Freezes a memory file: nobody can change its size, nor write to it but through mappings that
 * there are already.  Returns a descriptor of it, to lend to children, that cannot write; -1 sets
 * errno. */
int process_read_only(int fd);

/* A descriptor of this process, as others that it has not started can find the file. */
struct process_file {
    pid_t pid;
    int fd;
    uint64_t device, inode;
    size_t bytes;
};
bool process_file_known(int fd, struct process_file *file);

/* Opens it in another process, to read and write; -1 where it is not there, as on another host. */
int process_file_of(const struct process_file *file);

/* Where the system names this process's own descriptors. */
#define PROCESS_DESCRIPTORS "/proc/self/fd/"

/* Writes the path by which another process opens a descriptor of this one.  Returns its length, as snprintf() does. */
int process_descriptor(const char *number, char *path, size_t size);

/* Path of `name` beside the program, also where the program's file was replaced since it was started;
 * false where that does not fit. */
bool process_beside(const char *name, char *path, size_t size);

#endif
