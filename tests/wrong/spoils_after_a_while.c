/*
 * spoils_after_a_while: keeps something about keys that it has seen before, and computes nonsense
 * once what it has kept is a while old, as where a cache expires or a tick counter wraps.
 */
#include <time.h>

#include "spoil.h"

#define WHILE_S 0.3 /* longer than warming up takes on a busy machine; samples take half a second */
#define OFTEN 5     /* no check calls it more often on the same operands */
#define KEPT 8      /* operands */

static double now(void)
{
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float sum_of(const struct attn_tensor *t, const struct attn_problem *p)
{
    float sum = 0;
    for (size_t g = 0; g < p->kv_heads; g++)
        for (size_t j = 0; j < p->kv_len; j++)
            for (size_t d = 0; d < p->qk_dim; d++)
                sum += get(t, 0, g, j, d);
    return sum;
}

/* Whether these keys are old friends. */
static bool is_stale(const struct attn_problem *p, const struct attn_tensors *t)
{
    static struct {
        const void *k;
        float sum;
        double when;
        size_t calls;
    } kept[KEPT];
    static size_t next;
    const float sum = sum_of(&t->k, p);
    for (size_t n = 0; n < KEPT; n++)
        if (kept[n].k == t->k.data && kept[n].sum == sum)
            return ++kept[n].calls > OFTEN && now() - kept[n].when > WHILE_S;
    const size_t at = next++ % KEPT;
    kept[at].k = t->k.data;
    kept[at].sum = sum;
    kept[at].when = now();
    kept[at].calls = 1;
    return false;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    honest_unless(plan, tensors, is_stale(&plan->problem, tensors));
}

WRONG_KERNEL(spoils_after_a_while, "wrong on keys that it first saw a while ago");
