/*
 * refused: a plug-in with one thing wrong, which one CMakeLists.txt defines.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "honest.h"

#if defined CRASHES || defined HANGS
__attribute__((constructor)) static void begin(void)
{
#if defined CRASHES
    abort();
#else
    pause();
#endif
}
#endif

#if !defined NO_ENTRY
static struct attn_kernel kernel = {
    HONEST,
    .name = "refused",
    .isa = ATTN_ISA_BASELINE,
    .execute = honest_execute,
};

attn_plugin_entry attn_plugin;

const struct attn_kernel *const *attn_plugin(size_t *count)
{
    static const struct attn_kernel *kernels[2] = {&kernel, &kernel};
    *count = 1;
#if defined SIZE_ZERO
    kernel.size = 0;
#elif defined SIZE_HUGE
    kernel.size = (size_t)-1;
#elif defined CAPS_SIZE_ZERO
    kernel.caps.size = 0;
#elif defined NO_EXECUTE
    kernel.execute = NULL;
#elif defined NO_NAME
    kernel.name = NULL;
#elif defined UPPER_CASE
    kernel.name = "Refused";
#elif defined LONG_NAME
    kernel.name = "a234567890123456789012345678901234567890123456789012345678901234";
#elif defined GROUP_NAME
    kernel.name = "ours";
#elif defined NO_ISA
    kernel.isa = (enum attn_isa)77;
#elif defined NO_COMPUTE
    kernel.caps.compute = (enum attn_dtype)77;
#elif defined OF_LIBRARY
    kernel.name = "flash";
#elif defined TWICE
    *count = 2;
#elif defined NO_KERNELS
    *count = 0;
#elif defined NULL_KERNEL
    kernels[0] = NULL;
#endif
    return kernels;
}
#endif
