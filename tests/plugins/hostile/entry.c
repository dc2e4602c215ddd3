/*
 * entry: makes a shared object of one wrong kernel (tests/wrong/wrong.h), named by KERNEL.
 */
#include "attention.h"

extern const struct attn_kernel KERNEL;
const struct attn_kernel *const *attn_plugin(size_t *count);

const struct attn_kernel *const *attn_plugin(size_t *count)
{
    static const struct attn_kernel *const kernels[] = {&KERNEL};
    *count = 1;
    return kernels;
}
