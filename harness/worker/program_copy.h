/*
 * program_copy: running copies of a program that computes a kernel, one for each number of threads, and
 * requests to them (docs/protocol.md); for program*.c and in_program.c only.
 *
 * A copy keeps its number of threads, because many libraries cannot change it.  A failure of the program ends
 * the launch (worker_abandon()), because a kernel's execute cannot fail.
 */
#pragma once

#include "problem/exchange.h"
#include "system/process.h"
#include "worker.h"

#define PROGRAM_CPUS 1024
#define PROGRAM_COPIES 4 /* most at once: each holds a library of hundreds of megabytes */

/* Additional numbers of a program, "extra" of its answers. */
#define PROGRAM_EXTRAS 32
#define PROGRAM_NAME 32 /* bytes of a name */

struct program_extras {
    struct program_extra {
        char name[PROGRAM_NAME];
        double sum, calls; /* sum weighted by calls; calls */
    } item[PROGRAM_EXTRAS];
    size_t count;
};

/* A copy of the program. */
struct program_copy {
    int threads; /* 0: no copy */
    int cpus[PROGRAM_CPUS];
    size_t cpu_count;
    struct process *process;
    struct exchange *file;
    char prepared[PARSE_TEXT];    /* the problem that it is bound to; "": none */
    char refusal[320];            /* why it does not compute that problem; "": it does */
    char library[128];            /* "": unknown */
    bool changed;                 /* operands were copied to the file since the last request */
    double start_s, prepare_s;    /* duration of its start and of its last prepare */
    struct program_extras extras; /* of the problem that it is bound to */
    unsigned long used;           /* grows with each use: the smallest is replaced first */
};

/* ---- requests (program_request.c) -------------------------------------------------------------- */

/* {"protocol":1, "action":...}, to which the caller adds the rest; and the request to bind a copy to a problem,
 * whose text is given, with so many sets of operands. */
json_t *program_request_plain(const char *action);
json_t *program_request_prepare(const struct protocol_request *request,
                                const struct program_copy *copy, const struct attn_problem *problem,
                                const char *text, size_t sets);

/* Environment variables, which the program's libraries read before their first thread starts. */
struct program_environment {
    char text[8][64], places[8192];
    const char *variables[24];
};

/* `bound`: OpenMP binds one thread to each CPU; other threads have the process's mask. */
void program_request_environment(const struct program_copy *copy, bool bound,
                                 struct program_environment *e);

/* The arguments of a request's program, ended by NULL; valid until the next call. */
const char *const *program_request_arguments(const struct protocol_request *request);

/* Sends a request, which is freed, to a copy and returns its answer.  A state other than "ok" ends the
 * launch, but "unsupported" returns NULL with the reason in `refusal` if that is not NULL. */
json_t *program_request_demand(struct worker *worker, struct program_copy *copy, json_t *request,
                               double deadline_s, struct message refusal);

/* Starts a program and asks for its kernels: "kernels" of its answer, a new reference; NULL fills why and
 * state. */
json_t *program_request_describe(const struct protocol_request *request, enum cell_state *state,
                                 struct message why);

/* ---- additional numbers (program_extras.c) ------------------------------------------------------ */

/* Adds the numbers in "extra" of an answer to a request of so many calls.  Returns the name of one that is no
 * number or one too many; NULL: all were added. */
const char *program_extras_add(struct program_extras *extras, json_t *extra, double calls);

/* An object with each number's mean over calls; NULL if there are none. */
json_t *program_extras_means(const struct program_extras *extras);

/* ---- copies (program_copy.c) -------------------------------------------------------------------- */

/* The copy with so many threads, bound to the problem, with room for these operands, or for the largest that
 * a check makes if `tensors` is NULL.  copy->refusal tells whether it computes the problem. */
struct program_copy *program_copy_bind(struct worker *worker, const struct attn_problem *problem,
                                       const struct attn_tensors *tensors, int threads);

/* Copies operands to a slot of the file. */
void program_copy_give(struct program_copy *copy, size_t slot, const struct attn_tensors *from);

/* Computes the set in a slot of the file. */
void program_copy_execute(struct worker *worker, struct program_copy *copy, size_t slot);

/* Runs `calls` calls, from slot `first` on; times by the program's clock, and by ours around the request. */
struct program_time {
    double program_s, wall_s;
};
struct program_time program_copy_measure(struct worker *worker, struct program_copy *copy,
                                         size_t calls, size_t first);

/* Ceilings that the program measures, each for so many seconds: the rate of multiply-adds, and, if `bytes` is
 * not 0, that of the host's best instructions, and the bandwidth of reading so many bytes. */
struct program_ceilings {
    double fma_gflops, fma_host_gflops, read_gbytes_per_s; /* the last two NaN if bytes is 0 */
};
struct program_ceilings program_copy_ceilings(struct worker *worker, struct program_copy *copy,
                                              double seconds, double bytes);

/* Ends the launch unless the program's threads still run on their CPUs. */
void program_copy_stays(struct worker *worker, const struct program_copy *copy);

/* Ends every copy. */
void program_copy_close(void);
