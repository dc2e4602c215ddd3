/*
 * absent: stands for a kernel of oneDNN in a build without oneDNN's headers.
 *
 * It says what the kernel could do and how to get it, so that the kernel is listed, and asked for
 * gives rows that are unavailable.
 */
#include <assert.h>

#include "kernel.h"

static bool load(const char **why)
{
    *why = "this build found no headers of oneDNN: scripts/rivals/setup onednn, then build again";
    return false;
}

static const char *description(void)
{
    return "";
}

static const struct attn_library library = {
    .size = sizeof(struct attn_library),
    .load = load,
    .description = description,
};

/* Never called: a plan needs the library. */
static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan;
    (void)tensors;
    assert(false);
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = ABSENT,
    .summary = "oneDNN's, of which this build found no headers",
    .source = "oneDNN 3, github.com/uxlfoundation/oneDNN",
    .isa = ATTN_KERNEL_ISA,
    .library = &library,
    .caps.size = sizeof(struct attn_caps),
#ifdef __AVX512BF16__
    .caps.dtypes = ATTN_BIT(ATTN_BF16),
    .caps.compute = ATTN_BF16,
#else
    .caps.dtypes = ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16),
    .caps.compute = ATTN_F32,
#endif
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .caps.parallel = true,
    .execute = execute,
};
