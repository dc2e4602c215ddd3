/*
 * How long the sequences of a case are, and which rows of results there are.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filled_tensors.h"
#include "problem/batch_cases.h"
#include "problem/lengths.h"

static struct lengths found(const struct problem_case *c)
{
    struct lengths lengths;
    assert_true(lengths_of(c, &lengths));
    return lengths;
}

static int ascending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static size_t sum(const size_t *x, size_t n)
{
    size_t total = 0;
    for (size_t k = 0; k < n; k++)
        total += x[k];
    return total;
}

TEST(lengths_have_their_ends_and_mean)
{
    static const struct {
        const char *input;
        size_t lo, hi;
        double mean;
    } cases[] = {
        {"normal", 1, 8192, 4096.5},
        {"normal+lens:100:4096:1000", 100, 4096, 1000},
        {"normal+lens:100:4096:3500", 100, 4096, 3500},
        {"normal+lens:0:7", 0, 7, 3},
        {"normal+lens:5:5", 5, 5, 5},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct problem_case c = case_of("b=64,sq=1,skv=8192,d=8,ragged=1", cases[n].input);
        struct lengths l = found(&c);
        assert_true(fabs((double)sum(l.kv, 64) / 64 - cases[n].mean) <= 0.5);
        assert_int_equal(sum(l.q, 64), 64);
        qsort(l.kv, 64, sizeof *l.kv, ascending);
        assert_int_equal(l.kv[0], cases[n].lo);
        assert_int_equal(l.kv[63], cases[n].hi);
        size_t kinds = 1;
        for (size_t b = 1; b < 64; b++)
            kinds += l.kv[b] > l.kv[b - 1];
        assert_true(cases[n].hi <= 64 || kinds > 50); /* spread, not clustered */
        lengths_free(&l);
    }
}

/* Memory is allocated by the sums, whatever the seed. */
TEST(seeds_deal_the_same_lengths)
{
    static const char *const inputs[] = {"normal:1+lens:3:90+qlens:0:40",
                                         "normal:2+lens:3:90+qlens:0:40"};
    struct lengths l[2];
    for (int n = 0; n < 2; n++) {
        const struct problem_case c = case_of("b=30,sq=40,skv=90,d=8,packed=1", inputs[n]);
        l[n] = found(&c);
    }
    assert_memory_not_equal(l[0].q, l[1].q, 30 * sizeof(size_t));
    assert_memory_not_equal(l[0].kv, l[1].kv, 30 * sizeof(size_t));
    for (int n = 0; n < 2; n++) {
        qsort(l[n].q, 30, sizeof(size_t), ascending);
        qsort(l[n].kv, 30, sizeof(size_t), ascending);
    }
    assert_memory_equal(l[0].q, l[1].q, 30 * sizeof(size_t));
    assert_memory_equal(l[0].kv, l[1].kv, 30 * sizeof(size_t));
    assert_int_equal(l[0].q[0], 0);
    assert_int_equal(l[0].q[29], 40);
    lengths_free(&l[0]);
    lengths_free(&l[1]);
}

TEST(decode_and_prefill_are_mixed)
{
    const struct problem_case c =
        case_of("b=9,sq=128,skv=512,d=8,packed=1,ragged=1", "normal+decode:6+lens:128:512");
    struct lengths l = found(&c);
    size_t ones = 0, chunks = 0;
    for (size_t b = 0; b < 9; b++) {
        ones += l.q[b] == 1;
        chunks += l.q[b] == 128;
        assert_in_range(l.kv[b], 128, 512);
    }
    assert_int_equal(ones, 6);
    assert_int_equal(chunks, 3);
    lengths_free(&l);
}

TEST(what_is_left_out_follows_the_problem)
{
    const struct {
        const char *problem;
        bool q_varies, kv_varies, equal;
    } cases[] = {
        {"b=8,s=64,d=8", false, false, true},
        {"b=8,s=64,d=8,page=16", false, false, true},
        {"b=8,s=64,d=8,ragged=1", false, true, false},
        {"b=8,s=64,d=8,packed=1", true, true, true}, /* self-attention */
        {"b=8,sq=64,skv=65,d=8,packed=1", true, true, false},
        {"b=8,s=64,d=8,packed=1,page=16", true, false, false},
        {"b=8,s=64,d=8,packed=1,ragged=1", true, true, false},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct problem_case c = case_of(cases[n].problem, "normal");
        struct lengths l = found(&c);
        assert_int_equal(sum(l.q, 8) != 8 * c.problem.q_len, cases[n].q_varies);
        assert_int_equal(sum(l.kv, 8) != 8 * c.problem.kv_len, cases[n].kv_varies);
        assert_int_equal(memcmp(l.q, l.kv, 8 * sizeof *l.q) == 0, cases[n].equal);
        lengths_free(&l);
    }
    const struct {
        const char *input;
        bool itself;
    } inputs[] = {{"normal+lens:3:60", true},
                  {"normal+qlens:3:60", true},
                  {"normal+lens:3:60+qlens:3:60", false},
                  {"normal+lens:3:60+decode:3", false}};
    for (size_t n = 0; n < COUNT(inputs); n++) {
        const struct problem_case c = case_of("b=8,s=64,d=8,packed=1", inputs[n].input);
        struct lengths l = found(&c);
        assert_int_equal(memcmp(l.q, l.kv, 8 * sizeof *l.q) == 0, inputs[n].itself);
        assert_int_equal(sum(l.kv, 8), 8 * 31);
        lengths_free(&l);
    }
    const struct problem_case one = case_of("b=1,sq=1,skv=101,d=8,ragged=1", "normal");
    struct lengths l = found(&one);
    assert_int_equal(l.kv[0], 51);
    lengths_free(&l);
}

/* In their order, whatever the seed. */
TEST(sequences_one_by_one_are_as_they_are_written)
{
    static const struct {
        const char *problem, *input;
        size_t q[4], kv[4];
    } cases[] = {
        {"b=4,sq=9,skv=64,d=8,packed=1,ragged=1",
         "normal:5+batch:q9s64,2q1s7,q3",
         {9, 1, 1, 3},
         {64, 7, 7, 3}},
        {"b=4,sq=1,skv=64,d=8,ragged=1",
         "normal:5+batch:3q1s64,q1s2",
         {1, 1, 1, 1},
         {64, 64, 64, 2}},
        {"b=4,s=9,d=8,packed=1", "normal:5+lens:3,9,1,3", {3, 9, 1, 3}, {3, 9, 1, 3}},
        {"b=4,sq=2,skv=9,d=8,ragged=1", "normal:5+lens:3,9,1,3", {2, 2, 2, 2}, {3, 9, 1, 3}},
        {"b=4,s=9,d=8,packed=1,page=16", "normal:5+batch:q9,3q1s9", {9, 1, 1, 1}, {9, 9, 9, 9}},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct problem_case c = case_of(cases[n].problem, cases[n].input);
        struct lengths l = found(&c);
        assert_memory_equal(l.q, cases[n].q, sizeof cases[n].q);
        assert_memory_equal(l.kv, cases[n].kv, sizeof cases[n].kv);
        lengths_free(&l);
    }
}

/* For another number of sequences they are spread between the same ends. */
TEST(sequences_that_do_not_fit_are_spread)
{
    struct problem_case c =
        case_of("b=4,sq=9,skv=64,d=8,packed=1,ragged=1", "normal+batch:q9s64,2q1s7,q3");
    char text[PARSE_TEXT];
    parse_fit_input(&c.input, &c.problem);
    parse_print_input(&c.input, text);
    assert_string_equal(text, "normal:1+batch:q9s64,2q1s7,q3");
    c.problem.batch = 20;
    parse_fit_input(&c.input, &c.problem);
    parse_print_input(&c.input, text);
    assert_string_equal(text, "normal:1+lens:3:64:20+qlens:1:9:3");
}

/* ---- rows ---------------------------------------------------------------------------------- */

TEST(rows_are_those_that_there_are)
{
    static const char *const problems[] = {"b=4,hq=3,hkv=1,sq=5,skv=9,d=4",
                                           "b=4,hq=3,hkv=1,sq=5,skv=9,d=4,packed=1"};
    static const char *const inputs[] = {"normal", "normal:2+qlens:0:5:2"};
    for (int n = 0; n < 2; n++) {
        const struct problem_case c = case_of(problems[n], inputs[n]);
        struct tensor_set set = filled(&c, (struct tensors_layout){0}, 0);
        size_t number = 0;
        for (size_t b = 0; b < 4; b++) {
            const struct attn_sequence s = attn_sequence(&c.problem, &set.tensors, b);
            for (size_t h = 0; h < 3; h++)
                for (size_t i = 0; i < s.q_len; i++) {
                    const struct tensors_place at =
                        tensors_place(&c.problem, &set.tensors, number++);
                    assert_true(at.b == b && at.h == h && at.i == i && at.row == s.q_first + i);
                }
        }
        assert_int_equal(number, tensors_rows(&c.problem, &set.tensors));
        assert_true(n == 0 ? number == 60 : number < 60 && number == 3 * set.tensors.q_rows);
        tensors_free(&set);
    }
}

/* What the sequences have, not what the largest has so many times: two prompts of 4 tokens and three
 * queries on 16 keys each. */
TEST(work_is_that_of_the_sequences)
{
    struct case_list list = {0};
    char message[256];
    assert_true(
        batch_cases_add(&list, "hq=4,hkv=2,d=8,mask=causal", "2q4,3q1s16:page8", MESSAGE(message)));
    const struct attn_work work = lengths_work(&list.items[0]);
    const double pairs = 4 * (2 * (1 + 2 + 3 + 4) + 3 * 16), keys = 2 * 4 + 3 * 16,
                 rows = 2 * 4 + 3;
    assert_true(work.pairs == pairs);
    assert_true(work.flops == pairs * 2 * (8 + 8));
    assert_true(work.bytes == 4 * (rows * 4 * (8 + 8) + keys * 2 * (8 + 8)));
    cases_free(&list);
    const struct problem_case c = case_of("b=2,hq=4,hkv=2,sq=3,skv=5,d=8", "normal");
    assert_true(lengths_work(&c).flops == attn_useful_flops(&c.problem));
    assert_true(lengths_work(&c).bytes == attn_compulsory_bytes(&c.problem));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lengths_have_their_ends_and_mean),
        cmocka_unit_test(seeds_deal_the_same_lengths),
        cmocka_unit_test(decode_and_prefill_are_mixed),
        cmocka_unit_test(what_is_left_out_follows_the_problem),
        cmocka_unit_test(sequences_one_by_one_are_as_they_are_written),
        cmocka_unit_test(sequences_that_do_not_fit_are_spread),
        cmocka_unit_test(rows_are_those_that_there_are),
        cmocka_unit_test(work_is_that_of_the_sequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
