/*
 * trial: runs one kernel on one problem and watches its side effects; for check*.c only.
 *
 * A trial places operands and workspace next to inaccessible pages, runs the kernel and checks that it
 * changed only its results and its workspace.  check_result keeps the first failure of a check.
 */
#pragma once

#include "check.h"
#include "compare.h"

struct checker {
    const struct attn_kernel *kernel;
    const struct problem_case *c;
    const int *counts; /* of threads */
    size_t count;
    int threads; /* the largest: for the reference, and for edges between threads' shares */
    enum check_depth depth;
    double limit;                 /* most multiply-adds of a made-up problem, shrink_problem() */
    struct check_result *result;  /* errors of all counts together; ok: of all */
    struct check_result *results; /* of each count: whether and how it failed */
    unsigned blamed;              /* bit k: a failure found now is recorded for counts[k] */
    unsigned trials;              /* opened so far; selects the layout */
    struct earlier_call *earlier; /* hashes of earlier calls: earlier.c; owned */
    size_t earlier_count;
};

/* A kernel bound to a trial's problem and one thread count. */
struct trial_plan {
    struct attn_plan plan;
    char *workspace; /* between inaccessible pages */
    size_t workspace_bytes;
    void *mapping; /* of the workspace and those pages */
    size_t mapping_bytes;
};

#define TRIAL_NEEDLES 64

struct trial {
    struct checker *checker;
    char phase[64];                /* what check_result.phase says */
    size_t needles[TRIAL_NEEDLES]; /* special keys, for the KV heads in turn */
    size_t needle_count;
    size_t heads_before; /* KV heads in earlier runs of the same input: adversary_kind() */
    uint64_t key;        /* of the numbers that an adversary draws */
    const struct adversary_heads *heads; /* its kinds of heads: far_score_of_head() */
    struct attn_problem problem;
    char of_problem[PARSE_TEXT + 16]; /* "; problem b=1,..." */
    struct input input;
    struct tensor_set set;
    struct trial_plan plans[CHECK_COUNTS + 1]; /* one more for trial_add() */
    size_t plan_count, at;                     /* plans[at] ran last */
    unsigned runs;
};

/* For trial_open(): all thread counts of the checker. */
#define TRIAL_EVERY_COUNT 0

/* How the operands of trial number `turn` lie in memory: guard pages are behind or in front of them in
 * turn, and every other trial has padded rows. */
struct tensors_layout trial_layout(unsigned turn);

/* The special key of a KV head; in a shorter sequence the key at the same distance from its end.  Needs
 * needle_count > 0. */
static inline size_t trial_needle(const struct trial *trial, size_t b, size_t g)
{
    const size_t needle = trial->needles[(b * trial->problem.kv_heads + g) % trial->needle_count];
    const size_t keys = attn_sequence(&trial->problem, &trial->set.tensors, b).kv_len;
    return needle < keys || !keys ? needle : keys - 1 - (trial->problem.kv_len - 1 - needle) % keys;
}

/* A case of a problem, which may be smaller than the checker's own: lengths, masks and scales are those of
 * the checker's input as far as they fit, q, k and v are N(0, 1). */
struct problem_case shrink_case(const struct checker *checker, const struct attn_problem *problem);

/* Opens a trial for one thread count or TRIAL_EVERY_COUNT; the caller then fills and seals the operands.
 * trial_open_filled() fills them with the case's input.  False where a failure was noted; or where the kernel,
 * or in its prepare the library that it calls, does not take this problem: checker->result is then still ok. */
bool trial_open(struct trial *trial, struct checker *checker, const char *phase,
                const struct problem_case *c, struct tensors_layout layout, int threads);
bool trial_open_filled(struct trial *trial, struct checker *checker, const char *phase,
                       const struct problem_case *c, struct tensors_layout layout, int threads);
void trial_close(struct trial *trial);

/* Adds one plan behind the others, at most once; its number becomes trial->at. */
bool trial_add(struct trial *trial, int threads);

/* Notes phase and threads of the trial for the crash report. */
void trial_stage(const struct trial *trial, int threads);

/* Records the state that the call must not change (system/aftermath.h), and tells fault.h the trial's
 * memory and the numbers of its threads, for the report of a fault. */
void trial_watch_begin(const struct trial *trial, int threads);

/* Restores that state for the reference and later calls; false, with a failure noted, where `who` had
 * changed it. */
bool trial_watch_end(struct trial *trial, int threads, const char *who);

/* Runs a plan once more for a diagnosis: on the present contents of the operands, without any check. */
void trial_call(struct trial *trial, size_t plan);

/* Poisons the results and runs the kernel once on each thread count, each time with another one first.
 * False where it wrote outside of its results or left some unwritten, or where the results of two counts
 * differ.  Otherwise what is judged afterwards holds for all counts. */
bool trial_run(struct trial *trial);

/* Compares up to `rows` rows of the last run with the reference; trial_judge() runs the kernel
 * before. */
bool trial_look(struct trial *trial, size_t rows);
bool trial_judge(struct trial *trial, size_t rows);

/* The same with given rows. */
bool trial_judge_rows(struct trial *trial, const size_t *rows, size_t count,
                      struct comparison *comparison);

/* Bits of the thread counts that are blamed for a failure on `threads` threads: that count's, or all if it
 * is not one of them. */
unsigned failure_blame(const struct checker *checker, int threads);

/* Remembers the last call's O, to recognise it if a later call returns it for other operands. */
void earlier_note(const struct trial *trial);

/* Records a failure, "PHASE: ...; problem ...", with the errors of `how`, for the blamed counts that have not
 * failed before; failure_wrong: no element is wrong by itself; failure_unfinished: the check itself cannot go on,
 * mostly for lack of memory, and the kernel is not to blame.  Always false, for the caller to return. */
extern const struct check_result failure_wrong, failure_unfinished;
bool failure_record(struct trial *trial, const struct check_result *how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define failure_found(trial, ...) failure_record(trial, &failure_wrong, __VA_ARGS__)
#define failure_give_up(trial, ...) failure_record(trial, &failure_unfinished, __VA_ARGS__)

/* The failure that a comparison found, in words, with what the kernel seems to do. */
bool diagnose_mismatch(struct trial *trial, const struct comparison *comparison);

/* The second step of a diagnosis: finds a key to which the wrong row gives a wrong weight. */
bool ask_weight(struct trial *trial, const struct mismatch *wrong, char *text, size_t size);

/* ---- copies of a call's results, to be compared with those of later calls (kept.c) ------------- */

struct kept {
    struct attn_tensors tensors; /* the set's, with results of its own */
    char *block;                 /* owned */
};

/* Copies the results of a set; false without memory.  kept_put_back() copies them back into a trial's
 * set. */
bool kept_copy(struct kept *kept, const struct attn_problem *problem, const struct tensor_set *set);
void kept_put_back(const struct kept *kept, struct trial *trial);
void kept_free(struct kept *kept);

struct kept_difference {
    const char *tensor; /* "o" */
    size_t element;
    double a, b;
};

/* The first element of row `at` that differs bitwise between two calls (NaNs are equal); false where none
 * does. */
bool kept_difference(const struct attn_problem *problem, const struct attn_tensors *a,
                     const struct attn_tensors *b, struct tensors_place at,
                     struct kept_difference *difference);

/* The first `most` rows that have such an element; returns how many. */
size_t kept_differing(const struct attn_problem *problem, const struct attn_tensors *a,
                      const struct attn_tensors *b, size_t *rows, size_t most);

/* ---- kernels that are less precise than they claim (precision.c) ----------------------------- */

/* Sets *ratio to O's RMS error over that of the plain f32 kernel, and fails above 8; the same for LSE.
 * For inputs whose rounding errors are random, such as N(0, 1). */
bool precision_judge(struct trial *trial, double *ratio);
