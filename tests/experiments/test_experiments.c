/*
 * experiments: moments and random inner products against known values.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "experiments/shared/dots.h"
#include "experiments/experiment.h"
#include "base/random.h"
#include "results/report_rows.h"

#define assert_close(got, expected, tolerance)                           \
    do {                                                                 \
        const double got_ = (got), expected_ = (expected);               \
        if (!(fabs(got_ - expected_) <= (tolerance)))                    \
            fail_msg("%s = %.9g, expected %.9g", #got, got_, expected_); \
    } while (0)

TEST(every_experiment_says_what_it_is)
{
    const struct experiment *e;
    for (size_t i = 0; (e = experiment_at(i)); i++) {
        assert_ptr_equal(experiment_find(e->name), e);
        assert_true(strlen(e->question) > 10 && strlen(e->method) > 40 && strlen(e->source) > 5);
        assert_true(!e->run == !e->quick && !e->run == !!e->calculation); /* timed, or computed */
        if (e->run)
            continue;
        json_decref(options_value_standard(e->calculation->parameters, false));
        json_decref(options_value_standard(e->calculation->parameters, true));
    }
    assert_null(experiment_find("nothing"));
}

/* ---- steps, rows and tables ------------------------------------------------------------------ */

TEST(steps_are_every_combination)
{
    static const char *const kernels[] = {"a", "b", NULL};
    json_t *steps = json_array(), *asked = json_pack("{s:[i, i], s:i}", "d", 1, 2, "rows", 3);
    experiment_steps(steps, experiment_pick(json_object(), asked, "rows absent"), asked, "d=d by",
                     kernels);
    json_t *expected = json_loads("[{\"rows\": 3, \"d\": 1, \"by\": \"a\"},"
                                  " {\"rows\": 3, \"d\": 1, \"by\": \"b\"},"
                                  " {\"rows\": 3, \"d\": 2, \"by\": \"a\"},"
                                  " {\"rows\": 3, \"d\": 2, \"by\": \"b\"}]",
                                  0, NULL);
    assert_true(json_equal(steps, expected));
    json_decref(steps);
    json_decref(asked);
    json_decref(expected);
}

TEST(rows_are_listed_by_key)
{
    char text[512];
    json_t *rows = json_array();
    json_t *values = json_pack("{s:f, s:[f, f], s:n, s:b, s:f}", "rms", 0.012345678, "ci95", 0.5,
                               1.25, "absent", "ok", 1, "project_s", 0.00123);
    experiment_add(rows, json_pack("{s:s, s:s, s:i}", "part", "p", "by", "flash", "d", 16384),
                   values);
    experiment_add(rows, json_pack("{s:s}", "part", "q"), json_object());
    FILE *file = tmpfile();
    assert_non_null(file);
    report_output = (struct report_output){.out = file, .width = 100};
    experiment_list(rows, "part=p d=16384 ok=true", "by d rms ci95 absent ok project_s",
                    "a heading");
    experiment_list(rows, "part=p by=naive", "by", "nothing");
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    assert_string_equal(text, "\na heading\n"
                              "by         d      rms         ci95   ok  project s\n"
                              "flash  16384  0.01235  0.5 .. 1.25  yes   1.230 ms\n");
    json_decref(rows);
}

/* At full width all columns; else those with a question mark go, from the last on, and the texts of
 * the first become lines. */
TEST(a_wide_listing_gives_way)
{
    char text[512];
    json_t *rows = json_array();
    for (int d = 1; d <= 2; d++)
        experiment_add(rows, json_pack("{s:s, s:i}", "file", "minilm.safetensors", "d", d),
                       json_pack("{s:f, s:f}", "rms", 0.5, "bound_rms", 0.25));
    static const struct {
        size_t width;
        const char *printed;
    } cases[] = {
        {40, "\nof\nfile                d  rms  bound rms\n"
             "minilm.safetensors  1  0.5       0.25\nminilm.safetensors  2  0.5       0.25\n"},
        {26, "\nof\nfile                d  rms\nminilm.safetensors  1  0.5\nminilm.safetensors  2  "
             "0.5\n"
             "\nToo wide for the table:\nbound rms.\n"},
        {20, "\nof\nd  rms  bound rms\nminilm.safetensors\n1  0.5       0.25\n2  0.5       0.25\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *file = tmpfile();
        assert_non_null(file);
        report_output = (struct report_output){.out = file, .width = cases[i].width};
        experiment_list(rows, NULL, "file d rms bound_rms?", "of");
        rewind(file);
        text[fread(text, 1, sizeof text - 1, file)] = 0;
        fclose(file);
        assert_string_equal(text, cases[i].printed);
    }
    json_decref(rows);
}

static void square(void *context, size_t index, void *scratch)
{
    size_t *mine = scratch, *out = context;
    *mine = index * index;
    out[index] = *mine;
}

TEST(every_block_is_computed_once)
{
    size_t out[100] = {0};
    assert_true(experiment_blocks(100, 3, sizeof *out, square, out));
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(out[i], i * i);
}

/* ---- moments --------------------------------------------------------------------------------- */

TEST(variance_of_a_known_sample)
{
    struct moments a = {0}, b = {0};
    const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
    for (size_t i = 0; i < COUNT(x); i++)
        moments_add(i < 3 ? &a : &b, x[i]);
    moments_merge(&a, &b);
    const struct variance v = moments_variance(&a);
    assert_close(v.mean, 5, 1e-12);
    assert_close(v.variance, 32.0 / 7, 1e-12);
    /* Fourth central moment (81 + 3 + 16 + 256) / 8 = 44.5; the rest by hand. */
    assert_close(v.hi - v.variance, 1.959963985 * sqrt((44.5 - 32.0 / 7 * (32.0 / 7) * 5 / 7) / 8),
                 1e-9);
}

/* Over 500 streams the interval holds the exact variance in 95 %, but for the chance of 500. */
TEST(intervals_cover_the_exact_variance)
{
    const size_t dims[] = {10};
    size_t held = 0;
    for (uint64_t stream = 0; stream < 500; stream++) {
        struct moments m = {0};
        assert_true(dots_moments(DISTRIBUTION_NORMAL, random_key(7, stream), 1000, dims, 1, 2, &m));
        const struct variance v = moments_variance(&m);
        held += v.lo <= 10 && v.hi >= 10;
    }
    assert_in_range(held, 460, 488);
}

/* ---- inner products -------------------------------------------------------------------------- */

TEST(moments_are_those_of_the_distribution)
{
    const size_t dims[] = {1, 64};
    for (int d = 0; d < DISTRIBUTION_COUNT; d++) {
        struct moments m[2] = {0};
        const struct distribution_facts *facts = &distributions[d];
        assert_true(dots_moments((enum distribution)d, random_key(3, 0), 200000, dims, 2, 2, m));
        const double product2 = facts->variance * facts->variance;
        assert_close(m[0].sum[0] / m[0].n / sqrt(product2), 0, 0.01);
        assert_close(moments_variance(&m[0]).variance / product2, 1, 0.05);
        assert_close(moments_variance(&m[1]).variance / (64 * product2), 1, 0.02);
        const double fourth = m[0].sum[3] / m[0].n / (facts->fourth * facts->fourth);
        if (d != DISTRIBUTION_HEAVY) /* whose fourth moment no sample shows */
            assert_close(fourth, 1, 0.1);
    }
}

/* Fewer dimensions are a beginning of more, odd ones too. */
TEST(inner_products_are_sums_of_the_first_dimensions)
{
    static const size_t dims[] = {1, 2, 3, 7, 8, 31};
    float all[COUNT(dims) * DOTS_TRIALS], one[DOTS_TRIALS];
    for (int d = 0; d < DISTRIBUTION_COUNT; d++) {
        const enum distribution kind = (enum distribution)d;
        dots_best()->run(kind, 5, 128, dims, COUNT(dims), all);
        for (size_t c = 0; c < COUNT(dims); c++) {
            dots_best()->run(kind, 5, 128, &dims[c], 1, one);
            assert_memory_equal(one, all + c * DOTS_TRIALS, sizeof one);
        }
    }
}

TEST(every_instruction_set_draws_the_same)
{
    static const size_t dims[] = {1, 33};
    float expected[2 * DOTS_TRIALS], got[2 * DOTS_TRIALS];
    for (int d = 0; d < DISTRIBUTION_COUNT; d++) {
        dots_variants[0]->run((enum distribution)d, 9, 64, dims, 2, expected);
        for (size_t v = 1; v < dots_variant_count; v++) {
            if (!attn_isa_available(dots_variants[v]->isa))
                continue;
            dots_variants[v]->run((enum distribution)d, 9, 64, dims, 2, got);
            for (size_t i = 0; i < COUNT(got); i++)
                assert_close((double)got[i], (double)expected[i], 1e-3);
        }
    }
}

TEST(threads_change_nothing)
{
    static const size_t dims[] = {3, 16};
    struct moments one[2] = {0}, three[2] = {0};
    assert_true(dots_moments(DISTRIBUTION_HEAVY, 11, 20001, dims, 2, 1, one));
    assert_true(dots_moments(DISTRIBUTION_HEAVY, 11, 20001, dims, 2, 3, three));
    assert_true(one[0].n == 20001);
    assert_memory_equal(one, three, sizeof one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_experiment_says_what_it_is),
        cmocka_unit_test(steps_are_every_combination),
        cmocka_unit_test(rows_are_listed_by_key),
        cmocka_unit_test(a_wide_listing_gives_way),
        cmocka_unit_test(every_block_is_computed_once),
        cmocka_unit_test(variance_of_a_known_sample),
        cmocka_unit_test(intervals_cover_the_exact_variance),
        cmocka_unit_test(moments_are_those_of_the_distribution),
        cmocka_unit_test(inner_products_are_sums_of_the_first_dimensions),
        cmocka_unit_test(every_instruction_set_draws_the_same),
        cmocka_unit_test(threads_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
