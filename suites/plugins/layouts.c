/*
 * layouts: kernels of the library at another address, as other link orders and stacks place them.
 *
 * KERNEL_FACTOR_NUMBER is the same object code in another place, a plug-in for each factor and number:
 *
 *   again  nothing moved, NUMBER counts them: what the times of equal layouts differ by
 *   stack  each call begins NUMBER bytes further down the stack
 *   code   linked behind NUMBER bytes of padding (padding.c), as another link order would place it
 */
#include <stddef.h>

#include "attention.h"

/* Calls with the stack so many bytes further down, but for what a compiler takes for its alignment or a
 * sanitizer for itself, less than a cache line.  The first thread of the team is the one that calls. */
static void call_further_down(size_t bytes, const struct attn_kernel *kernel,
                              const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    char *room = __builtin_alloca(bytes);
    __asm__ volatile("" : : "r"(room) : "memory"); /* which may not be left out */
    kernel->execute(plan, tensors);
    __asm__ volatile("" : : "r"(room) : "memory"); /* nor given back before */
}

/* LAYOUT(kernel, isa) for each variant that was built. */
#define LAYOUT(kernel, isa)                                                                      \
    extern const struct attn_kernel attn_kernel_##kernel##_##isa;                                \
    static void kernel##_##isa(const struct attn_plan *plan, const struct attn_tensors *tensors) \
    {                                                                                            \
        call_further_down(STACK_BYTES, &attn_kernel_##kernel##_##isa, plan, tensors);            \
    }
#include "layouts_list.h"
#undef LAYOUT

static const struct variant {
    const char *name;
    const struct attn_kernel *code;
    void (*execute)(const struct attn_plan *plan, const struct attn_tensors *tensors);
} variants[] = {
#define LAYOUT(kernel, isa) {#kernel "_" NAME, &attn_kernel_##kernel##_##isa, kernel##_##isa},
#include "layouts_list.h"
};
#define COUNT (sizeof variants / sizeof *variants)

attn_plugin_entry attn_plugin;

const struct attn_kernel *const *attn_plugin(size_t *count)
{
    static struct attn_kernel kernels[COUNT];
    static const struct attn_kernel *listed[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        kernels[i] = *variants[i].code;
        kernels[i].name = variants[i].name;
        kernels[i].execute = variants[i].execute;
        listed[i] = &kernels[i];
    }
    *count = COUNT;
    return listed;
}
