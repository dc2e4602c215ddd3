/*
 * registry: the table of variants.
 *
 * registry_list.h is generated from kernels/CMakeLists.txt: one ENTRY(name, isa) per variant that
 * the compiler could build.
 */
#include <string.h>

#include "isa.h"

#define ENTRY(name, isa) extern const struct attn_kernel attn_kernel_##name##_##isa;
#include "registry_list.h"
#undef ENTRY

static const struct attn_kernel *const kernels[] = {
#define ENTRY(name, isa) &attn_kernel_##name##_##isa,
#include "registry_list.h"
#undef ENTRY
};

const struct attn_kernel *const *attn_kernels(size_t *count)
{
    *count = sizeof kernels / sizeof *kernels;
    return kernels;
}

const struct attn_kernel *attn_find(const char *name, enum attn_isa isa)
{
    const enum attn_isa built = attn_isa_built_as(isa);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (kernels[i]->isa == built && strcmp(kernels[i]->name, name) == 0)
            return kernels[i];
    return NULL;
}
