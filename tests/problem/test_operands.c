/*
 * Operands beyond Q, K and V, and where K and V lie: tables, pages, poison, masks, scales.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filled_tensors.h"
#include "problem/keys.h"
#include "system/process.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct tensors_layout usual;

static struct tensor_set made(const char *problem, const char *input, struct problem_case *c)
{
    *c = case_of(problem, input);
    return filled(c, usual, 0);
}

/* ---- tables and pages ---------------------------------------------------------------------- */

static void pages_are_dealt_once_and_some_are_left(void **state)
{
    (void)state;
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

static void offsets_rise_to_all_rows(void **state)
{
    (void)state;
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
                const struct patterns_key at = {n, j % 2, j};
                assert_true(keys_get(p, &s->tensors, KEYS_K, at, d) ==
                            keys_get(q, &t->tensors, KEYS_K, at, d));
                assert_true(keys_get(p, &s->tensors, KEYS_V, at, d) ==
                            keys_get(q, &t->tensors, KEYS_V, at, d));
            }
    }
}

static void values_do_not_depend_on_where_they_lie(void **state)
{
    (void)state;
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

/* A needle's logits with keys of int8: each row, or channel, has the scale that it needs. */
static void prescribed_scores_survive_int8(void **state)
{
    (void)state;
    static const char *const inputs[] = {"needle:5", "needle:5+scales:channel"};
    for (size_t n = 0; n < COUNT(inputs); n++) {
        struct problem_case c;
        struct tensor_set set =
            made("b=2,hq=4,hkv=2,sq=3,skv=9,d=64,kv_dtype=i8,page=4", inputs[n], &c);
        const struct attn_problem *p = &c.problem;
        for (size_t j = 0; j < 9; j++) {
            double x = 0;
            const struct patterns_key at = {1, 1, j};
            for (size_t d = 0; d < 64; d++)
                x += tensors_get(&set.tensors.q, 1, 3, 2, d) *
                     keys_get(p, &set.tensors, KEYS_K, at, d);
            x *= (double)attn_problem_scale(p);
            assert_true(fabs(x - (j == 5 ? 40 : 0)) < 1.5);
            assert_true(fabs(keys_get(p, &set.tensors, KEYS_V, at, j) - (j == 5 ? 1 : -1)) < 1e-6);
        }
        tensors_free(&set);
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

static void keys_behind_the_end_are_poison(void **state)
{
    (void)state;
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

static void unnamed_pages_and_tails_are_poison(void **state)
{
    (void)state;
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

static void scales_behind_the_end_are_poison(void **state)
{
    (void)state;
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

/* ---- masks --------------------------------------------------------------------------------- */

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

static void masks_have_their_density_and_blocks(void **state)
{
    (void)state;
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

static void biases_have_their_shapes(void **state)
{
    (void)state;
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

static void a_causal_bias_is_aligned_to_each_end(void **state)
{
    (void)state;
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

static void sinks_and_slopes_are_there(void **state)
{
    (void)state;
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

/* ---- int8 ---------------------------------------------------------------------------------- */

static void int8_keys_are_about_normal(void **state)
{
    (void)state;
    static const char *const inputs[] = {"normal", "normal+scales:channel"};
    static const char *const problems[] = {"b=2,h=2,sq=1,skv=50,d=64,kv_dtype=i8",
                                           "b=2,h=2,sq=1,skv=50,d=64,kv_dtype=i8,packed=1"};
    for (size_t n = 0; n < 4; n++) {
        struct problem_case c;
        struct tensor_set set = made(problems[n / 2], inputs[n % 2], &c);
        const struct attn_problem *p = &c.problem;
        const struct attn_tensors *t = &set.tensors;
        const bool channel = n % 2, packed = n / 2;
        double square = 0, elements = 0;
        assert_int_equal(t->k.dtype, ATTN_I8);
        assert_int_equal(t->k_scale.stride[channel ? 2 : 3], 0);
        assert_int_equal(t->k_scale.stride[channel ? 3 : 2], 1);
        assert_int_equal(t->v_scale.stride[2], 1);
        assert_int_equal(t->v_scale.stride[0] == 0, packed);
        for (size_t b = 0; b < 2; b++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct patterns_key at = {b, 1, j};
                double largest = 0;
                for (size_t d = 0; d < 64; d++, elements++) {
                    const double k = keys_get(p, t, KEYS_K, at, d);
                    square += k * k;
                    largest = fmax(largest, fabs(k / (double)*keys_scale(p, t, KEYS_K, at, d)));
                }
                assert_true(largest < 127.5 && (channel || largest > 126.5));
            }
        assert_true(fabs(square / elements - 1) < 0.15);
        tensors_free(&set);
    }
}

/* ---- shared storage ------------------------------------------------------------------------ */

static void shared_values_are_the_keys(void **state)
{
    (void)state;
    static const char *const inputs[] = {"normal", "uniform", "needle:3", "negative"};
    for (size_t n = 0; n < COUNT(inputs); n++) {
        struct problem_case c;
        struct tensor_set set =
            made("hq=4,hkv=1,sq=1,skv=9,d=12,dv=8,shared_kv=1,dtype=bf16", inputs[n], &c);
        struct tensors_span spans[TENSORS_SPANS];
        assert_ptr_equal(set.tensors.v.data, set.tensors.k.data);
        assert_memory_equal(set.tensors.v.stride, set.tensors.k.stride,
                            sizeof set.tensors.v.stride);
        assert_int_equal(tensors_spans(&set, &c.problem, spans), 3); /* q, k, o */
        assert_int_equal(spans[1].bytes, 9 * 12 * 2);
        struct tensor_set other = filled(&c, usual, 2);
        assert_memory_not_equal(set.tensors.v.data, other.tensors.v.data, spans[1].bytes);
        tensors_free(&other);
        tensors_free(&set);
    }
}

/* ---- all of them --------------------------------------------------------------------------- */

static const char everything[] =
    "b=3,hq=4,hkv=2,sq=5,skv=9,d=6,dv=4,kv_dtype=i8,mask=causal+bias+bool,sinks=1,alibi=1,ragged=1,"
    "packed=1,page=4,outputs=o+lse";

static void changes_of_any_operand_are_noticed(void **state)
{
    (void)state;
    static const char *const names[] = {"q",          "k",           "v",       "bias",
                                        "mask",       "sinks",       "slopes",  "kv_lens",
                                        "cu_seqlens", "block_table", "k_scale", "v_scale"};
    const struct problem_case c = case_of(everything, "normal");
    struct tensor_set set = filled(&c, (struct tensors_layout){TENSORS_GUARD_BACK, 0, 3}, 0);
    struct tensors_span spans[TENSORS_SPANS];
    assert_int_equal(tensors_spans(&set, &c.problem, spans), COUNT(names) + 2);
    for (size_t n = 0; n < COUNT(names); n++) {
        assert_string_equal(spans[n].name, names[n]);
        char *last = (char *)(uintptr_t)spans[n].data + spans[n].bytes - 1;
        *last ^= 1;
        assert_string_equal(tensors_changed(&set, &c.problem), names[n]);
        *last ^= 1;
        assert_null(tensors_changed(&set, &c.problem));
        /* flush against the guard page */
        assert_int_equal((uintptr_t)(last + 1) % (size_t)sysconf(_SC_PAGESIZE), 0);
    }
    tensors_free(&set);
}

static void every_operand_comes_through_a_memory_file(void **state)
{
    (void)state;
    const struct problem_case c = case_of(everything, "normal:4+lens:1:9");
    char message[256];
    const int fd = process_memory_file("test");
    struct tensors_file file;
    struct tensor_set set;
    if (!tensors_fill_file(&c, 2, fd, message, sizeof message) ||
        !tensors_file_hold(&file, fd, message, sizeof message))
        fail_msg("%s", message);
    tensors_file_move(&file, 192);
    if (!tensors_map(&set, &c.problem, fd, 1, 192, message, sizeof message))
        fail_msg("%s", message);
    struct tensor_set fresh = filled(&c, usual, 1);
    struct tensors_span mapped[TENSORS_SPANS], alone[TENSORS_SPANS];
    const size_t count = tensors_spans(&set, &c.problem, mapped);
    assert_int_equal(tensors_spans(&fresh, &c.problem, alone), count);
    for (size_t n = 0; n + 2 < count; n++) {
        assert_int_equal(mapped[n].bytes, alone[n].bytes);
        assert_memory_equal(mapped[n].data, alone[n].data, alone[n].bytes);
    }
    assert_true(tensors_unchanged(&set, &c.problem));
    assert_int_equal(set.tensors.pages, fresh.tensors.pages);
    assert_int_equal(set.tensors.q_rows, fresh.tensors.q_rows);
    tensors_free(&fresh);
    tensors_free(&set);
    tensors_file_release(&file);
    close(fd);
}

/* Packed results have no rows for queries that there are not. */
static void packed_results_are_the_rows_that_there_are(void **state)
{
    (void)state;
    const struct problem_case c =
        case_of("b=3,h=2,sq=5,skv=9,d=6,packed=1,outputs=o+lse", "normal+qlens:0:5");
    struct tensor_set set = filled(&c, (struct tensors_layout){.row_padding = 2}, 0);
    struct tensors_spot spot;
    assert_false(tensors_last_written(&set, &c.problem, &spot));
    const size_t rows = tensors_rows(&c.problem, &set.tensors);
    for (size_t n = 0; n < rows; n++) {
        const struct tensors_place at = tensors_place(&c.problem, &set.tensors, n);
        assert_false(tensors_written(&set, &c.problem, &spot));
        for (size_t d = 0; d < 6; d++)
            tensors_set(&set.tensors.o, at.b, at.h, at.row, d, 1);
        tensors_set(&set.tensors.lse, at.b, at.h, at.row, 0, 1);
    }
    assert_true(tensors_written(&set, &c.problem, &spot));
    assert_true(tensors_padding_intact(&set, &c.problem, &spot));
    const struct tensors_place last = tensors_place(&c.problem, &set.tensors, rows - 1);
    assert_true(tensors_last_written(&set, &c.problem, &spot));
    assert_true(spot.b == last.b && spot.h == last.h && spot.i == last.i);
    tensors_free(&set);
}

static void operands_for_another_input_are_refused(void **state)
{
    (void)state;
    const struct problem_case a = case_of("b=3,s=9,d=4,packed=1", "normal+qlens:1:9");
    const struct problem_case b = case_of("b=3,s=9,d=4,packed=1", "normal+qlens:9:9");
    struct tensor_set set = filled(&a, usual, 0);
    char message[256];
    assert_false(tensors_fill(&set, &b, 0, message, sizeof message));
    assert_string_equal(message, "the operands were made for another input");
    const struct problem_case large =
        case_of("b=3000000,sq=1000,skv=1,d=1,packed=1", "normal+qlens:1000:1000");
    struct tensors_shape shape;
    assert_false(tensors_shape_of(&large, &shape, message, sizeof message));
    assert_non_null(strstr(message, "more than 32-bit offsets can count"));
    tensors_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_dealt_once_and_some_are_left),
        cmocka_unit_test(offsets_rise_to_all_rows),
        cmocka_unit_test(values_do_not_depend_on_where_they_lie),
        cmocka_unit_test(prescribed_scores_survive_int8),
        cmocka_unit_test(keys_behind_the_end_are_poison),
        cmocka_unit_test(unnamed_pages_and_tails_are_poison),
        cmocka_unit_test(scales_behind_the_end_are_poison),
        cmocka_unit_test(masks_have_their_density_and_blocks),
        cmocka_unit_test(biases_have_their_shapes),
        cmocka_unit_test(a_causal_bias_is_aligned_to_each_end),
        cmocka_unit_test(sinks_and_slopes_are_there),
        cmocka_unit_test(int8_keys_are_about_normal),
        cmocka_unit_test(shared_values_are_the_keys),
        cmocka_unit_test(changes_of_any_operand_are_noticed),
        cmocka_unit_test(every_operand_comes_through_a_memory_file),
        cmocka_unit_test(packed_results_are_the_rows_that_there_are),
        cmocka_unit_test(operands_for_another_input_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
