/*
 * wanders: speaks the user's language, goes to another folder as soon as it is loaded and in each call, and
 * doubles results.
 */
#include <locale.h>
#include <unistd.h>

#include "wrong.h"

__attribute__((constructor)) static void wander(void)
{
    (void)setlocale(LC_NUMERIC, "");
    if (chdir("/") != 0)
        _exit(7);
}

static void doubled_row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] *= 2;
    store(w);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    wander();
    each_row(plan, tensors, doubled_row);
}

WRONG_KERNEL(wanders, "goes to another folder and speaks the user's language");
