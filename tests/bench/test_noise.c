/*
 * noise: each flag is raised by what it stands for, and by nothing else; quiet launches of any
 * distribution raise (almost) none.
 */
#include "testing.h"

#include <math.h>

#include "bench/noise.h"
#include "base/random.h"

enum { LAUNCHES = 24, SAMPLES = 32 };

/* A quiet launch of two threads for 0.1 s. */
static const struct bench_disturbance quiet = {
    .wall_s = 0.1,
    .involuntary_switches = 5,
    .runnable = 2,
    .allowed_cpus = 2,
    .online_cpus = 2,
    .probe_before_gflops = 100,
    .probe_after_gflops = 101,
};

TEST(one_launch_shows_what_was_counted)
{
    const struct {
        struct bench_disturbance change;
        unsigned flags;
    } known[] = {
        {{.involuntary_switches = 17}, 0}, /* 5 more: 22 = 2 + 100 * 0.1 * 2 */
        {{.involuntary_switches = 18}, NOISE_PREEMPTED},
        {{.migrated = true}, NOISE_MIGRATED},
        {{.steal_s = 0.004}, 0}, /* 2 % of two threads */
        {{.steal_s = 0.0041}, NOISE_STEAL},
        {{.throttled_periods = 1}, NOISE_THROTTLED},
        {{.thermal_throttles = 1}, NOISE_THROTTLED},
        {{.probe_after_gflops = 3.9}, 0}, /* 101 more: 104.9 */
        {{.probe_after_gflops = 4.1}, NOISE_FREQUENCY},
        {{.probe_before_gflops = 7}, NOISE_FREQUENCY},  /* 107 against 101 */
        {{.runnable = 1}, NOISE_OVERSUBSCRIBED},        /* 2 more: 3 on 2 CPUs */
        {{.allowed_cpus = -0.5}, NOISE_OVERSUBSCRIBED}, /* 2 more: a quota of 1.5 */
        {{.major_faults = 1}, NOISE_PAGED},
        {{.halts = 1}, NOISE_HALTED},
        {{.minor_faults = 1000, .voluntary_switches = 1000}, 0},
    };
    for (size_t i = 0; i < COUNT(known); i++) {
        struct noise_launch launch = {.threads = 2, .disturbance = quiet};
        const struct bench_disturbance *c = &known[i].change;
        struct bench_disturbance *d = &launch.disturbance;
        d->involuntary_switches += c->involuntary_switches;
        d->voluntary_switches += c->voluntary_switches;
        d->minor_faults += c->minor_faults;
        d->major_faults += c->major_faults;
        d->halts += c->halts;
        d->steal_s += c->steal_s;
        d->throttled_periods += c->throttled_periods;
        d->thermal_throttles += c->thermal_throttles;
        d->runnable += c->runnable;
        d->allowed_cpus += c->allowed_cpus;
        d->migrated |= c->migrated;
        d->probe_before_gflops += c->probe_before_gflops;
        d->probe_after_gflops += c->probe_after_gflops;
        const unsigned got = noise_of_launch(&launch, 0);
        if (got != known[i].flags)
            fail_msg("case %zu: flags %#x, expected %#x", i, got, known[i].flags);
    }
}

TEST(a_launch_is_held_against_the_usual_rate)
{
    const struct noise_launch launch = {.threads = 2, .disturbance = quiet};
    assert_int_equal(noise_of_launch(&launch, 100), 0);
    assert_int_equal(noise_of_launch(&launch, 107), NOISE_FREQUENCY);
    assert_int_equal(noise_of_launch(&launch, 94), NOISE_FREQUENCY);
    struct noise_launch slow_start = launch, slow_end = launch;
    slow_start.disturbance.probe_before_gflops = 97; /* against 101 and 103: 4 and 6 % */
    slow_end.disturbance.probe_after_gflops = 97;    /* against 100 and 103 */
    assert_int_equal(noise_of_launch(&slow_start, 103), NOISE_FREQUENCY);
    assert_int_equal(noise_of_launch(&slow_end, 103), NOISE_FREQUENCY);
}

/* Where cycles were counted the probes say nothing more about the clock. */
TEST(cycles_outrank_the_probes)
{
    struct noise_launch launch = {.threads = 2, .disturbance = quiet};
    assert_true(noise_clock(&launch.disturbance) == 100);
    launch.disturbance.clock_ghz = 3.5;
    launch.disturbance.probe_after_gflops = 50;
    assert_true(noise_clock(&launch.disturbance) == 3.5);
    assert_int_equal(noise_of_launch(&launch, 0), 0);
    assert_int_equal(noise_of_launch(&launch, 3.4), 0);
    assert_int_equal(noise_of_launch(&launch, 3.3), NOISE_FREQUENCY);
}

TEST(only_what_may_pass_is_repeated)
{
    assert_true(noise_repeat(NOISE_PREEMPTED));
    assert_true(noise_repeat(NOISE_MIGRATED | NOISE_OUTLIERS));
    assert_true(noise_repeat(NOISE_HALTED));
    assert_false(noise_repeat(0));
    assert_false(noise_repeat(NOISE_OVERSUBSCRIBED | NOISE_OUTLIERS | NOISE_BIMODAL | NOISE_DRIFT |
                              NOISE_NO_INTERVAL));
}

/* Two at once, one more for every four launches that count. */
TEST(repeats_are_not_for_ever)
{
    assert_true(noise_may_repeat(0, 1));
    assert_false(noise_may_repeat(0, 2));
    assert_false(noise_may_repeat(3, 2));
    assert_true(noise_may_repeat(4, 2));
    assert_true(noise_may_repeat(24, 7));
    assert_false(noise_may_repeat(24, 8));
}

/* Launches whose samples come from `draw`, with a small change from launch to launch. */
struct cell {
    double samples[LAUNCHES][SAMPLES];
    struct noise_launch launches[LAUNCHES];
};

static double uniform(uint64_t key, uint64_t *i)
{
    return ((double)(random_bits(key, (*i)++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(uint64_t key, uint64_t *i)
{
    const double r = sqrt(-2 * log(uniform(key, i)));
    return r * cos(6.283185307179586 * uniform(key, i));
}

static double exponential(uint64_t key, uint64_t *i)
{
    return -log(uniform(key, i));
}

/* Student's t with 2 degrees of freedom, by its inverse. */
static double heavy(uint64_t key, uint64_t *i)
{
    const double a = 2 * uniform(key, i) - 1;
    return a * sqrt(2 / (1 - a * a));
}

static void fill_noisy(struct cell *cell, double (*draw)(uint64_t, uint64_t *), uint64_t key,
                       double scale)
{
    uint64_t i = 0;
    for (size_t l = 0; l < LAUNCHES; l++) {
        const double shift = 0.6 * scale * draw(key, &i);
        for (size_t s = 0; s < SAMPLES; s++)
            cell->samples[l][s] = exp(shift + scale * draw(key, &i));
        cell->launches[l] = (struct noise_launch){cell->samples[l], SAMPLES, 2, quiet};
    }
}

static void fill(struct cell *cell, double (*draw)(uint64_t, uint64_t *), uint64_t key)
{
    fill_noisy(cell, draw, key, 0.005);
}

TEST(quiet_cells_are_seldom_flagged)
{
    static double (*const draws[])(uint64_t, uint64_t *) = {normal, exponential, uniform, heavy};
    static const double scales[] = {0.002, 0.005, 0.03};
    static struct cell cell;
    int flagged = 0;
    enum { CELLS = 100 };
    for (size_t d = 0; d < COUNT(draws) * COUNT(scales); d++)
        for (uint64_t key = 0; key < CELLS; key++) {
            fill_noisy(&cell, draws[d % COUNT(draws)], random_key(99, d * CELLS + key),
                       scales[d / COUNT(draws)]);
            const unsigned flags = noise_of_cell(cell.launches, LAUNCHES);
            assert_int_equal(flags & ~(unsigned)(NOISE_BIMODAL | NOISE_DRIFT), 0);
            flagged += flags != 0;
        }
    assert_in_range(flagged, 0, (int)(COUNT(draws) * COUNT(scales) * CELLS * 2 / 100)); /* 2 % */
}

TEST(shapes_are_recognised)
{
    static struct cell cell;
    for (uint64_t key = 0; key < 50; key++) {
        uint64_t i = 0;
        const uint64_t more = random_key(7, key);
        fill(&cell, normal, key);
        for (size_t l = 0; l < LAUNCHES; l++) /* three slow samples in 32 */
            for (size_t s = 0; s < 3; s++)
                cell.samples[l][random_below(more, i++, SAMPLES / 3) * 3 + s] *= 1.5;
        assert_true(noise_of_cell(cell.launches, LAUNCHES) & NOISE_OUTLIERS);

        fill(&cell, normal, key); /* a third of the samples in a slower mode */
        for (size_t l = 0; l < LAUNCHES; l++)
            for (size_t s = 0; s < SAMPLES; s++)
                cell.samples[l][s] *= s % 3 == 0 ? 1.08 : 1;
        assert_true(noise_of_cell(cell.launches, LAUNCHES) & NOISE_BIMODAL);

        fill(&cell, normal, key); /* a third of the launches in a slower mode */
        for (size_t l = 0; l < LAUNCHES; l += 3)
            for (size_t s = 0; s < SAMPLES; s++)
                cell.samples[l][s] *= 1.08;
        assert_true(noise_of_cell(cell.launches, LAUNCHES) & NOISE_BIMODAL);

        fill(&cell, normal, key); /* 4 % slower in the course of the launches */
        for (size_t l = 0; l < LAUNCHES; l++)
            for (size_t s = 0; s < SAMPLES; s++)
                cell.samples[l][s] *= 1 + 0.04 * (double)l / LAUNCHES;
        assert_true(noise_of_cell(cell.launches, LAUNCHES) & NOISE_DRIFT);

        fill(&cell, normal, key); /* 4 % faster in the course of each launch */
        for (size_t l = 0; l < LAUNCHES; l++)
            for (size_t s = 0; s < SAMPLES; s++)
                cell.samples[l][s] *= 1 - 0.04 * (double)s / SAMPLES;
        assert_true(noise_of_cell(cell.launches, LAUNCHES) & NOISE_DRIFT);
    }
}

/* Trends and modes that are there, but too small for an interval of 1 % to feel. */
TEST(small_shapes_are_let_be)
{
    static struct cell cell;
    fill_noisy(&cell, normal, 5, 0.0003);
    for (size_t l = 0; l < LAUNCHES; l++)
        for (size_t s = 0; s < SAMPLES; s++)
            cell.samples[l][s] *= 1 + 0.007 * (double)(l * SAMPLES + s) / (LAUNCHES * SAMPLES);
    assert_int_equal(noise_of_cell(cell.launches, LAUNCHES), 0);
    fill_noisy(&cell, normal, 5, 0.0003);
    for (size_t l = 0; l < LAUNCHES; l++)
        for (size_t s = 0; s < SAMPLES; s++)
            cell.samples[l][s] *= s % 3 == 0 ? 1.007 : 1;
    assert_int_equal(noise_of_cell(cell.launches, LAUNCHES), 0);
}

TEST(a_cell_needs_enough_disturbed_launches)
{
    static struct cell cell;
    fill(&cell, normal, 3);
    cell.launches[0].disturbance.involuntary_switches = 1000;
    cell.launches[1].disturbance.steal_s = 1;
    assert_int_equal(noise_of_cell(cell.launches, LAUNCHES), 0);
    for (size_t l = 0; l < LAUNCHES / 2; l++)
        cell.launches[l].disturbance.involuntary_switches = 1000;
    assert_int_equal(noise_of_cell(cell.launches, LAUNCHES), NOISE_PREEMPTED);

    fill(&cell, normal, 3); /* one migration is one too many */
    cell.launches[5].disturbance.migrated = true;
    assert_int_equal(noise_of_cell(cell.launches, LAUNCHES), NOISE_MIGRATED);

    fill(&cell, normal, 3); /* a quarter of the launches at another clock */
    for (size_t l = 0; l < LAUNCHES / 4; l++)
        cell.launches[l].disturbance.probe_before_gflops =
            cell.launches[l].disturbance.probe_after_gflops = 90;
    assert_int_equal(noise_of_cell(cell.launches, LAUNCHES), NOISE_FREQUENCY);
}

TEST(few_launches_are_said_to_be_few)
{
    static struct cell cell;
    fill(&cell, normal, 4);
    assert_int_equal(noise_of_cell(cell.launches, 5), NOISE_NO_INTERVAL);
    assert_int_equal(noise_of_cell(cell.launches, 6), 0);
    assert_int_equal(noise_of_cell(cell.launches, 0), NOISE_NO_INTERVAL);
}

TEST(words_are_complete_and_distinct)
{
    json_t *words = noise_json(~0u), *none = noise_json(0), *one = noise_json(NOISE_DRIFT);
    assert_int_equal(json_array_size(words), noise_word_count);
    assert_int_equal(json_array_size(none), 0);
    assert_string_equal(json_string_value(json_array_get(one, 0)), "drift");
    for (size_t i = 0; i < noise_word_count; i++)
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(noise_words[i].word, noise_words[j].word);
            assert_int_not_equal(noise_words[i].letter, noise_words[j].letter);
            assert_int_not_equal(noise_words[i].bit, noise_words[j].bit);
        }
    json_decref(words);
    json_decref(none);
    json_decref(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_launch_shows_what_was_counted),
        cmocka_unit_test(a_launch_is_held_against_the_usual_rate),
        cmocka_unit_test(cycles_outrank_the_probes),
        cmocka_unit_test(only_what_may_pass_is_repeated),
        cmocka_unit_test(repeats_are_not_for_ever),
        cmocka_unit_test(shapes_are_recognised),
        cmocka_unit_test(small_shapes_are_let_be),
        cmocka_unit_test(a_cell_needs_enough_disturbed_launches),
        cmocka_unit_test(few_launches_are_said_to_be_few),
        cmocka_unit_test(words_are_complete_and_distinct),
        cmocka_unit_test(quiet_cells_are_seldom_flagged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
