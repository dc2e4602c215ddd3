/*
 * timed: judges the outputs of every sample of a launch.
 */
#include "timed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "trial.h"
#include "problem/negation.h"
#include "compare.h"

#define ROWS 32      /* compared of all first outputs together */
#define LEAST_ROWS 4 /* of one output */
#define REPEATS 8    /* calls to get the first output back */

struct check_timed_output {
    bool known;
    uint64_t hash; /* as if nothing were negated */
    struct negation negation;
};

bool check_timed_open(struct check_timed *timed)
{
    /* For a kernel that varies only some rows are compared, so each of them must show a change. */
    const bool all = timed->kernel->caps.varies;
    bool memory = (timed->outputs = calloc(timed->count, sizeof *timed->outputs));
    for (size_t n = 0; memory && n < timed->count; n++)
        memory = negation_open(&timed->outputs[n].negation, timed->problem, all,
                               random_key(timed->seed, n));
    return memory;
}

void check_timed_close(struct check_timed *timed)
{
    for (size_t n = 0; timed->outputs && n < timed->count; n++)
        negation_close(&timed->outputs[n].negation);
    free(timed->outputs);
    timed->outputs = NULL;
}

bool check_timed_own(struct check_timed *timed, char *message, size_t message_size)
{
    bool right = true;
    for (size_t n = 0; right && n < timed->count; n++)
        right = negation_own(&timed->outputs[n].negation, &timed->sets[n], timed->problem, message,
                             message_size);
    return right;
}

void check_timed_renew(struct check_timed *timed, size_t first, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const size_t set = (first + n) % timed->count;
        negation_turn(&timed->outputs[set].negation, &timed->sets[set], timed->problem,
                      random_key(timed->seed + timed->launch, timed->turns++));
    }
}

/* Undoes the negation of a set's outputs, and returns their hash. */
static uint64_t hash_of(const struct check_timed *timed, size_t set)
{
    negation_undo(&timed->outputs[set].negation, &timed->sets[set], timed->problem);
    return tensors_results_hash(&timed->sets[set], timed->problem);
}

/* ---- why ------------------------------------------------------------------------------------- */

/* Puts the number of the sample in front of the message. */
static void name_sample(struct check_timed *timed)
{
    char what[sizeof timed->result.why];
    memcpy(what, timed->result.why, sizeof what);
    const int n = snprintf(timed->result.why, sizeof timed->result.why,
                           "sample %zu of launch %zu: ", timed->samples, timed->launch);
    memcpy(timed->result.why + n, what, sizeof what - (size_t)n);
    timed->result.why[sizeof timed->result.why - 1] = '\0';
}

/* Finds where a set's wrong output differs from its first one, which is computed again. */
static bool locate(const struct check_timed *timed, size_t set, const struct check_kept *spoiled,
                   struct tensors_place *at, struct check_difference *d)
{
    const struct attn_problem *p = timed->problem;
    const struct attn_tensors *first = &timed->sets[set].tensors;
    size_t row;
    bool back = false;
    for (int n = 0; !back && n < REPEATS; n++) {
        timed->call(timed->call_context, set);
        back = hash_of(timed, set) == timed->outputs[set].hash;
    }
    if (!back || !check_differing(p, &spoiled->tensors, first, &row, 1))
        return false;
    *at = tensors_place(p, first, row);
    return check_difference(p, &spoiled->tensors, first, *at, d);
}

/* Always false. */
static bool fail_hash(struct check_timed *timed, size_t set)
{
    const struct attn_problem *p = timed->problem;
    struct check_result *result = &timed->result;
    struct check_kept spoiled;
    struct tensors_place at;
    struct check_difference d;
    char where[256] = "";
    if (check_keep(&spoiled, p, &timed->sets[set]) && locate(timed, set, &spoiled, &at, &d)) {
        const bool is_o = d.output == ATTN_OUTPUT_O; /* negated in what the call gave, then both: */
        const double sign =
            is_o && negation_is_of(&timed->outputs[set].negation, p, at.b, at.h, d.element) ? -1
                                                                                            : 1;
        snprintf(where, sizeof where,
                 " at %s (b %zu, h %zu, i %zu) element %zu: got %.*g, first %.*g%s", d.tensor, at.b,
                 at.h, at.i, d.element, check_digits(p), sign * d.a, check_digits(p), sign * d.b,
                 d.a == -d.b && is_o ? ": as before V was negated, so it was kept, not computed"
                                     : "");
    }
    check_kept_free(&spoiled);
    result->max_abs_error = result->error_over_bound = NAN;
    snprintf(result->phase, sizeof result->phase, "timed call");
    snprintf(result->why, sizeof result->why,
             "sample %zu of launch %zu differs from its first output%s", timed->samples,
             timed->launch, where);
    return result->ok = false;
}

/* ---- judging --------------------------------------------------------------------------------- */

static bool by_rows(struct check_timed *timed, size_t set, size_t rows)
{
    if (check_rows(timed->kernel, timed->problem, &timed->sets[set].tensors, rows,
                   timed->seed + timed->samples + set, &timed->result))
        return true;
    name_sample(timed);
    return false;
}

static bool judge(struct check_timed *timed, size_t set)
{
    struct check_timed_output *output = &timed->outputs[set];
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

bool check_timed_sample(struct check_timed *timed, size_t first, size_t count)
{
    timed->samples++;
    bool right = check_float_env(&timed->result);
    if (!right)
        name_sample(timed);
    for (size_t n = 0; right && n < count; n++)
        right = judge(timed, (first + n) % timed->count);
    timed->mismatches += !right;
    return right;
}
