/*
 * spoils_last_of_sample: knows a sample by the NaN that is put into its results, counts the calls of each,
 * and spoils the one that ended the sample before.
 */
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
    honest_unless(plan, tensors, ++calls == length && length >= SHORTEST);
}

WRONG_KERNEL(spoils_last_of_sample, "the last call of a sample is wrong");
