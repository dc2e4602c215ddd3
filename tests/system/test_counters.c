/*
 * counters: either the hardware counts what was done, or the reason is given; energy from made-up
 * files.
 */
#include "testing.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "system/counters.h"

/* n additions that nobody may leave out. */
static void work(long n)
{
    for (volatile long i = 0; i < n; i = i + 1)
        ;
}

TEST(counts_or_says_why_not)
{
    enum { STEPS = 1000000, THREADS = 2 };
    struct counters *counters = counters_open(THREADS);
    struct counter_values values;
    assert_non_null(counters);
#pragma omp parallel num_threads(THREADS)
    work(STEPS); /* not counted */
    counters_start(counters);
#pragma omp parallel num_threads(THREADS)
    work(STEPS);
    counters_stop(counters);
#pragma omp parallel num_threads(THREADS)
    work(10 * STEPS); /* not counted */
    counters_read(counters, &values);
    const double instructions = values.value[COUNTER_INSTRUCTIONS];
    if (!isnan(instructions)) {
        /* each step is at least a load, an addition, a store, a comparison or what fuses them, and
         * a thread waiting in a barrier may add any number */
        assert_true(instructions > 3.0 * STEPS * THREADS);
        assert_true(values.value[COUNTER_CYCLES] > 0);
    }
    bool events = true;
    for (int c = 0; c < COUNTER_COUNT; c++)
        events = events && !isnan(values.value[c]);
    assert_int_equal(events, !strstr(values.why, "no hardware events: "));
    assert_int_equal(isnan(values.energy_j), strstr(values.why, "no energy: ") != NULL);
    counters_close(counters);
}

TEST(nothing_to_count_with_is_no_error)
{
    counters_start(NULL);
    counters_stop(NULL);
    counters_close(NULL);
}

TEST(values_become_json_per_call)
{
    struct counter_values values = {{1000, 4000, NAN, 20}, 0.5, "no cache events"};
    json_t *object = counters_json(&values, 10);
    assert_true(json_real_value(json_object_get(object, "cycles")) == 100);
    assert_true(json_real_value(json_object_get(object, "instructions")) == 400);
    assert_true(json_is_null(json_object_get(object, "cache_misses")));
    assert_true(json_real_value(json_object_get(object, "branch_misses")) == 2);
    assert_true(json_real_value(json_object_get(object, "energy_j")) == 0.05);
    assert_string_equal(json_string_value(json_object_get(object, "why")), "no cache events");
    json_decref(object);
    *values.why = 0;
    object = counters_json(&values, 10);
    assert_true(json_is_null(json_object_get(object, "why")));
    json_decref(object);
}

static void write_text(const char *directory, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Two packages; the second one's counter wraps at 10 J. */
TEST(energy_is_summed_over_packages)
{
    char root[] = "/tmp/attnbench-rapl-XXXXXX", zones[2][64], path[256];
    assert_non_null(mkdtemp(root));
    for (int z = 0; z < 2; z++) {
        snprintf(zones[z], sizeof zones[z], "%s/intel-rapl:%d", root, z);
        assert_int_equal(0, mkdir(zones[z], 0700));
        write_text(zones[z], "max_energy_range_uj", z == 0 ? "999000000\n" : "10000000\n");
    }
    write_text(zones[0], "energy_uj", "1000000\n");
    write_text(zones[1], "energy_uj", "9500000\n");
    const struct energy before = counters_energy(root);
    assert_int_equal(before.zones, 2);
    write_text(zones[0], "energy_uj", "3500000\n");
    write_text(zones[1], "energy_uj", "250000\n");
    const struct energy after = counters_energy(root);
    assert_true(fabs(counters_energy_between(&before, &after) - (2.5 + 0.75)) < 1e-9);
    for (int z = 0; z < 2; z++) {
        snprintf(path, sizeof path, "%s/energy_uj", zones[z]);
        unlink(path);
        snprintf(path, sizeof path, "%s/max_energy_range_uj", zones[z]);
        unlink(path);
        rmdir(zones[z]);
    }
    const struct energy none = counters_energy(root);
    assert_int_equal(none.zones, 0);
    assert_true(isnan(counters_energy_between(&none, &none)));
    assert_true(isnan(counters_energy_between(&before, &none)));
    rmdir(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_or_says_why_not),
        cmocka_unit_test(nothing_to_count_with_is_no_error),
        cmocka_unit_test(values_become_json_per_call),
        cmocka_unit_test(energy_is_summed_over_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
