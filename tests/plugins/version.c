/*
 * version: a kernel that was built with another version of attention.h, SHORTER, LONGER or FIRST.
 *
 * shorter  says that its structs end where an older header's might, and has nonsense behind
 * longer   is compiled with a header whose structs have one more field at their end
 * first    is compiled with the first header there was, attention_1.h
 */
#include "honest.h"

#if defined SHORTER
#define NAME "shorter"
#elif defined LONGER
#define NAME "longer"
#else
#define NAME "first"
#endif

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
#if defined LONGER
    /* the caller knows nothing of the last fields, and says so by its sizes */
    if (plan->problem.size >= sizeof plan->problem || t->size >= sizeof *t)
        return;
#endif
    honest_execute(plan, t);
}

static struct attn_kernel kernel = {
    HONEST,
    .name = NAME,
    .isa = ATTN_ISA_BASELINE,
    .execute = execute,
};

attn_plugin_entry attn_plugin;

const struct attn_kernel *const *attn_plugin(size_t *count)
{
    static const struct attn_kernel *const kernels[] = {&kernel};
#if defined SHORTER
    kernel.caps.size = offsetof(struct attn_caps, max_dim);
    kernel.caps.max_dim = 1;
    kernel.caps.compute = (enum attn_dtype)77;
    kernel.caps.bound_factor = -1;
#elif defined LONGER
    kernel.caps.later = 1e300;
#endif
    kernel.size = offsetof(struct attn_kernel, caps) + kernel.caps.size;
    *count = 1;
    return kernels;
}
