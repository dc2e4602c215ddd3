/*
 * report_settings: the verdicts of tests/data/verdicts.txt, to which the tools are held too, and what is said
 * of two settings.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_rows.h"
#include "results/report_settings.h"

TEST(verdicts_are_those_of_the_tools)
{
    char line[256], why[128], expected[160], said[160];
    size_t verdicts = 0;
    FILE *file = fopen(TEST_DATA "/verdicts.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        double x[3];
        char *at = line;
        if (*line == '#')
            continue;
        for (int i = 0; i < 3; i++, at++)
            x[i] = strtod(at, &at);
        snprintf(expected, sizeof expected, "%.*s", (int)strcspn(at, "\n"), at);
        const enum verdict verdict = report_settings_judge(x[0], x[1], x[2], MESSAGE(why));
        snprintf(said, sizeof said, "%s|%s", report_settings_verdict(verdict), why);
        assert_string_equal(said, expected);
        verdicts++;
    }
    fclose(file);
    assert_int_equal(verdicts, 9);
}

/* ---- cells ---------------------------------------------------------------------------------- */

enum { BASE, NEW };
static const char *const variables[] = {"A=1", NULL};
static const struct setting settings[] = {
    [BASE] = {.name = "base"},
    [NEW] = {.name = "new",
             .placement = PLACEMENT_THREADS,
             .huge_pages = true,
             .environment = "A=1",
             .variables = variables},
};
static struct problem_case problem = {.name = "a-case"};

/* A cell whose launches took 10 ms, 11 ms, 12 ms and so on, each times a factor. */
static struct cell cell_of(const char *kernel, int setting, size_t launches, double factor)
{
    struct cell cell;
    cell_init(&cell, &problem, kernel, ATTN_ISA_AVX2);
    cell.setting = settings[setting];
    cell_end(&cell, CELL_OK, "%s", "");
    json_t *medians = json_array();
    for (size_t i = 0; i < launches; i++)
        json_array_append_new(medians, json_real((0.010 + 0.001 * (double)i) * factor));
    cell.row = json_pack("{s:{s:f, s:[f, f], s:o}}", "time", "median_s", 0.010 * factor, "ci95_s",
                         0.009 * factor, 0.011 * factor, "launch_medians_s", medians);
    return cell;
}

static const char *printed(void (*report)(const struct cell *, size_t), const struct cell *cells,
                           size_t count)
{
    static char text[4096];
    memset(text, 0, sizeof text);
    report_output.out = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(report_output.out);
    report_output.width = 400;
    report(cells, count);
    fclose(report_output.out);
    return text;
}

/* Launch by launch, new takes 5 % longer: how launches differ from each other says nothing. */
TEST(launches_are_compared_in_pairs)
{
    struct cell cells[] = {cell_of("flash", BASE, 6, 1), cell_of("flash", NEW, 7, 1.05),
                           cell_of("tiled", BASE, 6, 1), cell_of("tiled", NEW, 6, 1),
                           cell_of("naive", BASE, 2, 1), cell_of("naive", NEW, 2, 1.5)};
    assert_string_equal(
        printed(report_settings, cells, 6),
        "  new (--placement threads --huge-pages --environment 'A=1') against base (--placement "
        "cores), by the ratios of their launches round by round, not by the two medians above:\n"
        "    flash/avx2 on 1 thread: +5.0 % (+5.0 .. +5.0 %), SLOWER: at least 5.0 % more time\n"
        "    tiled/avx2 on 1 thread: +0.0 % (+0.0 .. +0.0 %), SAME: no difference of 2 %\n"
        "    naive/avx2 on 1 thread: +50.0 %, UNCLEAR: too few launches for an interval\n");
    assert_string_equal(printed(report_settings_verdicts, cells, 6),
                        "new (--placement threads --huge-pages --environment 'A=1') against base "
                        "(--placement cores), 3 cells: 1 SLOWER, 1 UNCLEAR, 0 FASTER, 1 SAME\n");
    for (size_t i = 0; i < 6; i++)
        cell_free(&cells[i]);
}

TEST(a_cell_without_a_time_is_not_compared)
{
    struct cell cells[] = {cell_of("flash", BASE, 6, 1), cell_of("flash", NEW, 6, 1)};
    cells[1].state = CELL_FAILED;
    assert_string_equal(printed(report_settings, cells, 2), "");
    assert_string_equal(printed(report_settings_verdicts, cells, 2), "");
    for (size_t i = 0; i < 2; i++)
        cell_free(&cells[i]);
}

/* A choice of the library is compared with what was measured under the same setting. */
TEST(regret_is_under_one_setting)
{
    struct cell cells[] = {cell_of("flash", BASE, 6, 1), cell_of("flash", NEW, 6, 0.5),
                           cell_of("gemm", BASE, 6, 0.8), cell_of("gemm", NEW, 6, 0.25)};
    const struct cell *chosen, *fastest;
    for (size_t i = 0; i < 2; i++)
        json_object_set_new(cells[i].row, "chosen", json_true());
    assert_true(fabs(report_row_regret(cells, 4, &cells[0], &chosen, &fastest).ratio - 1 / 0.8) <
                1e-9);
    assert_ptr_equal(fastest, &cells[2]);
    assert_true(fabs(report_row_regret(cells, 4, &cells[1], &chosen, &fastest).ratio - 2) < 1e-9);
    assert_ptr_equal(chosen, &cells[1]);
    assert_true(fabs(report_row_gemm(cells, 4, &cells[0]) - 0.8) < 1e-9);
    for (size_t i = 0; i < 4; i++)
        cell_free(&cells[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(verdicts_are_those_of_the_tools),
        cmocka_unit_test(launches_are_compared_in_pairs),
        cmocka_unit_test(a_cell_without_a_time_is_not_compared),
        cmocka_unit_test(regret_is_under_one_setting),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
