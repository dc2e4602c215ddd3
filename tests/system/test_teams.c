/*
 * teams: who worked and who waited, for each construct that kernels use.
 *
 * Work is to spin until the clock has advanced, so it lasts at least as long as said.  A thread
 * that has nothing to do may be preempted and look busy: then another attempt is made.
 */
#include "testing.h"

#include <math.h>
#include <omp.h>

#include "base/clock.h"
#include "system/teams.h"

enum { THREADS = 3, ATTEMPTS = 20 };

#define WORK_S 2e-3

static void spin(double seconds)
{
    const double start = clock_now();
    while (clock_now() - start < seconds)
        ;
}

static void serially(void)
{
    spin(WORK_S);
}

/* Thread 1 works, the others wait at the end of the region. */
static void in_a_region(void)
{
#pragma omp parallel num_threads(THREADS)
    if (omp_get_thread_num() == 1)
        spin(WORK_S);
}

/* Thread 1 works, the others wait in the middle of the region. */
static void at_a_barrier(void)
{
#pragma omp parallel num_threads(THREADS)
    {
        if (omp_get_thread_num() == 1)
            spin(WORK_S);
#pragma omp barrier
        if (omp_get_thread_num() == 1)
            spin(WORK_S / 2);
    }
}

/* A static loop whose only long iteration belongs to thread 1, with its own barrier at the end. */
static void in_a_static_loop(void)
{
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(static)
        for (int i = 0; i < THREADS; i++)
            if (i == 1)
                spin(WORK_S);
        if (omp_get_thread_num() == 1)
            spin(WORK_S / 2);
    }
}

/* Dynamic and guided loops: whoever gets the long iteration works. */
static void in_a_dynamic_loop(void)
{
#pragma omp parallel for num_threads(THREADS) schedule(dynamic, 1)
    for (int i = 0; i < 1; i++)
        spin(WORK_S);
}

static void in_a_guided_loop(void)
{
#pragma omp parallel for num_threads(THREADS) schedule(guided, 1)
    for (int i = 0; i < 1; i++)
        spin(WORK_S);
}

static void in_an_inner_dynamic_loop(void)
{
#pragma omp parallel num_threads(THREADS)
    {
#pragma omp for schedule(dynamic, 1)
        for (int i = 0; i < 1; i++)
            spin(WORK_S);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    int worker; /* -1: any one */
    double work_s;
} constructs[] = {
    {"serial", serially, 0, WORK_S},
    {"region", in_a_region, 1, WORK_S},
    {"barrier", at_a_barrier, 1, WORK_S * 3 / 2},
    {"static loop", in_a_static_loop, 1, WORK_S * 3 / 2},
    {"dynamic loop", in_a_dynamic_loop, -1, WORK_S},
    {"guided loop", in_a_guided_loop, -1, WORK_S},
    {"inner dynamic loop", in_an_inner_dynamic_loop, -1, WORK_S},
};

struct times {
    double busy_s[THREADS], waiting_s[THREADS];
};

static bool record(void (*run)(void), struct times *times)
{
    bool heard = true;
    teams_start();
    run();
    teams_stop();
    for (int t = 0; t < THREADS; t++)
        heard = heard && teams_times(t, &times->busy_s[t], &times->waiting_s[t]);
    return heard;
}

/* Whether exactly one thread, the one expected, worked, and the others waited for it. */
static bool as_expected(const struct times *times, int worker, double work_s)
{
    int busiest = 0;
    for (int t = 1; t < THREADS; t++)
        busiest = times->busy_s[t] > times->busy_s[busiest] ? t : busiest;
    if (times->busy_s[busiest] < work_s || (worker >= 0 && busiest != worker))
        return false;
    for (int t = 0; t < THREADS; t++)
        if (t != busiest && (times->busy_s[t] > work_s / 4 || times->waiting_s[t] < work_s / 2))
            return false;
    return true;
}

TEST(work_and_waiting_are_told_apart)
{
    for (size_t c = 0; c < sizeof constructs / sizeof *constructs; c++) {
        struct times times = {{0}, {0}};
        bool right = false;
        in_a_region(); /* the team exists, the runtime has been heard */
        for (int attempt = 0; attempt < ATTEMPTS && !right; attempt++) {
            if (!record(constructs[c].run, &times))
                skip(); /* a runtime that cannot be heard */
            right = as_expected(&times, constructs[c].worker, constructs[c].work_s);
        }
        if (!right)
            fail_msg("%s: busy %g %g %g, waiting %g %g %g", constructs[c].name, times.busy_s[0],
                     times.busy_s[1], times.busy_s[2], times.waiting_s[0], times.waiting_s[1],
                     times.waiting_s[2]);
    }
}

TEST(work_and_waiting_add_up)
{
    struct times times;
    if (!record(in_a_region, &times))
        skip();
    const double all = times.busy_s[0] + times.waiting_s[0];
    assert_true(all >= WORK_S);
    for (int t = 1; t < THREADS; t++)
        assert_true(fabs(times.busy_s[t] + times.waiting_s[t] - all) < 1e-9);
}

TEST(nothing_counts_outside_a_recording)
{
    struct times times, later;
    if (!record(in_a_region, &times))
        skip();
    in_a_region();
    for (int t = 0; t < THREADS; t++) {
        assert_true(teams_times(t, &later.busy_s[t], &later.waiting_s[t]));
        assert_true(later.busy_s[t] == times.busy_s[t]);
        assert_true(later.waiting_s[t] == times.waiting_s[t]);
    }
    double busy, waiting;
    assert_false(teams_times(TEAMS_THREADS, &busy, &waiting));
}

/* Thread 1 opens a region of its own, in which thread number 0 works: that is work of thread 1. */
TEST(inner_regions_are_work_of_their_thread)
{
    struct times times;
    bool right = false;
    omp_set_max_active_levels(1);
    for (int attempt = 0; attempt < ATTEMPTS && !right; attempt++) {
        teams_start();
#pragma omp parallel num_threads(THREADS)
        if (omp_get_thread_num() == 1) {
#pragma omp parallel num_threads(2)
            spin(WORK_S);
        }
        teams_stop();
        for (int t = 0; t < THREADS; t++)
            if (!teams_times(t, &times.busy_s[t], &times.waiting_s[t]))
                skip();
        right = as_expected(&times, 1, WORK_S);
    }
    assert_true(right);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_and_waiting_are_told_apart),
        cmocka_unit_test(work_and_waiting_add_up),
        cmocka_unit_test(nothing_counts_outside_a_recording),
        cmocka_unit_test(inner_regions_are_work_of_their_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
