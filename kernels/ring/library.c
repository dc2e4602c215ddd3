/*
 * library: what a single process knows of the kernel: that it computes in ranks.
 */
#include "ring.h"

#include "ring/library.h"

static bool load(const char **why)
{
    *why =
        "computes in ranks, processes that mpiexec starts: attnbench run --kernel ring --ranks 2";
    return false;
}

static const char *description(void)
{
    return "";
}

const struct attn_library attn_ring_library = {
    .size = sizeof(struct attn_library),
    .load = load,
    .description = description,
};

bool ring_is(const struct attn_kernel *kernel)
{
    return kernel->library == &attn_ring_library;
}
