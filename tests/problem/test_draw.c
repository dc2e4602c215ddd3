/*
 * draw: what is drawn is valid, cheap, the same for the same seed, and has the shapes that it is for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "problem/draw.h"

enum { COUNT = 500 };

static void problems_are_valid_and_cheap(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 20; seed++)
        for (size_t n = 0; n < COUNT; n++) {
            struct problem_case c, again;
            struct attn_problem back;
            struct parse_error error;
            char text[PARSE_TEXT], other[PARSE_TEXT];
            const char *why;
            draw_case(&c, seed, n);
            draw_case(&again, seed, n);
            if (!attn_problem_valid(&c.problem, &why))
                fail_msg("seed %d, number %zu: %s", (int)seed, n, why);
            parse_print_problem(&c.problem, text);
            assert_true(parse_problem(text, &back, &error));
            parse_print_problem(&again.problem, other);
            assert_string_equal(text, other);
            assert_true(attn_useful_flops(&c.problem) <= 4e7 + 1);
        }
}

/* Of one seed as many as a check draws. */
static void shapes_are_those_that_errors_hide_in(void **state)
{
    static const size_t dims[] = {80, 96, 112, 160, 192};
    size_t plain = 0, of_dim[sizeof dims / sizeof *dims] = {0}, below_64 = 0, long_queries = 0;
    size_t longest = 0;
    (void)state;
    for (size_t n = 0; n < COUNT; n++) {
        struct problem_case c;
        draw_case(&c, 1, n);
        const struct attn_problem *p = &c.problem;
        plain += p->dtype == ATTN_F32 && !p->options && !(p->mask & ~(unsigned)ATTN_MASK_CAUSAL);
        for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
            of_dim[k] += p->qk_dim == dims[k];
        below_64 += p->q_len % 64 == 63 && p->mask & ATTN_MASK_CAUSAL;
        long_queries += p->q_len >= 1024;
        longest = p->kv_len > longest ? p->kv_len : longest;
    }
    assert_true(plain >= COUNT / 2);
    for (size_t k = 0; k < sizeof dims / sizeof *dims; k++)
        assert_true(of_dim[k] >= 5);
    assert_true(below_64 >= 3 && long_queries >= 10);
    assert_in_range(longest, 8191, 8193);
}

/* To one head of one query and one key, f32. */
static void every_problem_can_be_made_simple(void **state)
{
    struct problem_case c;
    char text[PARSE_TEXT];
    (void)state;
    draw_case(&c, 1, 7);
    for (int step = 0; step < 20; step++) {
        struct attn_problem next = c.problem;
        const char *why;
        for (size_t n = 0; draw_simplify(&next, n); n++, next = c.problem)
            if (attn_problem_valid(&next, &why))
                c.problem = next;
    }
    parse_print_problem(&c.problem, text);
    assert_string_equal(text, "b=1,hq=1,hkv=1,sq=1,skv=1,d=1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_are_valid_and_cheap),
        cmocka_unit_test(shapes_are_those_that_errors_hide_in),
        cmocka_unit_test(every_problem_can_be_made_simple),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
