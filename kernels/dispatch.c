/*
 * dispatch: which variant to use for a problem, from its shape alone.
 */
#include "attention.h"

/* Best first among those that support the problem. */
static const char *const preference[] = {"flash", "online", "tiled", "naive"};

/* The strongest variant of a name that this host can run and that supports the problem. */
static const struct attn_kernel *strongest(const char *name, const struct attn_problem *problem)
{
    const char *why;
    for (int isa = ATTN_ISA_COUNT - 1; isa >= 0; isa--) {
        const struct attn_kernel *kernel = attn_find(name, (enum attn_isa)isa);
        if (kernel && attn_isa_available(kernel->isa) && attn_supports(kernel, problem, &why))
            return kernel;
    }
    return NULL;
}

const struct attn_kernel *attn_kernel_best(const struct attn_problem *problem, int threads)
{
    (void)threads;
    for (size_t i = 0; i < sizeof preference / sizeof *preference; i++) {
        const struct attn_kernel *kernel = strongest(preference[i], problem);
        if (kernel)
            return kernel;
    }
    return NULL;
}
