/*
 * check: the phases of a check, in the order in which they are run.
 */
#include "check.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "phases.h"

/* Multiply-adds of the small problem. */
#define SMALL 5e7
#define SMALL_THOROUGH 5e8

/* ---- the case's own lengths ---------------------------------------------------------------- */

/* Compares at most `most` rows; SIZE_MAX: those of pick_own(). */
static bool judge(struct trial *trial, const struct problem_case *c, size_t most)
{
    const struct checker *checker = trial->checker;
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    struct comparison comparison = {0};
    size_t *rows;
    const size_t count = most == SIZE_MAX
                             ? pick_own(c, t, &rows)
                             : pick_rows(p, t, checker->threads, most, checker->trials, &rows);
    if (!rows)
        return failure_give_up(trial, "no memory to pick rows");
    const bool right = trial_judge_rows(trial, rows, count, &comparison);
    if (c == checker->c)
        compare_note(checker->result, &comparison);
    free(rows);
    return right;
}

static bool check_case(struct checker *checker, const char *phase, const struct problem_case *c,
                       size_t rows, bool precision)
{
    struct trial trial;
    if (!trial_open_filled(&trial, checker, phase, c, trial_layout(checker->trials++),
                           TRIAL_EVERY_COUNT))
        return checker->result->ok &&
               failure_found(&trial, "the kernel does not support this problem");
    bool right = trial_run(&trial) && judge(&trial, c, rows);
    if (right && precision) {
        snprintf(trial.phase, sizeof trial.phase, "precision");
        right = precision_judge(&trial, &checker->result->rms_ratio);
    }
    trial_close(&trial);
    return right;
}

/* Judges precision on N(0, 1) at the case's own lengths; with LSE where the kernel has it, and with the
 * guard page at the other end of operands than in the first run. */
static bool check_normal(struct checker *checker)
{
    const struct attn_problem p = shrink_full_length(checker);
    struct problem_case normal = shrink_case(checker, &p);
    normal.input.seed = 1;
    normal.problem.outputs |= checker->kernel->caps.outputs & ATTN_OUTPUT_LSE;
    checker->trials |= 1;
    return check_case(checker, "normal input", &normal, CHECK_SAMPLED_ROWS, true);
}

/* ---- all of it ----------------------------------------------------------------------------- */

static bool check_phases(struct checker *checker)
{
    const struct problem_case *c = checker->c;
    if (checker->depth == CHECK_INVARIANT) {
        const struct attn_problem limited = shrink_problem(&c->problem, checker->limit);
        return check_case(checker, "own input", c, CHECK_SAMPLED_ROWS, false) &&
               invariant_run(checker, &limited);
    }
    if (!check_case(checker, "own input", c, SIZE_MAX, false) || checker->depth == CHECK_CASE)
        return checker->result->ok;
    const struct attn_problem small = shrink_problem(&c->problem, checker->limit);
    const bool same_lengths = small.q_len == c->problem.q_len && small.kv_len == c->problem.kv_len;
    return adversary_run(checker, &small, ADVERSARY_OWN) && repeats_run(checker, &small) &&
           properties_run(checker, &small) && merge_split(checker, &small) &&
           merge_hull(checker, &small) && (same_lengths || adversary_full_length(checker)) &&
           check_normal(checker) && adversary_run(checker, &small, ADVERSARY_FOREIGN) &&
           variation_run(checker, &small) && adversary_run(checker, &small, ADVERSARY_FINE);
}

/* Copies the common result to each thread count; one that failed keeps its own error figures. */
static void share_out(const struct check_result *all, struct check_result *result)
{
    const struct check_result own = *result;
    *result = *all;
    result->ok = own.ok;
    result->unfinished = own.unfinished;
    if (own.ok)
        return;
    result->max_abs_error = own.max_abs_error;
    result->error_over_bound = own.error_over_bound;
    memcpy(result->phase, own.phase, sizeof own.phase);
    memcpy(result->why, own.why, sizeof own.why);
}

bool check_counts(const struct attn_kernel *kernel, const struct problem_case *c,
                  const int *threads, size_t count, enum check_depth depth,
                  struct check_result *results)
{
    bool right = true;
    assert(count >= 1 && count <= CHECK_COUNTS);
    for (size_t k = 0; kernel->caps.varies && count > 1 && k < count; k++)
        right = check_counts(kernel, c, &threads[k], 1, depth, &results[k]) && right;
    if (kernel->caps.varies && count > 1)
        return right;
    struct check_result all = {.ok = true};
    struct checker checker = {.kernel = kernel,
                              .c = c,
                              .counts = threads,
                              .count = count,
                              .depth = depth,
                              .limit = depth >= CHECK_THOROUGH ? SMALL_THOROUGH : SMALL,
                              .result = &all,
                              .results = results};
    for (size_t k = 0; k < count; k++) {
        results[k] = (struct check_result){.ok = true};
        checker.threads = threads[k] > checker.threads ? threads[k] : checker.threads;
    }
    check_phases(&checker);
    free(checker.earlier);
    for (size_t k = 0; k < count; k++)
        share_out(&all, &results[k]);
    return all.ok;
}
