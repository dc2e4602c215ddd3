/*
 * spoils_last_of_sample: knows a sample by the NaN that is put into its results, and spoils the calls that
 * may be its last.  How many it has is known from the one before, but for the calls that bench.c makes
 * between two samples, up to one in BENCH_STRAY.
 */
#include "bench/bench.h"
#include "spoil.h"

#define SHORTEST 4 /* calls: a check puts NaN in front of each of its own */

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
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

WRONG_KERNEL(spoils_last_of_sample, "the last calls of a sample are wrong");
