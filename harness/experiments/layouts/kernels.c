/*
 * kernels: the layouts as variants, and how a worker makes one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/shared/module.h"
#include "layouts.h"

#define COUNT ((size_t)LAYOUTS_KERNELS * LAYOUTS_FACTORS * LAYOUTS_PLACES)
#define MODULE "attnbench_layouts/%u.so"
#define VARIABLE "ATTNBENCH_PADDING"

const char *const layouts_kernel_names[] = {"flash", "split_kv", "tiled", NULL};
const char *const layouts_factor_names[] = {"again", "stack", "environment", "code", NULL};

/* Bytes that stack, environment and code are moved by. */
static const unsigned distances[LAYOUTS_PLACES] = {
#include "layouts_list.h"
};
#define FARTHEST 4096 /* of them at most */

/* ---- the list -------------------------------------------------------------------------------- */

static struct layout layouts[COUNT];

static void name_all(void)
{
    for (size_t i = 0; i < COUNT; i++) {
        struct layout *l = &layouts[i];
        const size_t place = i % LAYOUTS_PLACES;
        l->factor = (enum layouts_factor)(i / LAYOUTS_PLACES % LAYOUTS_FACTORS);
        l->kernel = layouts_kernel_names[i / LAYOUTS_PLACES / LAYOUTS_FACTORS];
        l->number = l->factor == LAYOUTS_AGAIN ? (unsigned)place + 1 : distances[place];
        snprintf(l->name, sizeof l->name, "%s_%s_%u", l->kernel, layouts_factor_names[l->factor],
                 l->number);
    }
}

const struct layout *layouts_find(const char *name)
{
    if (!*layouts[0].name)
        name_all();
    for (size_t i = 0; i < COUNT; i++)
        if (strcmp(layouts[i].name, name) == 0)
            return &layouts[i];
    return NULL;
}

/* The widest variant that this host runs.  The one for bf16 computes the same in f32. */
static const struct attn_kernel *variant_of(const char *kernel)
{
    static const enum attn_isa isas[] = {ATTN_ISA_AVX512, ATTN_ISA_AVX2, ATTN_ISA_BASELINE};
    const struct attn_kernel *found = NULL;
    for (size_t i = 0; !found && i < sizeof isas / sizeof *isas; i++)
        if (attn_isa_available(isas[i]))
            found = attn_find(kernel, isas[i]);
    return found;
}

size_t layouts_kernels(const struct attn_kernel *const **kernels)
{
    static struct attn_kernel moved[COUNT];
    static const struct attn_kernel *listed[COUNT];
    name_all();
    for (size_t i = 0; i < COUNT; i++) {
        moved[i] = *variant_of(layouts[i].kernel);
        moved[i].name = layouts[i].name;
        moved[i].execute = NULL;
        listed[i] = &moved[i];
    }
    *kernels = listed;
    return COUNT;
}

/* ---- in a worker ----------------------------------------------------------------------------- */

static const struct attn_kernel *code; /* of this process's layout */
static size_t stack_bytes;

struct call {
    const struct attn_plan *plan;
    const struct attn_tensors *tensors;
};

static void call_code(void *context)
{
    const struct call *call = context;
    code->execute(call->plan, call->tensors);
}

void layouts_further_down(size_t bytes, void (*call)(void *context), void *context)
{
    char *room = __builtin_alloca(bytes);
    __asm__ volatile("" : : "r"(room) : "memory"); /* which may not be left out */
    call(context);
    __asm__ volatile("" : : "r"(room) : "memory"); /* nor given back before */
}

/* The first thread of the team is the one that calls, on this stack. */
static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    struct call call = {plan, tensors};
    layouts_further_down(stack_bytes, call_code, &call);
}

const struct attn_kernel *layouts_load(const struct attn_kernel *kernel, char *message,
                                       size_t message_size)
{
    static struct attn_kernel loaded;
    char module[64], symbol[80];
    const struct layout *layout = kernel->execute ? NULL : layouts_find(kernel->name);
    if (!layout)
        return kernel;
    snprintf(module, sizeof module, MODULE, layout->factor == LAYOUTS_CODE ? layout->number : 0);
    snprintf(symbol, sizeof symbol, "attn_kernel_%s_%s", layout->kernel,
             attn_isa_name(kernel->isa));
    code = module_symbol(module, symbol, message, message_size);
    if (!code)
        return NULL;
    stack_bytes = layout->factor == LAYOUTS_STACK ? layout->number : 0;
    loaded = *code;
    loaded.name = kernel->name;
    loaded.execute = execute;
    return &loaded;
}

/* ---- in the parent --------------------------------------------------------------------------- */

bool layouts_built(char *message, size_t message_size)
{
    char module[64];
    snprintf(module, sizeof module, MODULE, 0U);
    bool built = module_built(module, message, message_size);
    for (size_t i = 0; built && i < LAYOUTS_PLACES; i++) {
        snprintf(module, sizeof module, MODULE, distances[i]);
        built = module_built(module, message, message_size);
    }
    return built;
}

void layouts_environment(const char *kernel)
{
    char padding[FARTHEST + 1];
    const struct layout *layout = kernel ? layouts_find(kernel) : NULL;
    if (!layout || layout->factor != LAYOUTS_ENVIRONMENT) {
        unsetenv(VARIABLE);
        return;
    }
    memset(padding, 'x', layout->number);
    padding[layout->number] = 0;
    setenv(VARIABLE, padding, true);
}
