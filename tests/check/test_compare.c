/*
 * What the check looks at: smaller problems keep their tails, and rows are picked where it matters.
 */
#include "testing.h"

#include <stdlib.h>

#include "check/phases.h"
#include "check/compare.h"
#include "check/trial.h"
#include "check_kernel.h"
#include "problem/filled_tensors.h"

TEST(smaller_problems_keep_their_tails)
{
    static const char *const problems[] = {
        "b=4,hq=32,hkv=8,s=1024,d=128,mask=causal",
        "hq=32,hkv=8,sq=1,skv=100003,d=128",
        "hq=32,hkv=1,sq=1000,skv=8201,d=64",
        "h=1,sq=5003,skv=777,d=64,mask=causal",
        "h=8,s=4133,d=256",
    };
    for (size_t n = 0; n < COUNT(problems); n++) {
        const struct problem_case c = case_of(problems[n], "normal:1");
        const struct attn_problem *p = &c.problem, s = shrink_problem(p, 5e7);
        const double work =
            (double)(s.batch * s.q_heads * s.q_len * s.kv_len) * (double)(s.qk_dim + s.v_dim);
        assert_true(work <= 5e7);
        assert_int_equal(s.q_heads * p->kv_heads, p->q_heads * s.kv_heads);
        assert_int_equal(s.q_len % 64, p->q_len % 64);
        assert_int_equal(s.kv_len % 64, p->kv_len % 64);
        assert_true((s.kv_len > s.q_len) == (p->kv_len > p->q_len));
        assert_true((s.kv_len == s.q_len) == (p->kv_len == p->q_len));
        assert_true(s.kv_len >= 64 && s.qk_dim == p->qk_dim && s.mask == p->mask);
    }
    const struct problem_case c = case_of("h=2,s=100,d=64", "normal:1");
    const struct attn_problem same = shrink_problem(&c.problem, 5e7);
    assert_memory_equal(&same, &c.problem, sizeof same);
}

/* Pages are filled whole, however few keys they hold. */
TEST(long_pages_are_shortened)
{
    const struct problem_case c = case_of("b=3,h=2,s=8,d=64,page=200016", "normal:1");
    const struct attn_problem small = shrink_problem(&c.problem, 5e7);
    assert_int_equal(small.kv_len, 8);
    assert_int_equal(small.page_size, 512 + 200016 % 512);
}

/* As many heads and sequences as have the rows, no fewer than two of each or four of different lengths,
 * and never more than the case's; lengths stay. */
TEST(narrow_cases_have_rows_enough)
{
    static const struct {
        const char *problem;
        size_t rows, batch, q_heads, kv_heads;
    } table[] = {
        {"b=8,hq=32,hkv=8,sq=1,skv=16384,d=128", 64, 8, 8, 2},
        {"b=64,hq=32,hkv=8,sq=1,skv=16384,d=128", 64, 8, 8, 2},
        {"b=8,hq=32,hkv=8,sq=1,skv=16384,d=128", 200, 8, 28, 7},
        {"b=8,hq=32,hkv=8,sq=1,skv=16384,d=128", 9999, 8, 32, 8},
        {"b=1,hq=32,hkv=8,sq=2048,skv=2048,d=128", 64, 1, 8, 2},
        {"b=9,hq=4,hkv=4,sq=2048,skv=2048,d=128,ragged=1", 64, 4, 2, 2},
        {"b=3,hq=4,hkv=4,sq=2048,skv=2048,d=128,ragged=1", 64, 3, 2, 2},
        {"b=8,hq=32,hkv=8,sq=1,skv=16,d=128", 64, 8, 32, 8},
    };
    for (size_t n = 0; n < COUNT(table); n++) {
        const struct problem_case c = case_of(table[n].problem, "normal:1");
        const struct attn_problem s = shrink_heads(&c.problem, 5e7, table[n].rows);
        assert_int_equal(s.batch, table[n].batch);
        assert_int_equal(s.q_heads, table[n].q_heads);
        assert_int_equal(s.kv_heads, table[n].kv_heads);
        assert_true(s.q_len == c.problem.q_len && s.kv_len == c.problem.kv_len);
    }
}

/* A small case has every option of the large one, four sequences where lengths differ, and lengths in
 * proportion. */
TEST(smaller_cases_keep_their_options)
{
    const struct problem_case c =
        case_of("b=64,hq=8,hkv=2,sq=16,skv=8192,d=128,mask=causal+bool,softcap=30,sinks=1,ragged=1,"
                "packed=1,page=64,kv_dtype=i8",
                "uniform:7+lens:1024:8192:2048+qlens:0:16:8+mask:blocks:64:0.25+scales:channel");
    const struct checker checker = {.c = &c};
    const struct attn_problem *p = &c.problem, small = shrink_problem(p, 5e7);
    const struct problem_case s = shrink_case(&checker, &small);
    assert_true(small.kv_len < p->kv_len && small.batch == 4);
    assert_true(s.problem.mask == p->mask && s.problem.options == p->options);
    assert_true(s.problem.page_size == 64 && s.problem.kv_dtype == ATTN_I8);
    assert_true(s.problem.softcap == p->softcap);
    assert_int_equal(s.input.kind, INPUT_NORMAL);
    assert_true(s.input.seed == 7 && s.input.mask_block == 64);
    assert_int_equal(s.input.scales, INPUT_SCALES_CHANNEL);
    assert_int_equal(s.input.lens.lo, small.kv_len / 8);
    assert_int_equal(s.input.lens.mean, small.kv_len / 4);
    assert_int_equal(s.input.lens.hi, small.kv_len);
    assert_true(s.input.qlens.lo == 0 && s.input.qlens.hi == small.q_len);
}

static double largest_work; /* of the problems that the kernel below was given */

static size_t naive_workspace(const struct attn_problem *problem, int threads)
{
    return attn_find("naive", ATTN_ISA_BASELINE)->workspace_size(problem, threads);
}

static void naive_noted(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const double work = (double)(p->batch * p->q_heads * p->q_len) * (double)p->kv_len *
                        (double)(p->qk_dim + p->v_dim);
    largest_work = work > largest_work ? work : largest_work;
    attn_find("naive", ATTN_ISA_BASELINE)->execute(plan, tensors);
}

/* One with more queries than keys is made from this one, which has very many keys. */
TEST(adversaries_of_decode_are_small)
{
    struct attn_kernel kernel = *attn_find("naive", ATTN_ISA_BASELINE);
    kernel.workspace_size = naive_workspace;
    kernel.execute = naive_noted;
    const struct problem_case c = case_of("h=1,sq=1,skv=4000,d=8", "normal:1");
    struct check_result result;
    assert_true(check_kernel(&kernel, &c, 1, CHECK_FULL, &result));
    assert_true(largest_work >= 4000 * 16 && largest_work <= 5e7);
}

TEST(rows_are_picked_everywhere)
{
    const struct problem_case c = case_of("b=2,h=8,s=1000,d=64", "normal:1");
    static const struct attn_tensors none;
    for (uint64_t seed = 0; seed < 20; seed++) {
        size_t *rows;
        bool heads[16] = {false}, last = false, first = false;
        assert_int_equal(pick_rows(&c.problem, &none, 4, 64, seed, &rows), 64);
        for (size_t k = 0; k < 64; k++) {
            assert_true(rows[k] < 16000 && (k == 0 || rows[k] > rows[k - 1]));
            heads[rows[k] / 1000] = true;
            first |= rows[k] % 1000 == 0;
            last |= rows[k] % 1000 == 999;
        }
        assert_true(first && last);
        for (size_t h = 0; h < 16; h++)
            assert_true(heads[h]);
        free(rows);
    }
    size_t *rows;
    assert_int_equal(pick_rows(&c.problem, &none, 4, SIZE_MAX, 0, &rows), 16000);
    assert_true(rows[0] == 0 && rows[15999] == 15999);
    free(rows);
}

TEST(edges_of_tiles_and_shares_are_among_the_rows)
{
    size_t edges[128];
    const size_t count = pick_edges(1000, 3, edges, 128);
    static const size_t expected[] = {0,   999, 15,  16,  17,  63,  64,  65,
                                      127, 128, 255, 256, 960, 333, 332, 666};
    for (size_t n = 0; n < COUNT(expected); n++) {
        bool found = false;
        for (size_t k = 0; k < count; k++)
            found |= edges[k] == expected[n];
        if (!found)
            fail_msg("%zu is not among the edges", expected[n]);
    }
    assert_int_equal(pick_edges(1, 8, edges, 128), 1);
    assert_int_equal(pick_edges(5000, 8, edges, 7), 7);
}

TEST(large_problems_afford_fewer_rows)
{
    const struct problem_case small = case_of("h=8,s=2048,d=64", "normal:1");
    const struct problem_case large = case_of("h=1,s=65536,d=128", "normal:1");
    assert_int_equal(pick_affordable(&small.problem), 8 * 2048);
    assert_in_range(pick_affordable(&large.problem), 64, 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(smaller_problems_keep_their_tails),
        cmocka_unit_test(long_pages_are_shortened),
        cmocka_unit_test(narrow_cases_have_rows_enough),
        cmocka_unit_test(smaller_cases_keep_their_options),
        cmocka_unit_test(adversaries_of_decode_are_small),
        cmocka_unit_test(rows_are_picked_everywhere),
        cmocka_unit_test(edges_of_tiles_and_shares_are_among_the_rows),
        cmocka_unit_test(large_problems_afford_fewer_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
