/*
 * alone: tests whether a row that is wrong on several threads is right on one.
 */
#include <stdio.h>

#include "evidence.h"

/* Useful flops above which a run on one thread takes too long: seconds of a plain loop. */
#define LIMIT 4e9

/* Calls that must all agree before a wrong row counts as reproducible. */
#define AGAIN 4

/* The trial's plan of one thread, or a new one; false where it cannot be made. */
static bool find_alone(struct trial *trial, size_t *plan)
{
    for (*plan = 0; *plan < trial->plan_count; ++*plan)
        if (trial->plans[*plan].plan.threads == 1)
            return true;
    const size_t at = trial->at;
    const unsigned blamed = trial->checker->blamed;
    const bool made = trial_add(trial, 1);
    trial->at = at;
    trial->checker->blamed = blamed;
    return made;
}

/* Whether the row that was wrong is right now. */
static bool is_right(const struct evidence *e)
{
    const struct trial *trial = e->trial;
    struct comparison of;
    return compare_rows(trial->checker->kernel, &trial->problem, &trial->set.tensors, &e->wrong.row,
                        1, 1, STORED_NEVER, &of) &&
           !of.wrong_rows;
}

bool alone_reason(struct evidence *e, bool *changes, char *text, size_t size)
{
    struct trial *trial = e->trial;
    struct kept kept;
    const int threads = trial->plans[trial->at].plan.threads;
    size_t alone, row;
    *changes = false;
    if (threads == 1 || attn_useful_flops(&trial->problem) > LIMIT || !find_alone(trial, &alone) ||
        !kept_copy(&kept, &trial->problem, &trial->set))
        return false;
    trial_call(trial, alone);
    const bool right = is_right(e);
    for (int n = 0; right && !*changes && n < AGAIN; n++) {
        trial_call(trial, trial->at);
        *changes = kept_differing(&trial->problem, &kept.tensors, &trial->set.tensors, &row, 1);
    }
    kept_put_back(&kept, trial);
    kept_free(&kept);
    if (right)
        snprintf(text, size, "right on 1 thread, on %d %s", threads,
                 *changes ? "not the same from call to call: a race?"
                          : "wrong in the same way each time");
    return right;
}
