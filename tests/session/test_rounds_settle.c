/*
 * When cells have launches enough, and how long a launch may take.
 */
#include "testing.h"

#include <math.h>

#include "base/random.h"
#include "session/rounds_private.h"

enum { STEADY_BASE, NOISY_NEW, STEADY_OTHER, CELLS };

static struct problem_case problem = {.name = "a-case"};
/* Launches of 10 ms and up to `more` of that, neighbours unlike each other. */
static struct cell cell_of(const char *kernel, const char *setting, size_t launches, double more)
{
    struct cell cell;
    cell_init(&cell, &problem, kernel, ATTN_ISA_AVX2);
    cell.setting.name = setting;
    for (size_t i = 0; i < launches; i++) {
        const double share = (double)random_below(random_key(3, 0), i, 1000) / 1000;
        json_array_append_new(cell.launches,
                              json_pack("{s:f}", "median_s", 0.01 * (1 + more * share)));
    }
    return cell;
}

/* A cell whose interval is narrow goes on beside its partner, whose is not: each launch has its pair. */
TEST(both_settings_end_together)
{
    struct parse_error error;
    assert_true(parse_problem("s=64", &problem.problem, &error));
    static const struct options options = {.launches = 61};
    static const char base[] = "base", new[] = "new";
    struct cell cells[CELLS] = {
        [STEADY_BASE] = cell_of("flash", base, 60, 0.0005),
        [NOISY_NEW] = cell_of("flash", new, 59, 0.2),
        [STEADY_OTHER] = cell_of("tiled", base, 60, 0.0005),
    };
    const struct session session = {.options = &options, .cells = cells, .cell_count = CELLS};
    struct rounds rounds = {.session = &session, .command = "run", .cells = cells, .count = CELLS};
    assert_true(rounds_settle(&rounds));
    assert_true(cells[STEADY_OTHER].done);
    assert_false(cells[STEADY_BASE].done || cells[NOISY_NEW].done);
    const json_t *const row = cells[STEADY_OTHER].row;
    assert_true(row && !cells[STEADY_BASE].row && !cells[NOISY_NEW].row);
    for (size_t i = STEADY_BASE; i <= NOISY_NEW; i++)
        while (json_array_size(cells[i].launches) < options.launches)
            json_array_append(cells[i].launches, json_array_get(cells[i].launches, 0));
    assert_true(rounds_settle(&rounds));
    assert_true(cells[STEADY_BASE].done && cells[NOISY_NEW].done);
    assert_ptr_equal(cells[STEADY_OTHER].row, row); /* made once */
    for (size_t i = 0; i < CELLS; i++)
        cell_free(&cells[i]);
}

/* A launch for a thorough check has time for all inputs, and what the user asks holds for every launch. */
TEST(checks_have_time_for_all_inputs)
{
    struct parse_error error;
    struct options options = {0};
    const struct session session = {.options = &options};
    const struct rounds rounds = {.session = &session, .deadline_s = 60};
    struct protocol_request r = {.action = PROTOCOL_MEASURE, .depth = CHECK_THOROUGH};
    assert_true(parse_problem("h=8,s=1024", &r.c.problem, &error));
    assert_true(fabs(rounds_launch_deadline(&rounds, &r) - 60) < 1e-9);
    r.action = PROTOCOL_CHECK;
    assert_true(fabs(rounds_launch_deadline(&rounds, &r) - (60 + 20 * 30.25)) < 1e-9);
    r.depth = CHECK_CASE;
    assert_true(fabs(rounds_launch_deadline(&rounds, &r) - 60) < 1e-9);
    options.timeout_s = 60;
    r.depth = CHECK_THOROUGH;
    assert_true(fabs(rounds_launch_deadline(&rounds, &r) - 60) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(both_settings_end_together),
                                       cmocka_unit_test(checks_have_time_for_all_inputs)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
