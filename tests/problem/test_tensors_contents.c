/*
 * The numbers in operands: what they depend on, the logits they are made for, those of files.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include <omp.h>

#include "filled_tensors.h"
#include "problem/kv.h"
#include "problem/safetensors.h"

static bool same_operand(const struct attn_tensor *s, const struct attn_tensor *t, size_t batch,
                         size_t heads, size_t rows, size_t cols)
{
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < rows; i++)
                for (size_t d = 0; d < cols; d++)
                    if (tensors_get(s, b, h, i, d) != tensors_get(t, b, h, i, d))
                        return false;
    return true;
}

static bool same_operands(const struct attn_problem *p, const struct tensor_set *s,
                          const struct tensor_set *t)
{
    return same_operand(&s->tensors.q, &t->tensors.q, p->batch, p->q_heads, p->q_len, p->qk_dim) &&
           same_operand(&s->tensors.k, &t->tensors.k, p->batch, p->kv_heads, p->kv_len,
                        p->qk_dim) &&
           same_operand(&s->tensors.v, &t->tensors.v, p->batch, p->kv_heads, p->kv_len, p->v_dim);
}

TEST(numbers_depend_on_seed_and_stream_only)
{
    static const char *const inputs[] = {"normal:5", "uniform:5", "needle:3",  "negative",
                                         "sink",     "ascending", "descending"};
    for (size_t n = 0; n < COUNT(inputs); n++) {
        const struct problem_case c = case_of("b=2,hq=4,hkv=2,sq=5,skv=9,d=300,dv=3", inputs[n]);
        const struct problem_case s =
            case_of("b=2,hq=4,hkv=2,sq=5,skv=9,d=300,dv=3,layout=bshd", inputs[n]);
        omp_set_num_threads(1);
        struct tensor_set a = filled(&c, (struct tensors_layout){0}, 1);
        omp_set_num_threads(3);
        struct tensor_set b = filled(&s, (struct tensors_layout){TENSORS_GUARD_BACK, 0, 5}, 1);
        struct tensor_set other = filled(&c, (struct tensors_layout){0}, 2);
        assert_true(same_operands(&c.problem, &a, &b));
        assert_false(same_operands(&c.problem, &a, &other));
        assert_null(tensors_changed(&a, &c.problem));
        tensors_free(&a);
        tensors_free(&b);
        tensors_free(&other);
    }
}

static void tiny_numbers(const void *context, struct kv_place at, size_t first, size_t n, double *x)
{
    (void)context;
    for (size_t d = 0; d < n; d++)
        x[d] = 0x1p-130 * (double)(1 + at.j % 16) / 16 * (first + d ? 0.5 : 1);
}

/* Scales of so small numbers are subnormal and have few bits. */
TEST(tiny_numbers_stay_finite)
{
    static const char *const problems[] = {"s=16,d=3,dtype=bf16,kv_dtype=f8e5m2",
                                           "s=16,d=3,dtype=bf16,kv_dtype=f8e4m3",
                                           "s=16,d=3,dtype=bf16,kv_dtype=f8e5m2"};
    static const char *const inputs[] = {"normal:1", "normal:1", "normal:1+scales:head"};
    for (size_t n = 0; n < COUNT(problems); n++) {
        const struct problem_case c = case_of(problems[n], inputs[n]);
        struct tensor_set set = filled(&c, (struct tensors_layout){0}, 1);
        kv_fill(&set, &c.problem, KV_V, tiny_numbers, NULL);
        for (size_t j = 0; j < c.problem.kv_len; j++)
            for (size_t d = 0; d < c.problem.v_dim; d++)
                assert_true(isfinite(tensors_get(&set.tensors.v, 0, 0, j, d)));
        tensors_free(&set);
    }
}

static double score(const struct problem_case *c, const struct tensor_set *set, size_t b, size_t h,
                    size_t i, size_t j)
{
    double x = 0;
    for (size_t d = 0; d < c->problem.qk_dim; d++)
        x += tensors_get(&set->tensors.q, b, h, i, d) *
             tensors_get(&set->tensors.k, b, attn_kv_head(&c->problem, h), j, d);
    return (double)attn_problem_scale(&c->problem) * x;
}

TEST(needles_negatives_and_sinks_have_their_logits)
{
    static const char *const problems[] = {"b=2,hq=4,hkv=2,sq=3,skv=9,d=64,dv=4",
                                           "sq=3,skv=9,d=1,scale=-3",
                                           "sq=3,skv=9,d=200,scale=0.001,dtype=f16"};
    for (size_t n = 0; n < COUNT(problems); n++) {
        const struct problem_case c = case_of(problems[n], "needle:6");
        const struct problem_case negative = case_of(problems[n], "negative");
        const struct problem_case sink = case_of(problems[n], "sink");
        const struct problem_case rising = case_of(problems[n], "ascending");
        const struct problem_case falling = case_of(problems[n], "descending");
        struct tensor_set s = filled(&c, (struct tensors_layout){0}, 0);
        struct tensor_set t = filled(&negative, (struct tensors_layout){0}, 0);
        struct tensor_set u = filled(&sink, (struct tensors_layout){0}, 0);
        struct tensor_set up = filled(&rising, (struct tensors_layout){0}, 0);
        struct tensor_set down = filled(&falling, (struct tensors_layout){0}, 0);
        for (size_t j = 0; j < 9; j++) {
            const size_t last = c.problem.q_heads - 1;
            const double expected = j == 6 ? 40 : 0;
            assert_true(fabs(score(&c, &s, 0, last, 2, j) - expected) < 1.5);
            assert_true(fabs(score(&c, &t, 0, last, 2, j) + 30) < 1.5);
            assert_true(fabs(score(&c, &u, 0, last, 2, j) - (j == 0 ? 15 : 0)) < 1.5);
            const double step = 96.0 / 9, sorted = step * (double)j - 48;
            assert_true(fabs(score(&c, &up, 0, last, 2, j) - sorted) < step / 4);
            assert_true(fabs(score(&c, &down, 0, last, 2, j) + sorted) < step / 4);
            const size_t dv = c.problem.v_dim;
            assert_true(tensors_get(&s.tensors.v, 0, 0, j, j % dv) == (j == 6 ? 1 : -1));
            if (dv > 1)
                assert_true(tensors_get(&s.tensors.v, 0, 0, j, (j + 1) % dv) == 0);
        }
        tensors_free(&s);
        tensors_free(&t);
        tensors_free(&u);
        tensors_free(&up);
        tensors_free(&down);
    }
}

TEST(tensors_come_from_files)
{
    struct problem_case c =
        case_of("h=4,s=2,d=2", "file:" TEST_DATA "/minilm-preamble.safetensors:layer1.");
    struct tensor_set set = allocated(&c.problem, (struct tensors_layout){0});
    char message[512];
    assert_false(tensors_fill(&set, &c, 0, MESSAGE(message)));
    assert_non_null(strstr(message, "layer1.q is f32 (1,"));
    assert_non_null(strstr(message, "the problem needs f32 (1,4,2,2)"));
    strcpy(c.input.prefix, "layer9.");
    assert_false(tensors_fill(&set, &c, 0, MESSAGE(message)));
    assert_non_null(strstr(message, "no tensor layer9.q"));
    strcpy(c.input.path, "/nowhere.safetensors");
    assert_false(tensors_fill(&set, &c, 0, MESSAGE(message)));
    assert_non_null(strstr(message, "/nowhere.safetensors: No such file"));
    tensors_free(&set);

    c = case_of("h=2,s=68,d=32", "file:" TEST_DATA "/minilm-preamble.safetensors:layer1.");
    set = filled(&c, (struct tensors_layout){0}, 0);
    struct tensor_set other = filled(&c, (struct tensors_layout){0}, 3);
    struct safetensors *file = safetensors_open(c.input.path, MESSAGE(message));
    const struct safetensor *v = safetensors_find(file, "", "layer1.v");
    for (size_t n = 0; n < 2 * 68 * 32; n++) {
        const double x = tensors_get(&set.tensors.v, 0, n / 32 / 68, n / 32 % 68, n % 32);
        assert_true(x == safetensors_get(v, n));
        /* other streams must differ: V times -2 */
        assert_true(tensors_get(&other.tensors.v, 0, n / 32 / 68, n / 32 % 68, n % 32) == -2 * x);
    }
    safetensors_close(file);
    tensors_free(&set);
    tensors_free(&other);

    c = case_of("s=2,d=64", "needle:1");
    c.input.needle = 2;
    set = allocated(&c.problem, (struct tensors_layout){0});
    assert_false(tensors_fill(&set, &c, 0, MESSAGE(message)));
    assert_non_null(strstr(message, "there are only 2 keys"));
    tensors_free(&set);
}

/* The first pages are the same for all sequences, all others different, and so are scales: one of each key,
 * whoever has it. */
TEST(a_prefix_lies_in_pages_of_all)
{
    enum { BATCH = 3, PAGES = 3, SHARED = 2 };
    struct problem_case c;
    struct tensor_set set =
        made("b=3,hq=2,hkv=2,sq=1,skv=20,d=8,page=8,kv_dtype=i8", "normal+prefix:16", &c);
    const int32_t *table = set.tensors.block_table.data;
    char message[200];
    if (!attn_tensors_valid(&c.problem, &set.tensors, message, sizeof message))
        fail_msg("%s", message);
    for (size_t n = 0; n < BATCH * PAGES; n++)
        for (size_t m = 0; m < n; m++)
            assert_int_equal(table[n] == table[m], n % PAGES < SHARED && n % PAGES == m % PAGES);
    for (size_t b = 1; b < BATCH; b++)
        for (size_t g = 0; g < 2; g++)
            for (size_t j = 0; j < 20; j++)
                for (enum kv_operand kv = KV_K; kv <= KV_V; kv++) {
                    const struct kv_place at = {b, g, j}, first = {0, g, j};
                    assert_int_equal(kv_get(&c.problem, &set.tensors, kv, at, 3) ==
                                         kv_get(&c.problem, &set.tensors, kv, first, 3),
                                     j < SHARED * 8);
                }
    tensors_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_depend_on_seed_and_stream_only),
        cmocka_unit_test(tiny_numbers_stay_finite),
        cmocka_unit_test(needles_negatives_and_sinks_have_their_logits),
        cmocka_unit_test(tensors_come_from_files),
        cmocka_unit_test(a_prefix_lies_in_pages_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
