/*
 * Operands from safetensors files: what is read, how masks broadcast.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "filled_tensors.h"
#include "problem/kv.h"
#include "written_file.h"

static struct tensor_set loaded(struct written *w, const struct attn_problem *p)
{
    struct tensor_set set;
    char message[512];
    end(w);
    if (!load(w, &set, p, MESSAGE(message)))
        fail_msg("%s", message);
    return set;
}

TEST(rows_come_in_three_or_four_dimensions)
{
    const struct attn_problem p = problem_of("b=2,hq=4,hkv=2,sq=3,skv=5,d=6,dv=7,layout=bshd");
    for (int flat = 0; flat < 2; flat++) {
        struct written *w = begin();
        if (flat)
            add(w, "x.q", ATTN_F32, 0, SHAPE(2, 3, 4 * 6));
        else
            add(w, "x.q", ATTN_F32, 0, SHAPE(2, 4, 3, 6));
        add(w, "x.k", ATTN_BF16, 0, SHAPE(2, 2, 5, 6));
        add(w, "x.v", ATTN_F16, 0, SHAPE(2, 5, 2 * 7));
        struct tensor_set set = loaded(w, &p);
        const size_t b = 1, h = 3, i = 2, d = 5;
        const size_t number = flat ? (b * 3 + i) * 24 + h * 6 + d : ((b * 4 + h) * 3 + i) * 6 + d;
        assert_true(tensors_get(&set.tensors.q, b, h, i, d) == (double)number / 8);
        assert_true(tensors_get(&set.tensors.k, 1, 1, 3, 5) ==
                    ((1 * 2 + 1) * 5 + 3) * 6 / 8.0 + 0.625);
        assert_true(tensors_get(&set.tensors.v, 1, 1, 4, 2) == ((1 * 5 + 4) * 14 + 7 + 2) / 8.0);
        tensors_free(&set);
        discard(w);
    }
}

TEST(masks_broadcast_as_numpy_does)
{
    const struct attn_problem p = problem_of("b=2,h=3,sq=4,skv=5,d=1,mask=bias+bool");
    static const struct {
        size_t rank, shape[4];
        ptrdiff_t stride[3];
        size_t at[4]; /* steps in the file of b, h, i, j */
    } cases[] = {
        {4, {2, 3, 4, 5}, {60, 20, 5}, {60, 20, 5, 1}},
        {4, {1, 1, 4, 5}, {0, 0, 5}, {0, 0, 5, 1}},
        {4, {2, 1, 1, 5}, {5, 0, 0}, {5, 0, 0, 1}},
        {4, {2, 1, 4, 1}, {20, 0, 5}, {4, 0, 1, 0}}, /* the last one is written out */
        {4, {1, 1, 1, 1}, {0, 0, 0}, {0, 0, 0, 0}},
        {3, {3, 4, 5}, {0, 20, 5}, {0, 20, 5, 1}},
        {3, {1, 1, 5}, {0, 0, 0}, {0, 0, 0, 1}},
        {2, {4, 5}, {0, 0, 5}, {0, 0, 5, 1}},
        {2, {4, 1}, {0, 0, 5}, {0, 0, 1, 0}},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        struct written *w = begin();
        add(w, "x.q", ATTN_F32, 0, SHAPE(2, 3, 4, 1));
        add(w, "x.k", ATTN_F32, 0, SHAPE(2, 3, 5, 1));
        add(w, "x.v", ATTN_F32, 0, SHAPE(2, 3, 5, 1));
        add(w, "x.bias", n % 2 ? ATTN_F64 : ATTN_F16, 1, cases[n].rank, cases[n].shape);
        add(w, "x.mask", ATTN_BOOL, 0, cases[n].rank, cases[n].shape);
        struct tensor_set set = loaded(w, &p);
        const struct attn_tensor *bias = &set.tensors.bias, *mask = &set.tensors.mask;
        assert_int_equal(bias->dtype, ATTN_F32);
        assert_memory_equal(bias->stride, cases[n].stride, sizeof cases[n].stride);
        assert_memory_equal(mask->stride, cases[n].stride, sizeof cases[n].stride);
        for (size_t k = 0; k < 2 * 3 * 4 * 5; k++) {
            const size_t b = k / 60, h = k / 20 % 3, i = k / 5 % 4, j = k % 5;
            const size_t *at = cases[n].at;
            const size_t number = b * at[0] + h * at[1] + i * at[2] + j * at[3];
            assert_true(tensors_get(bias, b, h, i, j) == 1 + (double)number / 8);
            assert_true(tensors_get(mask, b, h, i, j) == (number % 3 == 0));
        }
        tensors_free(&set);
        discard(w);
    }
}

TEST(packed_sequences_are_read)
{
    const struct attn_problem p =
        problem_of("b=2,hq=2,hkv=1,sq=4,skv=5,d=3,packed=1,sinks=1,alibi=1");
    struct written *w = begin();
    add(w, "x.q", ATTN_F32, 0, SHAPE(2, 5, 3));
    add(w, "x.k", ATTN_F32, 0, SHAPE(1, 1, 9, 3));
    add(w, "x.v", ATTN_F32, 0, SHAPE(1, 9, 3));
    add(w, "x.sinks", ATTN_BF16, 2, SHAPE(2));
    add(w, "x.slopes", ATTN_F32, 0, SHAPE(2));
    add(w, "x.cu_seqlens", ATTN_I32, 0, SHAPE(3));
    add(w, "x.cu_seqlens_kv", ATTN_I32, 0, SHAPE(3));
    const int32_t q[] = {0, 4, 5}, kv[] = {0, 4, 9};
    memcpy(w->data[5], q, sizeof q);
    memcpy(w->data[6], kv, sizeof kv);
    struct tensor_set set = loaded(w, &p);
    const struct attn_sequence s = attn_sequence(&p, &set.tensors, 1);
    assert_true(s.q_first == 4 && s.q_len == 1 && s.kv_first == 4 && s.kv_len == 5);
    assert_int_equal(set.tensors.q_rows, 5);
    assert_int_equal(set.tensors.kv_rows, 9);
    assert_true(tensors_get(&set.tensors.q, 1, 1, 4, 2) == (15 + 4 * 3 + 2) / 8.0);
    assert_true(kv_get(&p, &set.tensors, KV_K, (struct kv_place){1, 0, 4}, 1) == (8 * 3 + 1) / 8.0);
    assert_true(((float *)set.tensors.sinks.data)[1] == 2.125F);
    tensors_free(&set);
    discard(w);
}

TEST(pages_and_int8_are_read)
{
    const struct attn_problem p =
        problem_of("b=2,hq=2,hkv=2,sq=1,skv=6,d=3,ragged=1,page=4,kv_dtype=i8");
    struct written *w = begin();
    add(w, "x.q", ATTN_F32, 0, SHAPE(2, 2, 1, 3));
    add(w, "x.k", ATTN_I8, -60, SHAPE(5, 2, 4, 3));
    add(w, "x.v", ATTN_I8, 0, SHAPE(5, 2, 4, 3));
    add(w, "x.kv_lens", ATTN_I32, 5, SHAPE(2));
    add(w, "x.block_table", ATTN_I32, 0, SHAPE(2, 3)); /* wider than it must be */
    add(w, "x.k_scale", ATTN_F32, 1, SHAPE(1, 2, 1, 3));
    add(w, "x.v_scale", ATTN_F32, 1, SHAPE(2, 2, 6));
    struct tensor_set set = loaded(w, &p);
    const struct attn_tensors *t = &set.tensors;
    assert_int_equal(t->pages, 5);
    assert_int_equal(t->block_table.stride[0], 3);
    const ptrdiff_t channel[] = {0, 3, 0, 1}, token[] = {12, 6, 1};
    assert_memory_equal(t->k_scale.stride, channel, sizeof channel);
    assert_memory_equal(t->v_scale.stride, token, sizeof token);
    /* key 5 of sequence 1 is row 1 of page table[1][1] = 4 */
    const struct kv_place at = {1, 1, 5};
    const double k = -60 + ((4 * 2 + 1) * 4 + 1) * 3 + 2, v = k + 60;
    assert_true(kv_get(&p, t, KV_K, at, 2) == k * (1 + 5 / 8.0));
    assert_true(kv_get(&p, t, KV_V, at, 2) == v * (1 + (6 + 6 + 6 + 5) / 8.0));
    tensors_free(&set);
    discard(w);
}

/* A case whose input is such a file is filled as any other. */
TEST(cases_take_their_lengths_from_files)
{
    struct written *w = begin();
    add(w, "x.q", ATTN_F32, 0, SHAPE(1, 3, 2));
    add(w, "x.k", ATTN_F32, 0, SHAPE(1, 7, 2));
    add(w, "x.v", ATTN_F32, 0, SHAPE(1, 7, 2));
    add(w, "x.cu_seqlens", ATTN_I32, 0, SHAPE(3));
    add(w, "x.cu_seqlens_kv", ATTN_I32, 0, SHAPE(3));
    const int32_t q[] = {0, 1, 3}, kv[] = {0, 5, 7};
    memcpy(w->data[3], q, sizeof q);
    memcpy(w->data[4], kv, sizeof kv);
    end(w);
    char input[128];
    snprintf(input, sizeof input, "file:%s:x.", w->path);
    const struct problem_case c = case_of("b=2,sq=2,skv=5,d=2,packed=1", input);
    struct tensor_set set = filled(&c, (struct tensors_layout){0}, 1);
    assert_int_equal(set.tensors.q_rows, 3);
    assert_int_equal(attn_sequence(&c.problem, &set.tensors, 1).kv_len, 2);
    /* stream 1: V times -1 */
    assert_true(kv_get(&c.problem, &set.tensors, KV_V, (struct kv_place){1, 0, 1}, 1) == -13 / 8.0);
    tensors_free(&set);
    discard(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_come_in_three_or_four_dimensions),
        cmocka_unit_test(masks_broadcast_as_numpy_does),
        cmocka_unit_test(packed_sequences_are_read),
        cmocka_unit_test(pages_and_int8_are_read),
        cmocka_unit_test(cases_take_their_lengths_from_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
