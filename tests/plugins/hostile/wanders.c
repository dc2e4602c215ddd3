/*
 * wanders: speaks the user's language, in the process and in the thread that calls it, goes to another folder
 * as soon as it is loaded and in each of its functions, and doubles results.
 */
#define _GNU_SOURCE
#include <locale.h>
#include <unistd.h>

#include "wrong.h"

__attribute__((constructor)) static void wander(void)
{
    (void)setlocale(LC_NUMERIC, "");
    const locale_t theirs = newlocale(LC_NUMERIC_MASK, "", NULL);
    if (theirs)
        uselocale(theirs);
    if (chdir("/") != 0)
        _exit(7);
}

static bool supports(const struct attn_problem *problem, const char **why)
{
    (void)problem, (void)why;
    wander();
    return true;
}

static void wander_with_plan(struct attn_plan *plan)
{
    (void)plan;
    wander();
}

static void double_o(struct work *w)
{
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] *= 2;
}

static void doubled_row(struct work *w)
{
    changed_row(w, SUM, double_o);
}

WRONG_CALL(wanders, "goes to another folder and speaks the user's language", .supports = supports,
           .prepare = wander_with_plan, .destroy = wander_with_plan)
{
    wander();
    each_row(plan, tensors, doubled_row);
}
