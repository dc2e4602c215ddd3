/*
 * The model of the experiment distributed: times of the table, computed in fractions; tests/scripts holds the
 * figure to the same one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "experiments/distributed/distributed.h"

static const struct distributed_network *network_of(const char *name)
{
    for (size_t i = 0; i < DISTRIBUTED_NETWORKS; i++)
        if (strcmp(distributed_networks[i].name, name) == 0)
            return &distributed_networks[i];
    fail_msg("no network %s", name);
    return NULL;
}

static void times_are_those_of_the_table(void **state)
{
    char header[200], name[40];
    int by_cores;
    double latency_s, bytes_per_s, seconds;
    struct distributed_call call;
    size_t rows = 0;
    (void)state;
    FILE *table = fopen(TEST_DATA "/ring-model.csv", "r");
    assert_non_null(table);
    assert_non_null(fgets(header, sizeof header, table));
    for (; fscanf(table, "%39[^,],%lf,%lf,%lf,%lf,%lf,%lf,%lf,%d,%lf\n", name, &latency_s,
                  &bytes_per_s, &call.flops, &call.kv_bytes, &call.ranks, &call.turns,
                  &call.flops_per_s, &by_cores, &seconds) == 10;
         rows++) {
        const struct distributed_network *network = network_of(name);
        assert_true(network->latency_s == latency_s && network->bytes_per_s == bytes_per_s);
        call.latency_s = latency_s;
        call.bytes_per_s = bytes_per_s;
        call.by_cores = by_cores;
        const struct distributed_time time = distributed_model(&call);
        if (fabs(time.seconds / seconds - 1) > 1e-12)
            fail_msg("row %zu: %.17g s", rows, time.seconds);
        const double computing = call.flops / call.ranks / call.flops_per_s * call.turns;
        assert_true(fabs(computing + time.exposed_s - seconds) <= 1e-9 * seconds);
        assert_true(time.exposed_s <= time.communicating_s);
    }
    fclose(table);
    assert_int_equal(rows, 33);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_are_those_of_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
