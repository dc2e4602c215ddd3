/*
 * layouts: names, places, and how far planted times lie apart.
 */
#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "experiments/layouts/layouts.h"
#include "results/report_rows.h"

#define PAGE 4096

/* ---- names and places ------------------------------------------------------------------------ */

static void names_say_what_moves(void **state)
{
    (void)state;
    const struct attn_kernel *const *kernels;
    assert_int_equal(layouts_kernels(&kernels), LAYOUTS_KERNELS * LAYOUTS_FACTORS * LAYOUTS_PLACES);
    const struct layout *code = layouts_find("split_kv_code_1104");
    assert_non_null(code);
    assert_string_equal(code->kernel, "split_kv");
    assert_int_equal(code->factor, LAYOUTS_CODE);
    assert_int_equal(code->number, 1104);
    assert_int_equal(layouts_find("tiled_again_6")->number, 6);
    assert_null(layouts_find("flash"));
    assert_null(layouts_find("flash_code_17"));
}

/* Modules begin at pages: how far code moved within one shows in its address. */
static void code_lies_as_far_on_as_its_layout_says(void **state)
{
    (void)state;
    static const unsigned bytes[] = {0, 16, 32, 48, 1104, 2144, 3504};
    const struct attn_kernel *flash = attn_find("flash", ATTN_ISA_BASELINE);
    char symbol[64];
    snprintf(symbol, sizeof symbol, "attn_kernel_flash_%s", attn_isa_name(flash->isa));
    uintptr_t base = 0;
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++) {
        char path[512];
        snprintf(path, sizeof path, LAYOUTS_FOLDER "/%u.so", bytes[i]);
        void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!module)
            fail_msg("%s", dlerror());
        const struct attn_kernel *kernel = dlsym(module, symbol);
        assert_non_null(kernel);
        const uintptr_t at = (uintptr_t)kernel->execute;
        base = i ? base : at;
        assert_int_equal((at - base) % PAGE, bytes[i]);
    }
}

static void note_place(void *context)
{
    *(uintptr_t *)context = (uintptr_t)__builtin_frame_address(0);
}

static void the_stack_lies_further_down(void **state)
{
    (void)state;
    uintptr_t usual, moved;
    layouts_further_down(0, note_place, &usual);
    layouts_further_down(3504, note_place, &moved);
    assert_in_range(usual - moved, 3504 - 63, 3504 + 63);
}

/* Bytes of the variable; -1 where there is none. */
static int padding(void)
{
    const char *text = getenv("ATTNBENCH_PADDING");
    return text ? (int)strlen(text) : -1;
}

static void only_layouts_of_the_environment_have_a_variable(void **state)
{
    (void)state;
    layouts_environment("flash_environment_3504");
    assert_int_equal(padding(), 3504);
    layouts_environment("flash_environment_16");
    assert_int_equal(padding(), 16);
    layouts_environment("flash_stack_16");
    assert_int_equal(padding(), -1);
    layouts_environment("flash_environment_16");
    layouts_environment(NULL);
    assert_int_equal(padding(), -1);
}

/* ---- how far times move ---------------------------------------------------------------------- */

/* Six rounds of noise, which all go up and down together. */
static struct layouts_times drawn(double noise, uint64_t seed)
{
    struct layouts_times t = {.layouts = LAYOUTS_PLACES, .rounds = 6};
    for (size_t l = 0; l < t.layouts; l++)
        for (size_t r = 0; r < t.rounds; r++)
            t.logs[l][r] =
                -6 + 0.1 * (double)(r % 3) + noise * (random_unit(random_key(seed, l), r) - 0.5);
    return t;
}

static void a_spread_is_that_of_the_farthest_two(void **state)
{
    (void)state;
    struct layouts_times t = drawn(0, 1);
    assert_true(fabs(layouts_spread(&t)) < 1e-12);
    for (size_t r = 0; r < t.rounds; r++) {
        t.logs[1][r] += log(1.02);
        t.logs[4][r] -= log(1.01);
    }
    t.logs[2][3] += 1; /* one launch of six was disturbed */
    assert_true(fabs(layouts_spread(&t) - (1.02 * 1.01 - 1)) < 1e-12);
    t.layouts = 1;
    assert_true(isnan(layouts_spread(&t)));
}

static void a_layout_that_is_slower_is_beyond_chance(void **state)
{
    (void)state;
    const struct layouts_times again = drawn(0.002, 1);
    struct layouts_times moved = drawn(0.002, 2);
    for (size_t r = 0; r < moved.rounds; r++)
        moved.logs[5][r] += 0.02;
    const struct layouts_finding found = layouts_judge(&moved, &again, 1);
    assert_true(found.lo <= found.spread && found.spread <= found.hi);
    assert_true(found.lo > 0.018 && found.hi < 0.023);
    assert_true(found.chance < 0.01);
    assert_true(isnan(layouts_judge(&again, &again, 1).chance));
}

/* Where layouts do nothing, five of a hundred are below 0.05: 0 to 12 but for one time in 500. */
static void layouts_that_do_nothing_are_within_chance(void **state)
{
    (void)state;
    int below = 0;
    for (uint64_t i = 0; i < 100; i++) {
        const struct layouts_times a = drawn(0.01, 2 * i), b = drawn(0.01, 2 * i + 1);
        below += layouts_judge(&a, &b, i).chance <= 0.05;
    }
    assert_in_range(below, 0, 12);
}

/* ---- the report ------------------------------------------------------------------------------ */

static json_t *rows_of(const char *kernel, enum layouts_factor factor, double slower)
{
    const struct attn_kernel *const *kernels;
    const size_t count = layouts_kernels(&kernels);
    const struct layouts_times noise = drawn(0.002, (uint64_t)factor);
    json_t *rows = json_array();
    for (size_t i = 0, place = 0; i < count; i++) {
        const struct layout *l = layouts_find(kernels[i]->name);
        if (strcmp(l->kernel, kernel) != 0 || l->factor != factor)
            continue;
        json_t *times = json_array();
        for (size_t r = 0; r < noise.rounds; r++)
            json_array_append_new(times,
                                  json_real(exp(noise.logs[place][r]) * (place ? 1 : slower)));
        json_array_append_new(rows,
                              json_pack("{s:{s:s, s:s}, s:{s:o}}", "params", "kernel", l->name,
                                        "addresses", "fixed", "values", "launch_medians_s", times));
        place++;
    }
    return rows;
}

/* What the report prints of these rows. */
static void printed(const json_t *rows, char *text, size_t size)
{
    FILE *file = tmpfile();
    assert_non_null(file);
    report_output = (struct report_output){.out = file, .width = 100};
    assert_true(layouts_report(rows));
    rewind(file);
    const size_t n = fread(text, 1, size - 1, file);
    text[n] = 0;
    for (char *at = text; *at; at++) /* however its lines are broken */
        if (*at == '\n')
            *at = ' ';
    fclose(file);
}

static void the_report_names_what_moves(void **state)
{
    (void)state;
    char text[4096];
    json_t *rows = rows_of("flash", LAYOUTS_AGAIN, 1);
    json_t *code = rows_of("flash", LAYOUTS_CODE, 1.05);
    json_t *stack = rows_of("flash", LAYOUTS_STACK, 1);
    json_array_extend(rows, stack);
    printed(rows, text, sizeof text);
    assert_non_null(strstr(text, "flash: no layout moves its time beyond chance"));
    json_array_extend(rows, code);
    printed(rows, text, sizeof text);
    assert_non_null(strstr(text, "flash: its time moves with code, by up to 5."));
    assert_null(strstr(text, "split_kv"));
    assert_null(strstr(text, "setarch"));
    json_decref(rows);
    json_decref(code);
    json_decref(stack);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_say_what_moves),
        cmocka_unit_test(code_lies_as_far_on_as_its_layout_says),
        cmocka_unit_test(the_stack_lies_further_down),
        cmocka_unit_test(only_layouts_of_the_environment_have_a_variable),
        cmocka_unit_test(a_spread_is_that_of_the_farthest_two),
        cmocka_unit_test(a_layout_that_is_slower_is_beyond_chance),
        cmocka_unit_test(layouts_that_do_nothing_are_within_chance),
        cmocka_unit_test(the_report_names_what_moves),
    };
    return cmocka_run_group_tests_name("layouts", tests, NULL, NULL);
}
