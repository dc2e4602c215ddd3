/*
 * Where operands lie: tables and pages; the same numbers wherever that is; poison where nobody may look.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "filled_tensors.h"
#include "problem/kv.h"

static const struct tensors_layout usual;

/* ---- tables and pages ---------------------------------------------------------------------- */

TEST(pages_are_dealt_once_and_some_are_left)
{
    struct problem_case c;
    struct tensor_set set =
        made("b=5,hq=2,hkv=2,sq=1,skv=100,d=4,ragged=1,page=16", "normal+lens:0:100", &c);
    const struct attn_tensors *t = &set.tensors;
    const int32_t *table = t->block_table.data, *lens = t->kv_lens.data;
    bool named[64] = {false}, in_order = true;
    size_t count = 0;
    assert_int_equal(t->block_table.stride[0], 7);
    assert_in_range(t->pages, 1, 64);
    for (size_t b = 0; b < 5; b++)
        for (int32_t n = 0; n < 7; n++) {
            const int32_t page = table[b * 7 + (size_t)n];
            if (n * 16 >= lens[b]) {
                assert_int_equal(page, -1);
                continue;
            }
            assert_in_range(page, 0, t->pages - 1);
            assert_false(named[page]);
            in_order = in_order && (size_t)page == count;
            named[page] = true;
            count++;
        }
    assert_false(in_order);
    assert_int_equal(count, 0 + 2 + 4 + 5 + 7); /* 0, 25, 50, 75 and 100 keys */
    assert_int_equal(t->pages, count + 2 + count / 16);
    struct tensor_set other = filled(&c, usual, 1);
    assert_memory_equal(lens, other.tensors.kv_lens.data, 5 * sizeof *lens);
    assert_memory_not_equal(table, other.tensors.block_table.data, 35 * sizeof *table);
    tensors_free(&other);
    tensors_free(&set);
}

TEST(offsets_rise_to_all_rows)
{
    struct problem_case c;
    struct tensor_set set = made("b=6,hq=2,hkv=1,sq=9,skv=30,d=4,packed=1,outputs=o+lse+weights",
                                 "normal+qlens:0:9+lens:2:30", &c);
    const struct attn_tensors *t = &set.tensors;
    const int32_t *q = t->cu_seqlens.data, *kv = t->cu_seqlens_kv.data;
    assert_true(q[0] == 0 && kv[0] == 0);
    for (size_t b = 0; b < 6; b++) {
        assert_in_range(q[b + 1] - q[b], 0, 9);
        assert_in_range(kv[b + 1] - kv[b], 2, 30);
    }
    assert_int_equal(q[6], t->q_rows);
    assert_int_equal(kv[6], t->kv_rows);
    const struct attn_tensor *const packed[] = {&t->q, &t->k, &t->v, &t->o, &t->lse, &t->weights};
    const size_t rows[] = {t->q_rows, t->kv_rows, t->kv_rows, t->q_rows, t->q_rows, t->q_rows};
    const ptrdiff_t cols[] = {4, 4, 4, 4, 1, 30};
    for (size_t n = 0; n < COUNT(packed); n++) {
        assert_int_equal(packed[n]->stride[0], 0);
        assert_int_equal(packed[n]->stride[1], (ptrdiff_t)rows[n] * cols[n]);
        assert_int_equal(packed[n]->stride[2], cols[n]);
    }
    tensors_free(&set);
}

/* ---- the same numbers anywhere ------------------------------------------------------------- */

/* Whether the keys and queries that both have are the same. */
static void assert_same_values(const struct problem_case *a, const struct tensor_set *s,
                               const struct problem_case *b, const struct tensor_set *t)
{
    const struct attn_problem *p = &a->problem, *q = &b->problem;
    for (size_t n = 0; n < p->batch; n++) {
        const struct attn_sequence x = attn_sequence(p, &s->tensors, n);
        const struct attn_sequence y = attn_sequence(q, &t->tensors, n);
        for (size_t i = 0; i < x.q_len && i < y.q_len; i++)
            for (size_t d = 0; d < p->qk_dim; d++)
                assert_true(tensors_get(&s->tensors.q, n, 1, x.q_first + i, d) ==
                            tensors_get(&t->tensors.q, n, 1, y.q_first + i, d));
        for (size_t j = 0; j < x.kv_len && j < y.kv_len; j++)
            for (size_t d = 0; d < p->qk_dim; d++) {
                const struct kv_place at = {n, j % 2, j};
                assert_true(kv_get(p, &s->tensors, KV_K, at, d) ==
                            kv_get(q, &t->tensors, KV_K, at, d));
                assert_true(kv_get(p, &s->tensors, KV_V, at, d) ==
                            kv_get(q, &t->tensors, KV_V, at, d));
            }
    }
}

TEST(values_do_not_depend_on_where_they_lie)
{
    static const char *const inputs[] = {"normal:3", "uniform:3", "needle:5", "negative"};
    static const char *const options[] = {
        "ragged=1",
        "page=4",
        "page=7,ragged=1",
        "packed=1",
        "packed=1,page=4",
        "packed=1,ragged=1",
        "layout=bshd,packed=1",
        "layout=bshd,page=64",
    };
    for (size_t k = 0; k < COUNT(inputs); k++) {
        const char *input = inputs[k];
        const struct problem_case dense = case_of("b=3,hq=4,hkv=2,sq=6,skv=13,d=5", input);
        struct tensor_set s = filled(&dense, usual, 2);
        for (size_t n = 0; n < COUNT(options); n++) {
            char text[128] = "b=3,hq=4,hkv=2,sq=6,skv=13,d=5,";
            strcat(text, options[n]);
            const struct problem_case c = case_of(text, input);
            struct tensor_set t =
                filled(&c, (struct tensors_layout){TENSORS_GUARD_BACK, 0, n % 2 ? 3 : 0}, 2);
            assert_same_values(&dense, &s, &c, &t);
            tensors_free(&t);
        }
        tensors_free(&s);
    }
}

/* ---- poison -------------------------------------------------------------------------------- */

static bool all_nan(const struct attn_tensor *t, size_t b, size_t g, size_t row, size_t cols)
{
    bool nan = true;
    for (size_t d = 0; d < cols; d++)
        nan = nan && isnan(tensors_get(t, b, g, row, d));
    return nan;
}

static bool any_nan(const struct attn_tensor *t, size_t b, size_t g, size_t row, size_t cols)
{
    bool nan = false;
    for (size_t d = 0; d < cols; d++)
        nan = nan || isnan(tensors_get(t, b, g, row, d));
    return nan;
}

TEST(keys_behind_the_end_are_poison)
{
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (size_t n = 0; n < COUNT(dtypes); n++) {
        char text[128] = "b=3,h=2,sq=1,skv=20,d=5,dv=3,ragged=1,dtype=";
        struct problem_case c;
        struct tensor_set set = made(strcat(text, dtypes[n]), "normal+lens:0:20", &c);
        for (size_t b = 0; b < 3; b++)
            for (size_t j = 0; j < 20; j++) {
                const bool real = j < attn_sequence(&c.problem, &set.tensors, b).kv_len;
                assert_int_equal(any_nan(&set.tensors.k, b, 1, j, 5), !real);
                assert_int_equal(all_nan(&set.tensors.k, b, 1, j, 5), !real);
                assert_int_equal(any_nan(&set.tensors.v, b, 0, j, 3), !real);
                assert_int_equal(all_nan(&set.tensors.v, b, 0, j, 3), !real);
            }
        tensors_free(&set);
    }
}

TEST(unnamed_pages_and_tails_are_poison)
{
    struct problem_case c;
    struct tensor_set set =
        made("b=4,h=2,sq=1,skv=50,d=5,ragged=1,page=8,layout=bshd", "normal+lens:1:50", &c);
    const struct attn_tensors *t = &set.tensors;
    size_t used[64] = {0}, poison = 0;
    for (size_t b = 0; b < 4; b++)
        for (size_t j = 0; j < attn_sequence(&c.problem, t, b).kv_len; j++)
            used[((const int32_t *)t->block_table.data)[b * 7 + j / 8]]++;
    for (size_t page = 0; page < t->pages; page++)
        for (size_t r = 0; r < 8; r++)
            for (size_t g = 0; g < 2; g++) {
                assert_int_equal(all_nan(&t->k, page, g, r, 5), r >= used[page]);
                assert_int_equal(any_nan(&t->v, page, g, r, 5), r >= used[page]);
                poison += r >= used[page];
            }
    assert_true(poison >= 2 * 8 * 2);
    tensors_free(&set);
}

TEST(scales_behind_the_end_are_poison)
{
    static const char *const options[] = {"ragged=1", "ragged=1,page=8"};
    for (size_t n = 0; n < COUNT(options); n++) {
        char text[128] = "b=3,h=2,sq=1,skv=20,d=5,kv_dtype=i8,";
        struct problem_case c;
        struct tensor_set set = made(strcat(text, options[n]), "normal+lens:0:20", &c);
        const struct attn_tensors *t = &set.tensors;
        for (size_t b = 0; b < 3; b++)
            for (size_t j = 0; j < 20; j++) {
                const bool real = j < attn_sequence(&c.problem, t, b).kv_len;
                assert_int_equal(isnan(tensors_get(&t->k_scale, b, 1, j, 0)) != 0, !real);
                assert_int_equal(isnan(tensors_get(&t->v_scale, b, 1, j, 0)) != 0, !real);
            }
        tensors_free(&set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_dealt_once_and_some_are_left),
        cmocka_unit_test(offsets_rise_to_all_rows),
        cmocka_unit_test(values_do_not_depend_on_where_they_lie),
        cmocka_unit_test(keys_behind_the_end_are_poison),
        cmocka_unit_test(unnamed_pages_and_tails_are_poison),
        cmocka_unit_test(scales_behind_the_end_are_poison),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
