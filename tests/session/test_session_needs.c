/*
 * Sharing a budget that is too small: the least needs are met first, the rest share alike.
 */
#include "testing.h"

#include <math.h>

#include "session/session_needs.h"

TEST(levels_share_what_fast_cells_leave)
{
    const struct {
        double needs[4], total, level;
        size_t count;
    } table[] = {
        {{0}, 10, 0, 0},           {{3}, 10, 10, 1},
        {{30}, 10, 10, 1},         {{5, 1, 9, 5}, 12, 11.0 / 3, 4}, /* 1, and three thirds of 11 */
        {{5, 1, 9, 5}, 16, 5, 4},                                   /* 1, 5, 5, and 5 left for 9 */
        {{5, 1, 9, 5}, 30, 19, 4},                                  /* everyone: 9 could be 19 */
        {{5, 1, 9, 5}, 0, 0, 4},   {{5, 1, 9, 5}, -2, -0.5, 4},     /* late already */
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        double needs[4];
        for (size_t n = 0; n < 4; n++)
            needs[n] = table[i].needs[n];
        const double level = session_needs_level(needs, table[i].count, table[i].total);
        if (fabs(level - table[i].level) > 1e-12)
            fail_msg("%zu: %g, expected %g", i, level, table[i].level);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(levels_share_what_fast_cells_leave)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
