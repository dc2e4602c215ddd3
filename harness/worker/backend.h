/*
 * backend: where a worker's kernel computes: in this process (in_process.c), or in a program (in_program.c).
 *
 * Each is a table of functions, some NULL, with static state in its own file, as a worker runs one kernel.
 */
#pragma once

#include "worker.h"
#include "problem/tensors.h"

struct bench_disturbance;

struct backend {
    /* Computes in this process: hardware counters count it, and loading its code may change the process's
     * state. */
    bool here;
    /* Why its operands cannot lie on huge pages; NULL: they can. */
    const char *no_huge_pages;

    /* Whether the request's kernel or library is available; for a plug-in, adds "kernels" to the answer.
     * False fills state and why. */
    bool (*describe)(struct worker *worker, enum cell_state *state, struct message why);

    /* The kernel that the request names, with its code; NULL fills why. */
    const struct attn_kernel *(*open)(struct worker *worker, struct message why);
    void (*close)(void);

    /* ---- a measurement ---- */

    /* Transfers the operands to where the kernel computes.  The caller keeps the sets; results are copied
     * back to them. */
    void (*begin)(struct worker *worker, const struct attn_plan *plan, struct tensor_set *sets,
                  size_t count);

    /* One call on a set, not timed. */
    void (*call)(size_t set);

    /* Transfers the operands of `count` sets again, from `first` on, because they have changed. */
    void (*renew)(size_t first, size_t count);

    /* For bench_options, with any context; NULL: bench's own. */
    double (*timed)(void *context, size_t first, size_t calls);
    double (*probe)(void *context, double seconds);

    /* The shortest sample, in seconds, that its clock can time; NULL: bench's own. */
    double (*least_sample_s)(void);

    /* After samples of so many calls, per_call_s seconds each: verifies its clock.  A failure ends the
     * launch. */
    void (*judge)(size_t calls, double per_call_s, struct check_result *checked);

    /* Adds "prepare_s" and "library" to the answer; making the plan took prepare_s. */
    void (*note_preparation)(struct worker *worker, double prepare_s);

    /* Adds "peak_rss_bytes" and its own numbers on the samples to the answer. */
    void (*note_samples)(struct worker *worker);

    /* "ceiling" of the answer, like worker_launch_ceilings(). */
    json_t *(*ceilings)(const struct worker *worker, const struct tensor_set *sets,
                        const struct bench_disturbance *disturbance, double median_s);
};

/* Kernels of this program and of shared objects. */
extern const struct backend in_process_backend;

/* A kernel of another program (docs/protocol.md) as a struct attn_kernel, so that it is checked like any
 * other: its execute copies the operands to the program and the results back.  It is timed by the program's
 * clock (program_clock.h).  One at a time. */
extern const struct backend in_program_backend;

/* ---- ceilings measured beside the samples of a launch (worker_launch_ceilings.c) ------------- */

#define LAUNCH_CEILINGS_S 0.004 /* seconds for each */

/* "ceiling" of the answer: the machine's rates during a launch whose samples have this median. */
json_t *worker_launch_ceilings(const struct worker *worker, const struct tensor_set *sets,
                               const struct bench_disturbance *disturbance, double median_s);
