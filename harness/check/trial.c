/*
 * trial: runs a kernel and checks what it changed.
 */
#include "trial.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "system/aftermath.h"

/* Rows that are judged where two thread counts differ. */
#define DIFFERING 64

/* ---- memory -------------------------------------------------------------------------------- */

struct tensors_layout trial_layout(unsigned turn)
{
    return (struct tensors_layout){
        .guard = turn % 2 ? TENSORS_GUARD_FRONT : TENSORS_GUARD_BACK,
        .row_padding = turn % 4 / 2 ? 3 : 0,
    };
}

bool trial_open(struct trial *trial, struct checker *checker, const char *phase,
                const struct problem_case *c, struct tensors_layout layout, int threads)
{
    const char *why;
    char message[256], problem[PARSE_TEXT];
    *trial = (struct trial){.checker = checker, .problem = c->problem, .input = c->input};
    aftermath_settle(); /* the destroy functions of the last trial's plans may have changed it */
    parse_print_problem(&trial->problem, problem);
    snprintf(trial->of_problem, sizeof trial->of_problem, "; problem %s", problem);
    snprintf(trial->phase, sizeof trial->phase, "%s", phase);
    checker->blamed = UINT_MAX;
    if (!attn_supports(checker->kernel, &c->problem, &why))
        return false;
    if (!tensors_alloc_case(&trial->set, c, &layout, MESSAGE(message)))
        return failure_give_up(trial, "%s", message);
    const bool one = threads != TRIAL_EVERY_COUNT;
    bool right = true;
    for (size_t k = 0; right && k < (one ? 1 : checker->count); k++)
        right = trial_add(trial, one ? threads : checker->counts[k]);
    checker->blamed = one ? failure_blame(checker, threads) : UINT_MAX;
    if (!right)
        trial_close(trial);
    return right;
}

bool trial_open_filled(struct trial *trial, struct checker *checker, const char *phase,
                       const struct problem_case *c, struct tensors_layout layout, int threads)
{
    char message[256];
    if (!trial_open(trial, checker, phase, c, layout, threads))
        return false;
    if (tensors_fill(&trial->set, c, 0, MESSAGE(message)))
        return true;
    trial_close(trial);
    return failure_give_up(trial, "%s", message);
}

void trial_close(struct trial *trial)
{
    for (size_t k = 0; k < trial->plan_count; k++) {
        attn_plan_destroy(&trial->plans[k].plan);
        if (trial->plans[k].mapping)
            munmap(trial->plans[k].mapping, trial->plans[k].mapping_bytes);
    }
    trial->plan_count = 0;
    tensors_free(&trial->set);
}

/* ---- running ------------------------------------------------------------------------------- */

/* One call. */
static bool run(struct trial *trial, size_t plan)
{
    struct tensors_spot spot;
    trial->at = plan;
    trial->checker->blamed = failure_blame(trial->checker, trial->plans[plan].plan.threads);
    trial_stage(trial, trial->plans[plan].plan.threads);
    tensors_poison(&trial->set, &trial->problem);
    trial_watch_begin(trial, trial->plans[plan].plan.threads);
    attn_execute(&trial->plans[plan].plan, &trial->set.tensors);
    if (!trial_watch_end(trial, trial->plans[plan].plan.threads, "the kernel"))
        return false;
    const char *changed = tensors_changed(&trial->set, &trial->problem);
    if (changed)
        return failure_found(trial, "the kernel changed its operand %s", changed);
    if (!tensors_padding_intact(&trial->set, &trial->problem, &spot))
        return failure_found(trial, "the kernel wrote past the end of %s row (b %zu, h %zu, i %zu)",
                             spot.tensor, spot.b, spot.h, spot.i);
    if (!tensors_written(&trial->set, &trial->problem, &spot))
        return failure_found(trial,
                             "the kernel left %s row (b %zu, h %zu, i %zu) element %zu unwritten",
                             spot.tensor, spot.b, spot.h, spot.i, spot.d);
    earlier_note(trial);
    return true;
}

/* A failure in the results of plan number `at`. */
static bool fail_plan(struct trial *trial, size_t at, const struct comparison *comparison)
{
    trial->at = at;
    trial->checker->blamed = failure_blame(trial->checker, trial->plans[at].plan.threads);
    return diagnose_mismatch(trial, comparison);
}

/* Compares the last call with an earlier one on another thread count.  Where they differ, the
 * reference says which is wrong; where it accepts both, both fail because they differ. */
static bool must_equal(struct trial *trial, const struct kept *first, size_t first_at)
{
    struct checker *checker = trial->checker;
    const struct attn_tensors *const results[] = {&trial->set.tensors, &first->tensors};
    struct comparison of[2];
    size_t rows[DIFFERING];
    const size_t last = trial->at,
                 count = kept_differing(&trial->problem, results[0], results[1], rows, DIFFERING);
    if (!count)
        return true;
    for (int n = 0; n < 2; n++)
        if (!compare_rows(checker->kernel, &trial->problem, results[n], rows, count,
                          checker->threads, STORED_NEVER, &of[n]))
            return failure_give_up(trial, "no memory to compare rows");
    if (of[0].wrong_rows)
        fail_plan(trial, last, &of[0]);
    else
        kept_put_back(first, trial);
    if (of[1].wrong_rows)
        fail_plan(trial, first_at, &of[1]);
    const int a = trial->plans[first_at].plan.threads, b = trial->plans[last].plan.threads;
    const struct tensors_place at = tensors_place(&trial->problem, &trial->set.tensors, rows[0]);
    if (of[0].wrong_rows || of[1].wrong_rows)
        return false;
    checker->blamed = failure_blame(checker, a) | failure_blame(checker, b);
    return failure_found(trial, "row (b %zu, h %zu, i %zu) differs bitwise on %d threads and on %d",
                         at.b, at.h, at.i, a < b ? a : b, a < b ? b : a);
}

bool trial_run(struct trial *trial)
{
    struct kept first = {.block = NULL};
    const size_t n = trial->plan_count, begin = trial->checker->trials + trial->runs++;
    size_t first_at = 0;
    bool right = true;
    for (size_t i = 0; i < n; i++) {
        if (!run(trial, (begin + i) % n)) {
            right = false;
            if (tensors_changed(&trial->set, &trial->problem))
                break; /* the other counts would be blamed */
        } else if (first.block && !must_equal(trial, &first, first_at)) {
            right = false;
            break; /* a diagnosis may have changed V */
        } else if (!first.block && i + 1 < n) {
            first_at = trial->at;
            right = (kept_copy(&first, &trial->problem, &trial->set) ||
                     failure_give_up(trial, "no memory to keep results")) &&
                    right;
        }
    }
    kept_free(&first);
    if (n > 1)
        trial->checker->blamed = UINT_MAX;
    return right;
}

bool trial_judge_rows(struct trial *trial, const size_t *rows, size_t count,
                      struct comparison *comparison)
{
    const uint64_t input = stored_input(&trial->problem, &trial->set);
    struct checker *checker = trial->checker;
    struct check_result *result = checker->result;
    if (!compare_rows(checker->kernel, &trial->problem, &trial->set.tensors, rows, count,
                      checker->threads, input, comparison))
        return failure_give_up(trial, "no memory to compare rows");
    result->rows += comparison->rows;
    if (comparison->over_bound > result->hardest_over_bound) {
        result->hardest_over_bound = comparison->over_bound;
        snprintf(result->hardest, sizeof result->hardest, "%s", trial->phase);
    }
    return !comparison->wrong_rows || diagnose_mismatch(trial, comparison);
}

bool trial_judge(struct trial *trial, size_t most)
{
    return trial_run(trial) && trial_look(trial, most);
}

bool trial_look(struct trial *trial, size_t most)
{
    struct comparison comparison;
    size_t *rows;
    const size_t count = pick_rows(&trial->problem, &trial->set.tensors, trial->checker->threads,
                                   most, trial->checker->trials, &rows);
    const bool right = rows ? trial_judge_rows(trial, rows, count, &comparison)
                            : failure_give_up(trial, "no memory to pick rows");
    free(rows);
    return right;
}
