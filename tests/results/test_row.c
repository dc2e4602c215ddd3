/*
 * When a cell's time is too good to be true.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/members.h"
#include "results/row.h"

/* The state of a row with one launch, of 1 ms, in which these ceilings and probes were measured; consumes
 * them.  Whoever has a state instead of a time has no rate either. */
static enum cell_state judged(const char *kernel, const char *problem, json_t *ceilings,
                              json_t *disturbance)
{
    struct problem_case c = {.name = "a"};
    struct parse_error error;
    struct cell cell;
    assert_true(parse_problem(problem, &c.problem, &error));
    cell_init(&cell, &c, kernel, ATTN_ISA_BASELINE);
    json_array_append_new(cell.launches,
                          json_pack("{s:f, s:[f], s:i, s:o, s:o}", "median_s", 1e-3, "samples_s",
                                    1e-3, "calls_per_sample", 1, "ceiling", ceilings, "disturbance",
                                    disturbance));
    cell_end(&cell, CELL_OK, "%s", "");
    assert_true(row_finish(&cell, "run", 1));
    const enum cell_state state = cell.state;
    const bool ok = state == CELL_OK;
    assert_int_equal(json_is_object(json_object_get(cell.row, "time")), ok);
    assert_int_equal(json_is_number(json_object_get(cell.row, "gflops")), ok);
    assert_int_equal(json_is_number(json_object_get(cell.row, "fraction_of_fma")),
                     ok && json_is_number(json_object_get(ceilings, "fma_gflops")));
    cell_free(&cell);
    return state;
}

/* Of 1 GFLOP, that is 1000 GFLOP/s, between two probes of the ceiling. */
static enum cell_state state_between(double before, double after)
{
    return judged(
        "flash", "h=1,s=2000,d=62,dv=63", json_pack("{s:f}", "fma_gflops", (before + after) / 2),
        json_pack("{s:f, s:f}", "probe_before_gflops", before, "probe_after_gflops", after));
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
    cell.setting.huge_pages = huge_pages;
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

TEST(a_request_that_gave_nothing_is_flagged)
{
    assert_false(elsewhere(false, true, 0));
    assert_false(elsewhere(true, true, 2 << 20));
    assert_true(elsewhere(true, true, 0));
    assert_true(elsewhere(false, false, 0));
    assert_true(elsewhere(true, false, 2 << 20));
}

/* 100 GFLOP/s and 20 GB/s meet at 5 flop per byte: the row says which binds, and the share of it. */
TEST(a_row_says_what_binds)
{
    struct problem_case c = {.name = "a"};
    struct parse_error error;
    struct cell cell;
    assert_true(parse_problem("h=1,s=2000,d=62,dv=63", &c.problem, &error));
    cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
    const double flops = cell_work(&cell).flops, bytes = cell_work(&cell).bytes;
    json_array_append_new(cell.launches,
                          json_pack("{s:f, s:[f], s:{s:f, s:f}, s:{}}", "median_s", 1.0,
                                    "samples_s", 1.0, "ceiling", "fma_gflops", 4 * flops / 1e9,
                                    "read_gbytes_per_s", 2 * bytes / 1e9, "disturbance"));
    cell_end(&cell, CELL_OK, "%s", "");
    assert_true(row_finish(&cell, "run", 1));
    assert_true(fabs(json_number_value(json_object_get(cell.row, "intensity_flop_per_byte")) *
                         bytes / flops -
                     1) < 1e-6);
    assert_string_equal(json_string_value(json_object_get(cell.row, "bound_by")), "bandwidth");
    assert_true(fabs(json_number_value(json_object_get(cell.row, "fraction_of_roofline")) - 0.5) <
                1e-6);
    cell_free(&cell);
}

/* A worker may say anything. */
TEST(a_size_that_no_integer_holds_is_null)
{
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

TEST(faster_than_the_best_probe_is_implausible)
{
    assert_int_equal(state_between(950, 950), CELL_OK);
    assert_int_equal(state_between(870, 870), CELL_IMPLAUSIBLE);
}

TEST(a_disturbed_probe_accuses_nobody)
{
    assert_int_equal(state_between(400, 1050), CELL_OK);
    assert_int_equal(state_between(1050, 400), CELL_OK);
    assert_int_equal(state_between(400, 870), CELL_IMPLAUSIBLE);
}

/* The same at 1000 GFLOP/s, where the variant's instruction set and the host have these rates. */
static enum cell_state state_of(const char *kernel, double own, double host)
{
    return judged(kernel, "h=1,s=2000,d=62,dv=63",
                  json_pack("{s:f, s:f}", "fma_gflops", own, "fma_host_gflops", host),
                  json_object());
}

/* A library is free to use a matrix unit; a variant of ours that does more than its name says is wrong. */
TEST(guests_may_use_the_whole_host)
{
    static const struct attn_kernel plugin = {
        .size = sizeof plugin, .name = "of_a_plugin", .isa = ATTN_ISA_BASELINE};
    static const struct attn_kernel *const added[] = {&plugin};
    static const struct guest guest = {.path = "a.so"};
    catalogue_add(&guest, added, 1);
    static const char *const any[] = {"gemm", "of_a_plugin"}, *const ours[] = {"flash", "naive"};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(state_of(any[i], 200, 2000), CELL_OK);
        assert_int_equal(state_of(any[i], 200, 870), CELL_IMPLAUSIBLE);
        assert_int_equal(state_of(ours[i], 200, 2000), CELL_IMPLAUSIBLE);
        assert_int_equal(state_of(ours[i], 950, 950), CELL_OK);
    }
}

/* Decode: about 2 MB of K and V in 1 ms, where these read rates were measured in GB/s. */
static enum cell_state state_reading(double elsewhere, double in_place, double again)
{
    return judged("flash", "h=1,sq=1,skv=3906,d=64",
                  json_pack("{s:f, s:f, s:f}", "read_gbytes_per_s", elsewhere,
                            "read_in_place_gbytes_per_s", in_place, "read_again_gbytes_per_s",
                            again),
                  json_object());
}

/* As where a kernel returns results that it has kept. */
TEST(faster_than_memory_is_implausible)
{
    assert_int_equal(state_reading(1.9, 1.5, 0), CELL_OK);
    assert_int_equal(state_reading(1.5, 1.9, 0), CELL_OK);
    assert_int_equal(state_reading(1.7, 1.7, 0), CELL_IMPLAUSIBLE);
    assert_int_equal(state_reading(1.7, 1.7, 1.9), CELL_OK);
    assert_int_equal(state_reading(0, 0, 0), CELL_OK); /* unknown */
}

/* Work that was counted in the operands, not what the problem would ask for without its mask. */
TEST(rates_are_of_counted_work)
{
    struct problem_case c = {.name = "a"};
    struct parse_error error;
    struct cell cell;
    assert_true(parse_problem("h=1,s=2000,d=62,dv=63", &c.problem, &error));
    cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
    assert_true(cell_work(&cell).flops == 1e9);
    assert_true(cell_work(&cell).bytes == attn_compulsory_bytes(&c.problem));
    json_t *counted = json_pack("{s:f, s:f}", "useful_flops", 2.5e8, "compulsory_bytes", 1e6);
    cell_set_work(&cell, counted);
    json_decref(counted);
    assert_true(cell_work(&cell).flops == 2.5e8 && cell_work(&cell).pairs == 1e6);
    json_array_append_new(cell.launches,
                          json_pack("{s:f, s:[f], s:{s:f, s:f}, s:{}}", "median_s", 0.01,
                                    "samples_s", 0.01, "ceiling", "fma_gflops", 100.0,
                                    "fma_from_l1_gflops", 90.0, "disturbance"));
    cell_end(&cell, CELL_OK, "%s", "");
    assert_true(row_finish(&cell, "run", 1));
    assert_true(json_number_value(json_object_get(cell.row, "useful_flops")) == 2.5e8);
    assert_true(json_number_value(json_object_get(cell.row, "gflops")) == 25);
    assert_true(json_number_value(json_object_get(cell.row, "gbytes_per_s")) == 0.1);
    assert_true(json_number_value(json_object_get(cell.row, "fraction_of_fma")) == 0.25);
    assert_true(member_number(json_object_get(cell.row, "ceiling"), "fma_from_l1_gflops") == 90);
    cell_free(&cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_size_that_no_integer_holds_is_null),
        cmocka_unit_test(faster_than_the_best_probe_is_implausible),
        cmocka_unit_test(a_disturbed_probe_accuses_nobody),
        cmocka_unit_test(guests_may_use_the_whole_host),
        cmocka_unit_test(faster_than_memory_is_implausible),
        cmocka_unit_test(a_request_that_gave_nothing_is_flagged),
        cmocka_unit_test(rates_are_of_counted_work),
        cmocka_unit_test(a_row_says_what_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
