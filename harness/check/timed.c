/*
 * timed: judges the outputs of every sample of a launch.
 */
#include "timed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "system/float_env.h"
#include "trial.h"
#include "problem/negation.h"
#include "compare.h"

#define ROWS 32      /* compared of all first outputs together */
#define LEAST_ROWS 4 /* of one output */
#define REPEATS 8    /* calls to get the first output back */

struct timed_output {
    bool known;
    uint64_t hash; /* as if nothing were negated */
    struct negation negation;
};

bool timed_open(struct timed *timed)
{
    /* For a kernel that varies only some rows are compared, so each of them must show a change. */
    const bool all = timed->kernel->caps.varies;
    bool memory = (timed->outputs = calloc(timed->count, sizeof *timed->outputs));
    for (size_t n = 0; memory && n < timed->count; n++)
        memory = negation_open(&timed->outputs[n].negation, timed->problem, all,
                               random_key(timed->seed, n));
    return memory;
}

void timed_close(struct timed *timed)
{
    for (size_t n = 0; timed->outputs && n < timed->count; n++)
        negation_close(&timed->outputs[n].negation);
    free(timed->outputs);
    timed->outputs = NULL;
}

bool timed_own(struct timed *timed, struct message message)
{
    bool right = true;
    for (size_t n = 0; right && n < timed->count; n++)
        right = negation_own(&timed->outputs[n].negation, &timed->sets[n], timed->problem, message);
    return right;
}

void timed_renew(struct timed *timed, size_t first, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const size_t set = (first + n) % timed->count;
        negation_turn(&timed->outputs[set].negation, &timed->sets[set], timed->problem,
                      random_key(timed->seed + timed->launch, timed->turns++));
    }
}

/* Undoes the negation of a set's outputs, and returns their hash. */
static uint64_t hash_of(const struct timed *timed, size_t set)
{
    negation_undo(&timed->outputs[set].negation, &timed->sets[set], timed->problem);
    return tensors_results_hash(&timed->sets[set], timed->problem);
}

/* ---- why ------------------------------------------------------------------------------------- */

/* Puts the number of the sample in front of the message. */
static void name_sample(struct timed *timed)
{
    char what[sizeof timed->result.why];
    memcpy(what, timed->result.why, sizeof what);
    const int n = snprintf(timed->result.why, sizeof timed->result.why,
                           "sample %zu of launch %zu: ", timed->samples, timed->launch);
    memcpy(timed->result.why + n, what, sizeof what - (size_t)n);
    timed->result.why[sizeof timed->result.why - 1] = '\0';
}

/* Finds where a set's wrong output differs from its first one, which is computed again. */
static bool locate(const struct timed *timed, size_t set, const struct kept *spoiled,
                   struct tensors_place *at, struct kept_difference *d)
{
    const struct attn_problem *p = timed->problem;
    const struct attn_tensors *first = &timed->sets[set].tensors;
    size_t row;
    bool back = false;
    for (int n = 0; !back && n < REPEATS; n++) {
        timed->call(timed->call_context, set);
        back = hash_of(timed, set) == timed->outputs[set].hash;
    }
    if (!back || !kept_differing(p, &spoiled->tensors, first, &row, 1))
        return false;
    *at = tensors_place(p, first, row);
    return kept_difference(p, &spoiled->tensors, first, *at, d);
}

/* Always false. */
static bool fail_hash(struct timed *timed, size_t set)
{
    const struct attn_problem *p = timed->problem;
    struct check_result *result = &timed->result;
    struct kept spoiled;
    struct tensors_place at;
    struct kept_difference d;
    char where[256] = "";
    if (kept_copy(&spoiled, p, &timed->sets[set]) && locate(timed, set, &spoiled, &at, &d)) {
        const bool is_o =
            strcmp(d.tensor, "o") == 0; /* negated in what the call gave, then both: */
        const double sign =
            is_o && negation_is_of(&timed->outputs[set].negation, p, at.b, at.h, d.element) ? -1
                                                                                            : 1;
        snprintf(
            where, sizeof where, " at %s (b %zu, h %zu, i %zu) element %zu: got %.*g, first %.*g%s",
            d.tensor, at.b, at.h, at.i, d.element, compare_digits(p), sign * d.a, compare_digits(p),
            sign * d.b,
            d.a == -d.b && is_o ? ": as before V was negated, so it was kept, not computed" : "");
    }
    kept_free(&spoiled);
    result->max_abs_error = result->error_over_bound = NAN;
    snprintf(result->phase, sizeof result->phase, "timed call");
    snprintf(result->why, sizeof result->why,
             "sample %zu of launch %zu differs from its first output%s", timed->samples,
             timed->launch, where);
    return result->ok = false;
}

/* ---- judging --------------------------------------------------------------------------------- */

/* Whether a call left this thread's floating-point environment unchanged; else restores it and notes the
 * failure. */
static bool left_float_env(struct check_result *result)
{
    char changed[FLOAT_ENV_TEXT];
    if (!float_env_changed(changed))
        return true;
    float_env_reset(); /* the reference must not use the kernel's environment */
    snprintf(result->phase, sizeof result->phase, "timed call");
    snprintf(result->why, sizeof result->why, "leaves the floating-point environment changed: %s",
             changed);
    return result->ok = false;
}

bool timed_rows(const struct attn_kernel *kernel, const struct attn_problem *problem,
                const struct attn_tensors *tensors, size_t rows, uint64_t seed,
                struct check_result *result)
{
    struct comparison comparison;
    size_t *picked;
    if (!left_float_env(result))
        return false;
    const int threads = 1; /* a few rows, and the threads belong to the measurement */
    const size_t count = pick_rows(problem, tensors, threads, rows, seed, &picked);
    if (!picked || !compare_rows(kernel, problem, tensors, picked, count, threads, STORED_NEVER,
                                 &comparison)) {
        snprintf(result->why, sizeof result->why, "no memory to compare rows");
        free(picked);
        result->unfinished = true;
        return result->ok = false;
    }
    free(picked);
    result->rows += comparison.rows;
    compare_note(result, &comparison);
    if (comparison.wrong_rows && result->ok) {
        const struct tensors_place at = tensors_place(problem, tensors, comparison.first.row);
        result->ok = false;
        snprintf(result->phase, sizeof result->phase, "timed call");
        snprintf(result->why, sizeof result->why,
                 "%s row (b %zu, h %zu, i %zu) element %zu: got %.*g, expected %.*g, bound %.3g",
                 comparison.first.tensor, at.b, at.h, at.i, comparison.first.element,
                 compare_digits(problem), comparison.first.got, compare_digits(problem),
                 comparison.first.expected, comparison.first.bound);
    }
    return result->ok;
}

static bool by_rows(struct timed *timed, size_t set, size_t rows)
{
    if (timed_rows(timed->kernel, timed->problem, &timed->sets[set].tensors, rows,
                   timed->seed + timed->samples + set, &timed->result))
        return true;
    name_sample(timed);
    return false;
}

static bool judge(struct timed *timed, size_t set)
{
    struct timed_output *output = &timed->outputs[set];
    if (timed->kernel->caps.varies)
        return by_rows(timed, set, LEAST_ROWS);
    const size_t rows = ROWS / timed->count;
    if (!output->known && !by_rows(timed, set, rows > LEAST_ROWS ? rows : LEAST_ROWS))
        return false;
    const uint64_t hash = hash_of(timed, set);
    if (output->known)
        return hash == output->hash || fail_hash(timed, set);
    output->known = true;
    output->hash = hash;
    return true;
}

bool timed_sample(struct timed *timed, size_t first, size_t count)
{
    timed->samples++;
    bool right = left_float_env(&timed->result);
    if (!right)
        name_sample(timed);
    for (size_t n = 0; right && n < count; n++)
        right = judge(timed, (first + n) % timed->count);
    timed->mismatches += !right;
    return right;
}
