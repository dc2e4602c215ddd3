/*
 * worker: the process that runs kernels: its request, the answer that it fills, and errors that end an action.
 * Everything that may crash, hang or start a thread happens here.
 */
#pragma once

#include <setjmp.h>

#include "results/cell.h"
#include "session/protocol.h"

struct backend;
struct check_result;

struct worker {
    struct protocol_request request;
    struct machine *machine;
    const struct attn_kernel *kernel; /* NULL for actions without one */
    const struct backend *backend;    /* computes it */
    json_t *answer;
    jmp_buf abandoned; /* target of worker_abandon() */
};

/* Reads a request from descriptor 3, answers on descriptor 4; returns the exit status. */
int worker_main(void);

/* Stores what the worker is doing, for the parent's message if the worker dies before it answers. */
void worker_stage(const char *what);

/* Sets state and reason of the answer. */
__attribute__((format(printf, 3, 4))) void worker_end(struct worker *worker, enum cell_state state,
                                                      const char *why, ...);

/* The same, and ends the action by longjmp(), from functions that cannot fail, such as a kernel's execute.
 * Only in the thread that runs the action. */
__attribute__((format(printf, 3, 4))) _Noreturn void
worker_abandon(struct worker *worker, enum cell_state state, const char *why, ...);

/* The same, and appends the stage to the reason: "..., while checking at threads=2: needle". */
__attribute__((format(printf, 3, 4))) _Noreturn void
worker_give_up(struct worker *worker, enum cell_state state, const char *why, ...);

/* "check" of the answer. */
json_t *worker_answer_check(const struct check_result *result);

/* ---- actions, one file each; worker.c has the small ones ------------------------------------- */

void worker_check(struct worker *worker);
void worker_measure(struct worker *worker);
void worker_eval(struct worker *worker);
void worker_ceilings(struct worker *worker);
