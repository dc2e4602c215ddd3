/*
 * answer: a worker's request and its answer in the making, and errors that end an action.
 */
#ifndef HARNESS_WORKER_ANSWER_H
#define HARNESS_WORKER_ANSWER_H

#include <setjmp.h>

#include "results/cell.h"
#include "session/protocol.h"

struct backend;
struct check_result;

struct worker {
    struct protocol_request request;
    struct machine *machine;
    const struct attn_kernel *kernel; /* NULL for actions without one */
    const struct backend *backend;    /* what computes it */
    json_t *answer;
    jmp_buf abandoned; /* where worker_abandon() goes on */
};

/* Says what the worker is doing, for the parent in case the worker dies before it answers. */
void worker_stage(const char *what);

/* Replaces the state of the answer. */
__attribute__((format(printf, 3, 4))) void worker_end(struct worker *worker, enum cell_state state,
                                                      const char *why, ...);

/* The same from where nothing can fail, a kernel's execute: the action ends here, the process soon.  Only
 * in the thread that runs the action. */
__attribute__((format(printf, 3, 4))) _Noreturn void
worker_abandon(struct worker *worker, enum cell_state state, const char *why, ...);

/* The same with what was being done behind it: "..., while checking at threads=2: needle". */
__attribute__((format(printf, 3, 4))) _Noreturn void
worker_give_up(struct worker *worker, enum cell_state state, const char *why, ...);

/* Seconds that a program has for so many calls, as docs/protocol.md states. */
double worker_call_deadline(const struct worker *worker, double calls);

/* "check" of the answer. */
json_t *worker_check_answer(const struct check_result *result);

/* ---- what a worker can be asked for, one file each ------------------------------------------- */

void worker_prepare(struct worker *worker);
void worker_check(struct worker *worker);
void worker_measure(struct worker *worker);
void worker_eval(struct worker *worker);
void worker_ceilings(struct worker *worker);
void worker_experiment(struct worker *worker);

#endif
