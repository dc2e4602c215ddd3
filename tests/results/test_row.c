/*
 * When a cell's time is too good to be true.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "results/row.h"

/* A cell of 1 GFLOP whose only launch ran at so many GFLOP/s between two probes of the ceiling. */
static enum cell_state state_at(double gflops, double before, double after)
{
    struct problem_case c = {.name = "a"};
    struct parse_error error;
    struct cell cell;
    assert_true(parse_problem("h=1,s=2000,d=62,dv=63", &c.problem, &error));
    assert_true(attn_useful_flops(&c.problem) == 1e9);
    cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
    const double seconds = 1 / gflops;
    json_array_append_new(cell.launches,
                          json_pack("{s:f, s:[f], s:i, s:{s:f}, s:{s:f, s:f}}", "median_s", seconds,
                                    "samples_s", seconds, "calls_per_sample", 1, "ceiling",
                                    "fma_gflops", (before + after) / 2, "disturbance",
                                    "probe_before_gflops", before, "probe_after_gflops", after));
    cell_end(&cell, CELL_OK, "%s", "");
    assert_true(row_finish(&cell, "run", 1));
    const enum cell_state state = cell.state;
    const bool ok = state == CELL_OK; /* else a state instead of a time */
    assert_int_equal(json_is_object(json_object_get(cell.row, "time")), ok);
    assert_int_equal(json_is_number(json_object_get(cell.row, "gflops")), ok);
    assert_int_equal(json_is_number(json_object_get(cell.row, "fraction_of_fma")), ok);
    cell_free(&cell);
    return state;
}

/* Whether a launch whose memory was placed so makes its row say that it lay elsewhere. */
static bool elsewhere(bool huge_pages, bool in_place, int huge_bytes)
{
    struct problem_case c = {.name = "a"};
    struct parse_error error;
    struct cell cell;
    bool said = false;
    assert_true(parse_problem("h=1,s=2000,d=62,dv=63", &c.problem, &error));
    cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
    cell.huge_pages = huge_pages;
    json_t *launch = json_pack("{s:f, s:[f], s:b, s:{}}", "median_s", 1.0, "samples_s", 1.0,
                               "memory_in_place", (int)in_place, "disturbance");
    if (huge_pages)
        json_object_set_new(launch, "huge_bytes", json_integer(huge_bytes));
    json_array_append_new(cell.launches, launch);
    cell_end(&cell, CELL_OK, "%s", "");
    assert_true(row_finish(&cell, "run", 1));
    size_t i;
    const json_t *flag;
    json_array_foreach (json_object_get(cell.row, "flags"), i, flag)
        said |= strcmp(json_string_value(flag), "elsewhere") == 0;
    assert_int_equal(json_is_true(json_object_get(cell.row, "memory_in_place")), in_place);
    cell_free(&cell);
    return said;
}

static void a_request_that_gave_nothing_is_flagged(void **state)
{
    (void)state;
    assert_false(elsewhere(false, true, 0));
    assert_false(elsewhere(true, true, 2 << 20));
    assert_true(elsewhere(true, true, 0));
    assert_true(elsewhere(false, false, 0));
    assert_true(elsewhere(true, false, 2 << 20));
}

/* A worker may say anything. */
static void a_size_that_no_integer_holds_is_null(void **state)
{
    (void)state;
    static const double sizes[] = {4096, 0x1p62, 0x1p63, 7e66, -7e66};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct problem_case c = {.name = "a"};
        struct cell cell;
        attn_problem_init(&c.problem);
        cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
        json_array_append_new(cell.launches,
                              json_pack("{s:f, s:[f], s:f}", "median_s", 1.0, "samples_s", 1.0,
                                        "peak_rss_bytes", sizes[i]));
        cell_end(&cell, CELL_OK, "%s", "");
        assert_true(row_finish(&cell, "run", 1));
        const json_t *said = json_object_get(cell.row, "peak_rss_bytes");
        assert_int_equal(json_is_null(said), i >= 2);
        assert_true(i >= 2 || (double)json_integer_value(said) == sizes[i]);
        cell_free(&cell);
    }
}

static void faster_than_the_best_probe_is_implausible(void **state)
{
    (void)state;
    assert_int_equal(state_at(105, 100, 100), CELL_OK);
    assert_int_equal(state_at(115, 100, 100), CELL_IMPLAUSIBLE);
}

static void a_disturbed_probe_accuses_nobody(void **state)
{
    (void)state;
    assert_int_equal(state_at(95, 40, 100), CELL_OK);
    assert_int_equal(state_at(95, 100, 40), CELL_OK);
    assert_int_equal(state_at(115, 40, 100), CELL_IMPLAUSIBLE);
}

/* Work that was counted in the operands, not what the problem would ask for without its mask. */
static void rates_are_of_counted_work(void **state)
{
    (void)state;
    struct problem_case c = {.name = "a"};
    struct parse_error error;
    struct cell cell;
    assert_true(parse_problem("h=1,s=2000,d=62,dv=63", &c.problem, &error));
    cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
    assert_true(cell_work(&cell).flops == 1e9);
    assert_true(cell_work(&cell).bytes == attn_compulsory_bytes(&c.problem));
    json_t *counted = json_pack("{s:f, s:f}", "useful_flops", 2.5e8, "compulsory_bytes", 1e6);
    cell_take_work(&cell, counted);
    json_decref(counted);
    assert_true(cell_work(&cell).flops == 2.5e8 && cell_work(&cell).pairs == 1e6);
    json_array_append_new(cell.launches,
                          json_pack("{s:f, s:[f], s:{s:f}, s:{}}", "median_s", 0.01, "samples_s",
                                    0.01, "ceiling", "fma_gflops", 100.0, "disturbance"));
    cell_end(&cell, CELL_OK, "%s", "");
    assert_true(row_finish(&cell, "run", 1));
    assert_true(json_number_value(json_object_get(cell.row, "useful_flops")) == 2.5e8);
    assert_true(json_number_value(json_object_get(cell.row, "gflops")) == 25);
    assert_true(json_number_value(json_object_get(cell.row, "gbytes_per_s")) == 0.1);
    assert_true(json_number_value(json_object_get(cell.row, "fraction_of_fma")) == 0.25);
    cell_free(&cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_that_no_integer_holds_is_null),
        cmocka_unit_test(faster_than_the_best_probe_is_implausible),
        cmocka_unit_test(a_disturbed_probe_accuses_nobody),
        cmocka_unit_test(a_request_that_gave_nothing_is_flagged),
        cmocka_unit_test(rates_are_of_counted_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
