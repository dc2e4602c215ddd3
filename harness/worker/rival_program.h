/*
 * rival_program: processes of a program that computes a kernel, one for each number of threads, and the
 * requests to them (docs/protocol.md); for rival*.c only.
 *
 * A copy keeps its number of threads for life, because many libraries cannot change it.  A failure of
 * the program ends the launch (worker_abandon()): a kernel's execute cannot fail.
 */
#ifndef HARNESS_WORKER_RIVAL_PROGRAM_H
#define HARNESS_WORKER_RIVAL_PROGRAM_H

#include "problem/exchange.h"
#include "rival_extras.h"
#include "system/process.h"
#include "answer.h"

#define RIVAL_CPUS 1024
#define RIVAL_COPIES 4 /* that run at once: each holds a library of hundreds of megabytes */

/* A copy of the program. */
struct rival_copy {
    int threads; /* 0: no copy */
    int cpus[RIVAL_CPUS];
    size_t cpu_count;
    struct process *process;
    struct exchange *file;
    char prepared[PARSE_TEXT];  /* the problem that it is bound to, "" none */
    char refusal[320];          /* why it does not compute that problem; "" it does */
    char library[128];          /* "" unknown */
    bool changed;               /* operands were copied into the file since the last request */
    double start_s, prepare_s;  /* duration of its start and of the last prepare */
    struct rival_extras extras; /* of the problem that it is bound to */
    unsigned long used;         /* the copy with the smallest number is ended for another one */
};

/* Asks a program, not started yet, for its kernels: "kernels" of its answer, a new reference; NULL fills
 * why and state. */
json_t *rival_program_describe(const struct protocol_request *request, enum cell_state *state,
                               char *why, size_t why_size);

/* The copy for so many threads, bound to the problem, with room for these operands where they are known (else NULL);
 * its refusal says where it does not compute it. */
struct rival_copy *rival_program_bind(struct worker *worker, const struct attn_problem *problem,
                                      const struct attn_tensors *tensors, int threads);

/* Copies operands into place number `place` of the file. */
void rival_program_give(struct rival_copy *copy, size_t place, const struct attn_tensors *from);

/* Computes the set that lies in place number `place` of the file. */
void rival_program_execute(struct worker *worker, struct rival_copy *copy, size_t place);

/* Runs calls from place `first` on: what the program's clock says, and ours around the request. */
struct rival_time {
    double said_s, wall_s;
};
struct rival_time rival_program_measure(struct worker *worker, struct rival_copy *copy,
                                        size_t calls, size_t first);

/* What the program says that its processors can do, each rate looked at for so many seconds: of multiply-adds,
 * and, where `bytes` is not 0, of the host's best instructions and of reading so many bytes. */
struct rival_ceilings {
    double fma_gflops, fma_host_gflops, read_gbytes_per_s; /* the last two NaN where bytes is 0 */
};
struct rival_ceilings rival_program_ceilings(struct worker *worker, struct rival_copy *copy,
                                             double seconds, double bytes);

/* Whether the program's threads are where they should be; else the launch ends. */
void rival_program_stays(struct worker *worker, const struct rival_copy *copy);

/* Ends every copy. */
void rival_program_close(void);

#endif
