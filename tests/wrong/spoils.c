/*
 * spoils: kernels that are honest but for some calls.
 */
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "bench/bench.h"
#include "wrong.h"

static void spoiled_row(struct work *w)
{
    make_scores(w);
    find_maximum(w);
    exponentiate(w);
    sum_values(w);
    for (size_t d = 0; d < w->problem->v_dim; d++)
        w->o[d] = 3 * w->o[d] + 10;
    w->l *= 3;
    store(w);
}

/* All rows, far off where it is to spoil them. */
static void honest_unless(const struct attn_plan *plan, const struct attn_tensors *tensors,
                          bool spoil)
{
    each_row(plan, tensors, spoil ? spoiled_row : honest_row);
}

#define WHILE_S 0.3 /* longer than warming up takes on a busy machine; samples take half a second */
#define OFTEN 5     /* no check calls it more often on the same operands */

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
    } kept[8];
    static size_t next;
    const float sum = sum_of(&t->k, p);
    for (size_t n = 0; n < sizeof kept / sizeof *kept; n++)
        if (kept[n].k == t->k.data && kept[n].sum == sum)
            return ++kept[n].calls > OFTEN && now() - kept[n].when > WHILE_S;
    const size_t at = next++ % (sizeof kept / sizeof *kept);
    kept[at].k = t->k.data;
    kept[at].sum = sum;
    kept[at].when = now();
    kept[at].calls = 1;
    return false;
}

/* Keeps something about keys that it has seen before, and computes nonsense once what it has kept
 * is a while old, as where a cache expires or a tick counter wraps. */
WRONG_CALL(spoils_after_a_while, "wrong on keys that it first saw a while ago")
{
    honest_unless(plan, tensors, is_stale(&plan->problem, tensors));
}

static bool other_runs(void)
{
    const char *path = getenv("SPOILS_BESIDE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char text[32] = "";
    const bool read = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    const long pid = read ? strtol(text, NULL, 10) : 0;
    return pid > 0 && kill((pid_t)pid, 0) == 0;
}

/* Wrong as long as another program runs, as where both share a file or a device: the process whose
 * number stands in the file that SPOILS_BESIDE names. */
WRONG_CALL(spoils_beside_others, "wrong as long as another program runs")
{
    honest_unless(plan, tensors, other_runs());
}

/* Every hundredth call of a plan is wrong, as where a ring of buffers wraps.  No check calls a plan
 * so often: only the timed calls show it. */
WRONG_CALL(spoils_every_hundredth, "every hundredth call of a plan is wrong")
{
    static const struct attn_plan *last;
    static size_t calls;
    calls = last && plan == last ? calls + 1 : 1;
    last = plan;
    honest_unless(plan, tensors, calls % 100 == 0);
}

/* Knows a sample by the NaN that is put into its results, and spoils the calls that may be its
 * last.  How many it has is known from the one before, but for the calls that bench.c makes between
 * two samples, up to one in BENCH_STRAY. */
WRONG_CALL(spoils_last_of_sample, "the last calls of a sample are wrong")
{
    enum { SHORTEST = 4 }; /* calls: a check puts NaN in front of each of its own */
    static size_t calls, length;
    static bool fresh;
    const bool poisoned = tensors->o.data && isnan(get(&tensors->o, 0, 0, 0, 0));
    if (poisoned && !fresh) { /* the first of a sample, whose sets are all poisoned */
        length = calls;
        calls = 0;
    }
    fresh = poisoned;
    calls++;
    const bool may_be_last = calls * (BENCH_STRAY + 1) >= length * BENCH_STRAY && calls <= length;
    honest_unless(plan, tensors, may_be_last && length >= SHORTEST);
}

extern int spoil_call, spoil_calls; /* number of the call to spoil; calls so far */
int spoil_call = -1, spoil_calls;

WRONG_CALL(spoils_one_call,
           "honest but for one call, which test_every_call.c chooses: each must be judged")
{
    honest_unless(plan, tensors, spoil_calls++ == spoil_call);
}
