/*
 * draw: what is drawn is valid, cheap, the same for the same seed, and has the shapes that it is for.
 */
#include "testing.h"

#include "problem/draw.h"

enum { COUNT = 500 };

TEST(problems_are_valid_and_cheap)
{
    for (uint64_t seed = 0; seed < 20; seed++)
        for (size_t n = 0; n < COUNT; n++) {
            struct problem_case c, again;
            struct attn_problem back;
            struct parse_error error;
            char text[PARSE_TEXT], other[PARSE_TEXT];
            const char *why;
            draw_case(&c, seed, n, DRAW_WORK);
            draw_case(&again, seed, n, DRAW_WORK);
            if (!attn_problem_valid(&c.problem, &why))
                fail_msg("seed %d, number %zu: %s", (int)seed, n, why);
            parse_print_problem(&c.problem, text);
            assert_true(parse_problem(text, &back, &error));
            parse_print_problem(&again.problem, other);
            assert_string_equal(text, other);
            assert_true(attn_useful_flops(&c.problem) <= 4e7 + 1);
        }
}

/* Less than one query of a long sequence takes. */
TEST(a_small_limit_is_kept)
{
    for (size_t n = 0; n < COUNT; n++) {
        struct problem_case c;
        draw_case(&c, 1, n, 1000);
        const struct attn_problem *p = &c.problem;
        assert_true(p->batch * p->q_heads * p->q_len * p->kv_len * (p->qk_dim + p->v_dim) <= 1000);
    }
}

/* Of one seed as many as a check draws. */
TEST(shapes_are_those_that_errors_hide_in)
{
    static const size_t dims[] = {80, 96, 112, 160, 192};
    size_t plain = 0, of_dim[sizeof dims / sizeof *dims] = {0}, below_64 = 0, long_queries = 0;
    size_t longest = 0;
    for (size_t n = 0; n < COUNT; n++) {
        struct problem_case c;
        draw_case(&c, 1, n, DRAW_WORK);
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
    assert_in_range(longest, 32767, 32769);
}

/* Of any seed: what stood in no list of usual shapes, where planted errors went unseen. */
TEST(shapes_are_also_unusual)
{
    enum { KINDS = 16 };
    for (uint64_t seed = 1; seed <= 20; seed++) {
        size_t count[KINDS] = {0};
        for (size_t n = 0; n < COUNT; n++) {
            struct problem_case c;
            draw_case(&c, seed, n, DRAW_WORK);
            const struct attn_problem *p = &c.problem;
            const bool unusual[KINDS] = {
                p->qk_dim == 224,
                p->qk_dim == 144,
                p->v_dim > 192 && p->v_dim<256, p->qk_dim> 512,
                p->q_heads == 7 * p->kv_heads,
                p->q_heads > 32,
                p->kv_heads > 12,
                p->batch > 8,
                p->kv_len > 10000,
                p->kv_len % 96 == 0 && p->kv_len > 96,
                p->q_len == 1 && p->kv_len % 320 == 1 && p->kv_len > 320,
                (p->options & (ATTN_OPTION_WINDOW | ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED)) ==
                        ATTN_OPTION_WINDOW &&
                    p->dtype == ATTN_F32 && p->window_left >= 2048 &&
                    (size_t)p->window_left + 1 < p->kv_len,
                p->qk_dim > 64 && p->qk_dim % 8 == 4,
                p->v_dim > 64 && p->v_dim % 2,
                p->batch > 16 && p->options & ATTN_OPTION_RAGGED,
                p->q_heads > 32 && p->options & ATTN_OPTION_ALIBI,
            };
            for (size_t k = 0; k < KINDS; k++)
                count[k] += unusual[k];
        }
        for (size_t k = 0; k < KINDS; k++)
            if (!count[k])
                fail_msg("seed %d: none of kind %zu", (int)seed, k);
    }
}

static bool always(const void *context, struct problem_case *c)
{
    (void)context;
    (void)c;
    return true;
}

/* To one head of one query and one key, f32. */
TEST(every_problem_can_be_made_simple)
{
    char text[PARSE_TEXT];
    for (size_t n = 0; n < 20; n++) {
        struct problem_case c;
        draw_case(&c, 1, n, DRAW_WORK);
        c = draw_simplest(&c, always, NULL, 1000);
        parse_print_problem(&c.problem, text);
        assert_string_equal(text, "b=1,hq=1,hkv=1,sq=1,skv=1,d=1");
    }
}

static bool few_keys_in_pages(const void *context, struct problem_case *c)
{
    const struct attn_problem *p = &c->problem;
    ++*(size_t *)(uintptr_t)context;
    return p->options & ATTN_OPTION_PAGED && p->kv_len >= 17 && p->q_heads > p->kv_heads;
}

/* What is needed stays. */
TEST(the_simplest_case_is_found)
{
    struct problem_case c = {.input.seed = 1};
    struct parse_error error;
    char text[PARSE_TEXT];
    size_t tries = 0;
    assert_true(parse_problem("b=3,hq=9,hkv=3,sq=40,skv=70,d=24,page=16,window=30:5,mask=causal,"
                              "dtype=bf16,outputs=o+lse,scale=2",
                              &c.problem, &error));
    c = draw_simplest(&c, few_keys_in_pages, &tries, 1000);
    parse_print_problem(&c.problem, text);
    assert_string_equal(text, "b=1,hq=2,hkv=1,sq=1,skv=17,d=1,page=1");
    assert_in_range(tries, 20, 200);
    const size_t all = tries;
    tries = 0;
    draw_simplest(&c, few_keys_in_pages, &tries, 5);
    assert_int_equal(tries, 5);
    assert_true(all > tries);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(problems_are_valid_and_cheap),
        cmocka_unit_test(a_small_limit_is_kept),
        cmocka_unit_test(shapes_are_those_that_errors_hide_in),
        cmocka_unit_test(shapes_are_also_unusual),
        cmocka_unit_test(every_problem_can_be_made_simple),
        cmocka_unit_test(the_simplest_case_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
