/*
 * layouts: the plug-ins of the experiment layouts lie, and call, where their names say.
 *
 * The program exports a kernel of its own under the name of one of theirs, which the loader prefers: it
 * notes where its stack is.
 */
#include "testing.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "attention.h"

#define PAGE 4096

static uintptr_t place;

static void note_place(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    place = (uintptr_t)__builtin_frame_address(0);
}

extern const struct attn_kernel NOTING;
const struct attn_kernel NOTING = {.size = sizeof NOTING, .name = "tiled", .execute = note_place};

static void *module(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s.so", LAYOUTS, name);
    void *found = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!found)
        fail_msg("%s", dlerror());
    return found;
}

/* Modules begin at pages: how far code moved within one shows in its address. */
static void code_lies_as_far_on_as_its_layout_says(void **state)
{
    (void)state;
    static const unsigned bytes[] = {16, 32, 48, 1104, 2144, 3504};
    const struct attn_kernel *kernel = dlsym(module("again_1"), MOVED);
    const uintptr_t base = (uintptr_t)kernel->execute;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        char name[32];
        snprintf(name, sizeof name, "code_%u", bytes[i]);
        kernel = dlsym(module(name), MOVED);
        assert_int_equal(((uintptr_t)kernel->execute - base) % PAGE, bytes[i]);
    }
}

/* Where the stack is in a call of a module's kernel of that name. */
static uintptr_t place_in(const char *name, const char *kernel)
{
    attn_plugin_entry *entry;
    void *symbol = dlsym(module(name), ATTN_PLUGIN_ENTRY);
    size_t count;
    memcpy(&entry, &symbol, sizeof entry);
    const struct attn_kernel *const *kernels = entry(&count);
    place = 0;
    for (size_t i = 0; i < count; i++)
        if (kernels[i]->isa == NOTING.isa && strcmp(kernels[i]->name, kernel) == 0)
            kernels[i]->execute(NULL, NULL);
    assert_true(place);
    return place;
}

static void the_stack_lies_further_down(void **state)
{
    (void)state;
    const uintptr_t usual = place_in("again_1", "tiled_again_1");
    const uintptr_t moved = place_in("stack_3504", "tiled_stack_3504");
    assert_in_range(usual - moved, 3504 - 63, 3504 + 63);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_lies_as_far_on_as_its_layout_says),
        cmocka_unit_test(the_stack_lies_further_down),
    };
    return cmocka_run_group_tests_name("layouts", tests, NULL, NULL);
}
