/*
 * worker: the process that runs kernels.  Everything that may crash, hang or start a thread
 * happens here.
 */
#ifndef HARNESS_WORKER_WORKER_H
#define HARNESS_WORKER_WORKER_H

#include <setjmp.h>

#include "results/cell.h"
#include "problem/tensors.h"
#include "session/protocol.h"

/* A request, and the answer as far as it is made. */
struct worker {
    struct protocol_request request;
    struct machine *machine;
    const struct attn_kernel *kernel; /* NULL for actions without one */
    json_t *answer;
    jmp_buf abandoned; /* where worker_abandon() goes on */
};

/* Reads a request from descriptor 3, answers on descriptor 4; returns the exit status. */
int worker_main(void);

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

/* Seconds that a program of its own (of a rival, or rank 0) has for so many calls. */
double worker_call_deadline(const struct worker *worker, double calls);

/* The actions, one file each. */
void worker_prepare(struct worker *worker);
void worker_check(struct worker *worker);
void worker_measure(struct worker *worker);
void worker_eval(struct worker *worker);
void worker_ceilings(struct worker *worker);
void worker_experiment(struct worker *worker);
void worker_describe(struct worker *worker);

/* A plan with the workspace that it asked for. */
struct worker_plan {
    struct attn_plan plan;
    void *workspace;
    size_t workspace_bytes;
    double prepare_s;
};

/* Whether the kernel computes the problem; false ends the worker with its reason. */
bool worker_takes(struct worker *worker);

/* False ends the worker with its reason. */
bool worker_plan_open(struct worker *worker, struct worker_plan *plan);
void worker_plan_close(struct worker_plan *plan);

/* Called before anything is allocated, and when everything is; false ends the worker with its
 * reason. */
bool worker_memory_policy(struct worker *worker);
bool worker_memory_place(struct worker *worker, const struct worker_plan *plan,
                         const struct tensor_set *sets);

struct bench_disturbance;

/* "ceiling" of the answer: what the machine could do during a launch whose samples have this median. */
json_t *worker_launch_ceilings(const struct worker *worker, const struct tensor_set *sets,
                               const struct bench_disturbance *disturbance, double median_s);

struct check_result;

/* "check" of the answer. */
json_t *worker_check_answer(const struct check_result *result);

#endif
