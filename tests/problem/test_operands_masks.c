/*
 * Masks, biases, sinks and slopes: their densities, shapes and values.
 */
#include "testing.h"

#include <math.h>

#include "filled_tensors.h"

static const struct tensors_layout usual;

static double density(const struct attn_tensor *mask, size_t rows, size_t cols)
{
    size_t visible = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) {
            const unsigned char x = ((const unsigned char *)attn_row(mask, 1, 1, i))[j];
            assert_true(x <= 1);
            visible += x;
        }
    return (double)visible / (double)(rows * cols);
}

TEST(masks_have_their_density_and_blocks)
{
    static const struct {
        const char *input;
        double density;
        size_t block;
    } cases[] = {
        {"normal", 0.5, 1},
        {"normal+mask:elements:0.9", 0.9, 1},
        {"normal+mask:blocks:16:0.25", 0.25, 16},
        {"normal+mask:blocks:16:0.75:full", 0.75, 16},
        {"normal+mask:elements:0", 0, 1},
        {"normal+mask:elements:1", 1, 1},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        struct problem_case c;
        struct tensor_set set = made("b=2,h=2,sq=500,skv=600,d=1,mask=bool", cases[n].input, &c);
        const struct attn_tensor *mask = &set.tensors.mask;
        const bool full = c.input.mask_full;
        const double blocks = 500 * 600 / (double)(cases[n].block * cases[n].block);
        assert_true(fabs(density(mask, 500, 600) - cases[n].density) <= 3 / sqrt(blocks));
        assert_int_equal(mask->dtype, ATTN_BOOL);
        assert_int_equal(mask->stride[0], full ? 2 * 500 * 600 : 0);
        assert_int_equal(mask->stride[1], full ? 500 * 600 : 0);
        assert_int_equal(mask->stride[2], 600);
        const unsigned char *row = attn_row(mask, 0, 0, 17), *same = attn_row(mask, 0, 0, 31);
        for (size_t j = 0; cases[n].block == 16 && j < 600; j++)
            assert_true(row[j] == same[j] && row[j] == row[j / 16 * 16]);
        if (full)
            assert_memory_not_equal(attn_row(mask, 0, 0, 0), attn_row(mask, 1, 1, 0), 600);
        struct tensor_set other = filled(&c, usual, 1);
        assert_memory_equal(mask->data, other.tensors.mask.data, 500 * 600);
        tensors_free(&other);
        tensors_free(&set);
    }
}

TEST(biases_have_their_shapes)
{
    static const struct {
        const char *input;
        ptrdiff_t stride[3];
        size_t elements;
    } cases[] = {
        {"normal", {0, 20 * 30, 30}, 3 * 20 * 30},
        {"normal+bias:keys", {0, 0, 0}, 30},
        {"normal+bias:full", {3 * 20 * 30, 20 * 30, 30}, 2 * 3 * 20 * 30},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        struct problem_case c;
        struct tensor_set set =
            made("b=2,h=3,sq=20,skv=30,d=1,mask=bias,dtype=bf16", cases[n].input, &c);
        const struct attn_tensor *bias = &set.tensors.bias;
        assert_memory_equal(bias->stride, cases[n].stride, sizeof cases[n].stride);
        assert_int_equal(bias->stride[3], 1);
        assert_int_equal(bias->dtype, ATTN_BF16);
        double mean = 0, square = 0;
        for (size_t k = 0; k < cases[n].elements; k++) {
            const double x =
                tensors_get(&(struct attn_tensor){bias->data, ATTN_BF16, {0}}, 0, 0, 0, k);
            mean += x / (double)cases[n].elements;
            square += x * x / (double)cases[n].elements;
        }
        const double error = 4 / sqrt((double)cases[n].elements);
        assert_true(fabs(mean) < error && fabs(square - 1) < 1.5 * error);
        struct tensor_set other = filled(&c, usual, 1);
        assert_memory_not_equal(bias->data, other.tensors.bias.data, 2 * cases[n].elements);
        tensors_free(&other);
        tensors_free(&set);
    }
}

/* All `rows` of two sequences are `expected`; NULL: those of both differ. */
static void assert_parents(const char *problem, const char *input, const int32_t *expected,
                           size_t rows)
{
    struct problem_case c;
    struct tensor_set set = made(problem, input, &c), other = filled(&c, usual, 1);
    const struct attn_tensor *t = &set.tensors.parents;
    const bool packed = c.problem.options & ATTN_OPTION_PACKED;
    assert_int_equal(t->dtype, ATTN_I32);
    assert_int_equal(t->stride[0], packed ? 0 : c.problem.q_len);
    assert_int_equal(t->stride[1], 1);
    assert_memory_equal(t->data, other.tensors.parents.data, rows * sizeof *expected);
    if (expected)
        assert_memory_equal(t->data, expected, rows * sizeof *expected);
    else
        assert_memory_not_equal(t->data, (int32_t *)t->data + rows / 2,
                                rows / 2 * sizeof *expected);
    tensors_free(&other);
    tensors_free(&set);
}

TEST(trees_are_as_written_or_drawn)
{
    static const int32_t levels[] = {-1, -1, 0, 0, 0, 1, 1, 1, -1, -1, 0, 0, 0, 1, 1, 1};
    static const int32_t parents[] = {-1, 0, -1, 1, -1, 0, -1, 1};
    static const int32_t first_three[] = {-1, 0, -1, -1, 0, -1, 1};
    assert_parents("b=2,sq=8,skv=9,d=1,mask=tree", "normal+tree:2x3", levels, 16);
    assert_parents("b=2,sq=4,skv=9,d=1,mask=tree", "normal+tree:-1,0,-1,1", parents, 8);
    assert_parents("b=2,sq=4,skv=9,d=1,mask=tree,packed=1", "normal+batch:q3s9,q4s9+tree:-1,0,-1,1",
                   first_three, 7);
    assert_parents("b=2,sq=40,skv=90,d=1,mask=tree", "normal", NULL, 80);
}

/* Entries of list `number` of a KV head. */
static const int32_t *list_of(const struct tensor_set *set, size_t b, size_t g, size_t number)
{
    return attn_row(&set->tensors.indices, b, g, number);
}

TEST(lists_are_drawn)
{
    struct problem_case c;
    struct tensor_set set =
        made("b=2,hq=4,hkv=2,sq=9,skv=12,d=1,mask=causal,keys=index:8:4", "normal", &c);
    struct tensor_set other = filled(&c, usual, 1);
    assert_int_equal(set.tensors.indices.stride[0], 2 * 3 * 8);
    assert_int_equal(set.tensors.indices.stride[1], 3 * 8);
    assert_int_equal(set.tensors.indices.stride[2], 8);
    for (size_t number = 0; number < 3; number++) { /* whose last queries are 3, 7 and 8 */
        const int32_t *list = list_of(&set, 1, 1, number);
        const ptrdiff_t seen = number == 0 ? 7 : number == 1 ? 11 : 12;
        for (ptrdiff_t n = 0; n < 8; n++)
            assert_true(n < seen ? list[n] >= 0 && list[n] < seen : list[n] == -1);
    }
    assert_memory_not_equal(list_of(&set, 0, 0, 2), list_of(&set, 0, 1, 2), 8 * sizeof(int32_t));
    assert_memory_not_equal(list_of(&set, 0, 0, 2), list_of(&set, 1, 0, 2), 8 * sizeof(int32_t));
    assert_memory_equal(set.tensors.indices.data, other.tensors.indices.data,
                        2 * 2 * 3 * 8 * sizeof(int32_t));
    tensors_free(&other);
    tensors_free(&set);
}

/* Runs of four keys that begin at multiples of four, -1 where the last one has no more keys. */
TEST(lists_have_runs)
{
    struct problem_case c;
    bool cut = false;
    struct tensor_set set =
        made("b=1,h=1,sq=50,skv=18,d=1,keys=index:10", "normal+index:blocks:4", &c);
    for (size_t number = 0; number < 50; number++) {
        const int32_t *list = list_of(&set, 0, 0, number);
        for (size_t n = 0; n < 10; n++) {
            const int32_t key = n % 4 ? list[n - n % 4] + (int32_t)(n % 4) : list[n];
            assert_int_equal(key % 4, n % 4);
            assert_int_equal(list[n], key < 18 ? key : -1);
            cut |= key >= 18;
        }
    }
    assert_true(cut);
    tensors_free(&set);
}

TEST(lists_of_packed_sequences_follow_each_other)
{
    struct problem_case c;
    struct tensor_set set = made("b=2,h=1,sq=5,skv=9,d=1,packed=1,ragged=1,keys=index:3:2",
                                 "normal+batch:q3s9,q5s7", &c);
    assert_int_equal(set.shape.lists, 2 + 3);
    assert_ptr_equal(attn_list(&c.problem, &set.tensors, 1, 0, 4), list_of(&set, 0, 0, 2 + 2));
    tensors_free(&set);
}

TEST(a_causal_bias_is_aligned_to_each_end)
{
    static const char *const problems[] = {"b=3,h=2,sq=9,skv=12,d=1,mask=bias",
                                           "b=3,h=2,sq=9,skv=12,d=1,mask=bias,packed=1,page=5"};
    for (size_t n = 0; n < COUNT(problems); n++) {
        struct problem_case c;
        struct tensor_set set = made(problems[n], "normal+bias:causal", &c);
        assert_int_equal(set.tensors.bias.stride[0], n ? 9 * 12 : 0);
        assert_int_equal(set.tensors.bias.stride[1], 0);
        for (size_t b = 0; b < 3; b++) {
            const struct attn_sequence s = attn_sequence(&c.problem, &set.tensors, b);
            for (size_t i = 0; i < s.q_len; i++)
                for (size_t j = 0; j < s.kv_len; j++)
                    assert_true(tensors_get(&set.tensors.bias, b, 1, i, j) ==
                                (j + s.q_len <= i + s.kv_len ? 0 : -INFINITY));
        }
        tensors_free(&set);
    }
}

TEST(sinks_and_slopes_are_there)
{
    struct problem_case c;
    struct tensor_set set = made("hq=8,hkv=2,s=4,d=4,sinks=1,alibi=1,dtype=f16", "normal", &c);
    const float *sinks = set.tensors.sinks.data, *slopes = set.tensors.slopes.data;
    for (size_t h = 0; h < 8; h++) {
        assert_true(slopes[h] == exp2f(-(float)(h + 1)));
        assert_true(isfinite(sinks[h]) && fabsf(sinks[h]) < 5);
        assert_true(!h || sinks[h] != sinks[h - 1]);
    }
    assert_int_equal(set.tensors.sinks.stride[0], 1);
    assert_null(set.tensors.bias.data);
    assert_null(set.tensors.mask.data);
    assert_null(set.tensors.k_scale.data);
    tensors_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_have_their_density_and_blocks),
        cmocka_unit_test(biases_have_their_shapes),
        cmocka_unit_test(trees_are_as_written_or_drawn),
        cmocka_unit_test(lists_are_drawn),
        cmocka_unit_test(lists_have_runs),
        cmocka_unit_test(lists_of_packed_sequences_follow_each_other),
        cmocka_unit_test(a_causal_bias_is_aligned_to_each_end),
        cmocka_unit_test(sinks_and_slopes_are_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
