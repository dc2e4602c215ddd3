/*
 * conversation: another program that answers one line with one line, until it is not needed any more.
 *
 * The program reads requests from descriptor 3 and writes answers to descriptor 4; descriptor 5 is a
 * file that both share.  Its standard output is this process's standard error, it inherits nothing
 * else, has a process group of its own, and dies with this process.
 *
 * A launcher, such as mpiexec, hands on only its standard streams: there requests go to its standard input,
 * answers come from its standard output, and it is asked to end (SIGTERM) before it is killed.
 */
#ifndef HARNESS_SYSTEM_CONVERSATION_H
#define HARNESS_SYSTEM_CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define CONVERSATION_ANSWER ((size_t)1 << 20) /* bytes of an answer at most */

struct conversation;

struct conversation_spec {
    const char *program;
    const char *const *arguments; /* NULL-terminated; NULL: none */
    bool launcher;
    const char *const *environment; /* "NAME=value" or "NAME" to remove; NULL-terminated */
    const int *cpus;                /* on which it may run */
    size_t cpu_count;               /* 0: where this process may */
    int file;                       /* -1: none */
};

/* Starts the program; NULL fills why. */
struct conversation *conversation_open(const struct conversation_spec *spec, char *why,
                                       size_t why_size);

/* Ends it: its requests end, it has 2 s to leave, then it is killed with its process group. */
void conversation_close(struct conversation *talk);

enum conversation_end {
    CONVERSATION_ANSWERED,
    CONVERSATION_ENDED, /* without an answer, or with one that is too long */
    CONVERSATION_LATE
};

/* Sends one line (NULL: none) and waits for the line that answers it, which stays until the next request.
 * Unless it is answered, why says how the program ended, and nothing more can be asked.  The deadline is of
 * the program's own time, as in process.h. */
enum conversation_end conversation_ask(struct conversation *talk, const char *request,
                                       double deadline_s, const char **answer, char *why,
                                       size_t why_size);

/* Stops every thread of the program until it is asked again. */
void conversation_stop(struct conversation *talk);

/* For task_cpus.h; -1 after its end. */
pid_t conversation_pid(const struct conversation *talk);

#endif
