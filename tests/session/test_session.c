/*
 * How cases share the time of a session.
 */
#include "testing.h"

#include <math.h>

#include "base/stats.h"
#include "problem/catalogue.h"
#include "problem/lengths.h"
#include "session/session_needs.h"

enum { CHEAP = 2, DEAR = 3 }; /* cells */

static struct problem_case cases[2];
static struct cell cells[CHEAP + DEAR];
static struct session session = {.cells = cells, .cell_count = CHEAP + DEAR};

static int two_cases(void **state)
{
    static const struct attn_kernel kernel = {.size = sizeof kernel};
    (void)state;
    struct parse_error error;
    const bool parsed = parse_problem("s=64", &cases[0].problem, &error) &&
                        parse_problem("h=8,s=2048", &cases[1].problem, &error);
    for (size_t i = 0; i < CHEAP + DEAR; i++) {
        const struct problem_case *c = &cases[i >= CHEAP];
        cells[i] = (struct cell){.c = c, .kernel = &kernel, .estimate = lengths_work(c)};
    }
    return parsed ? 0 : -1;
}

static double share_of(size_t which, double left)
{
    return which ? session_needs_share(&session, CHEAP, DEAR, left)
                 : session_needs_share(&session, 0, CHEAP, left);
}

/* With too little for all, the cheap case has what it needs and the dear one the rest. */
TEST(the_cheap_are_served_first)
{
    const double need = share_of(0, 12);
    assert_true(need > 0 && fabs(share_of(0, 8) - need) < 1e-9);
    assert_true(fabs(share_of(0, 2) - 2 * (double)CHEAP / (CHEAP + DEAR)) < 1e-9); /* alike */
    for (size_t i = 0; i < CHEAP; i++)
        cells[i].done = true;
    assert_true(fabs(share_of(1, 8 - need) - (8 - need)) < 1e-9);
    assert_true(share_of(0, 8) == 0);
}

/* What is over goes to each by its need: twice the needs of all give each twice its own. */
TEST(the_rest_is_shared_by_need)
{
    const double need = share_of(0, 12), all = 1000 * need / share_of(0, 1000);
    const double dear = (all - need) / DEAR;
    assert_true(12 < all && all < 1000 && dear > need / CHEAP);
    assert_true(fabs(share_of(0, all * (1 - 1e-12)) - need) < 1e-9);
    assert_true(fabs(share_of(0, 2 * all) - 2 * need) < 1e-9);
    cells[CHEAP].done = true;
    assert_true(fabs(share_of(0, 2 * all) - 2 * all * need / (all - dear)) < 1e-9);
    cells[0].done = true;
    assert_true(fabs(share_of(0, 2 * all) - all * need / (all - dear - need / 2)) < 1e-9);
    cells[0].done = false;
    for (size_t i = CHEAP; i < CHEAP + DEAR; i++)
        cells[i].done = true;
    assert_true(fabs(share_of(0, 1000) - 1000) < 1e-9);
}

/* A program is started and loads its library in each launch and the check, and operands are copied to it. */
TEST(programs_start_and_are_given_copies)
{
    static struct guest program = {.program = true, .start_s = 3};
    static struct options options = {.command = COMMAND_RUN, .checked = CHECKED_FULL};
    session.options = &options;
    session.cases.items = cases;
    session.first_drawn = 2;
    const struct session_needs without = session_needs(&session);
    const double need = share_of(0, 12);
    cells[0].guest = cells[1].guest = &program; /* of one variant, which is checked once */
    const struct session_needs with = session_needs(&session);
    const double once = 3 + 75e-9 * cells[0].estimate.bytes;
    assert_true(once > 3);
    assert_true(fabs(with.launches_s - without.launches_s - 2 * once) < 1e-9);
    assert_true(fabs(with.checks_s - without.checks_s - (once + 12)) < 1e-9);
    cells[CHEAP].done = cells[CHEAP + 1].done = cells[CHEAP + 2].done = true;
    const double all = need + 2 * (STATS_CI_MIN + 1) * once; /* for launches and the check */
    assert_true(fabs(share_of(0, all) - all) < 1e-9);
    program.program = false; /* a shared object is loaded by the worker itself */
    const double check_s = session_needs_check_s(cells[0].estimate.flops, CHECK_FULL);
    assert_true(fabs(session_needs(&session).checks_s - (check_s + 0.06)) < 1e-3);
}

/* A check takes as long as its problem is large, up to a limit; `attnbench check` asks the most. */
TEST(checks_are_estimated_by_size_and_depth)
{
    static struct options options = {.command = COMMAND_CHECK, .checked = CHECKED_FULL};
    assert_true(session_needs_check_s(1e12, CHECK_CASE) == 0);
    assert_true(fabs(session_needs_check_s(0, CHECK_FULL) - 0.25) < 1e-9);
    assert_true(fabs(session_needs_check_s(2e7, CHECK_FULL) - 2) < 1e-9);
    assert_true(fabs(session_needs_check_s(1e12, CHECK_FULL) - 3.75) < 1e-9);
    assert_true(fabs(session_needs_check_s(1e8, CHECK_THOROUGH) - 15.25) < 1e-9);
    assert_true(fabs(session_needs_check_s(1e12, CHECK_THOROUGH) - 30.25) < 1e-9);
    session.options = &options;
    session.cases.items = cases;
    session.first_drawn = 2;
    const double in_check = session_needs(&session).checks_s;
    options.command = COMMAND_RUN;
    assert_true(in_check > session_needs(&session).checks_s + 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(programs_start_and_are_given_copies, two_cases),
        cmocka_unit_test_setup(checks_are_estimated_by_size_and_depth, two_cases),
        cmocka_unit_test_setup(the_cheap_are_served_first, two_cases),
        cmocka_unit_test_setup(the_rest_is_shared_by_need, two_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
