/*
 * Operands from safetensors files: what is read, how masks broadcast, what is refused and how.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filled_tensors.h"
#include "problem/keys.h"
#include "problem/operands_file.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define MOST 16
#define ELEMENTS 4096

/* A file under construction. */
struct written {
    char path[64];
    struct safetensor tensors[MOST];
    size_t count;
    double data[MOST][ELEMENTS];
};

static struct written *begin(void)
{
    struct written *w = calloc(1, sizeof *w);
    assert_non_null(w);
    snprintf(w->path, sizeof w->path, "/tmp/test_operands_file.%d", (int)getpid());
    return w;
}

/* Element number n of a tensor is base + n / 8, of integers base + n. */
static void add(struct written *w, const char *name, enum attn_dtype dtype, float base, size_t rank,
                const size_t *shape)
{
    size_t elements = 1;
    for (size_t n = 0; n < rank; n++)
        elements *= shape[n];
    assert_true(elements <= ELEMENTS && w->count < MOST);
    struct safetensor *t = &w->tensors[w->count];
    *t = (struct safetensor){.name = name,
                             .dtype = dtype,
                             .rank = rank,
                             .data = w->data[w->count],
                             .bytes = elements * attn_dtype_size(dtype)};
    memcpy(t->shape, shape, rank * sizeof *shape);
    const struct attn_tensor view = {w->data[w->count++], dtype, {0}};
    for (size_t n = 0; n < elements; n++) {
        const bool whole = dtype == ATTN_I8 || dtype == ATTN_I32;
        const double x = (double)base + (whole ? (double)n : (double)n / 8);
        if (dtype == ATTN_I32)
            ((int32_t *)view.data)[n] = (int32_t)x;
        else if (dtype == ATTN_F64)
            ((double *)view.data)[n] = x;
        else
            tensors_set(&view, 0, 0, 0, n, dtype == ATTN_BOOL ? (double)(n % 3 == 0) : x);
    }
}

#define SHAPE(...)                                                             \
    (sizeof((const size_t[]){__VA_ARGS__}) / sizeof(size_t)), (const size_t[]) \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

static void end(struct written *w)
{
    char message[256];
    if (!safetensors_write(w->path, w->tensors, w->count, message, sizeof message))
        fail_msg("%s", message);
}

static void discard(struct written *w)
{
    unlink(w->path);
    free(w);
}

static struct attn_problem problem_of(const char *text)
{
    struct attn_problem p;
    struct parse_error error;
    if (!parse_problem(text, &p, &error))
        fail_msg("%s: %s", text, error.message);
    return p;
}

static struct tensor_set loaded(struct written *w, const struct attn_problem *p)
{
    const struct tensors_layout layout = {0};
    struct tensor_set set;
    char message[512];
    end(w);
    if (!operands_file_load(&set, p, &layout, w->path, "x.", message, sizeof message))
        fail_msg("%s", message);
    assert_true(tensors_unchanged(&set, p));
    return set;
}

/* ---- what is read -------------------------------------------------------------------------- */

static void rows_come_in_three_or_four_dimensions(void **state)
{
    (void)state;
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

static void masks_broadcast_as_numpy_does(void **state)
{
    (void)state;
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

static void packed_sequences_are_read(void **state)
{
    (void)state;
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
    assert_true(keys_get(&p, &set.tensors, KEYS_K, (struct patterns_key){1, 0, 4}, 1) ==
                (8 * 3 + 1) / 8.0);
    assert_true(((float *)set.tensors.sinks.data)[1] == 2.125F);
    tensors_free(&set);
    discard(w);
}

static void pages_and_int8_are_read(void **state)
{
    (void)state;
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
    const struct patterns_key at = {1, 1, 5};
    const double k = -60 + ((4 * 2 + 1) * 4 + 1) * 3 + 2, v = k + 60;
    assert_true(keys_get(&p, t, KEYS_K, at, 2) == k * (1 + 5 / 8.0));
    assert_true(keys_get(&p, t, KEYS_V, at, 2) == v * (1 + (6 + 6 + 6 + 5) / 8.0));
    tensors_free(&set);
    discard(w);
}

/* ---- refusals ------------------------------------------------------------------------------ */

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    static const char plain[] = "b=2,h=3,sq=4,skv=5,d=1,";
    static const struct {
        const char *options, *name;
        enum attn_dtype dtype;
        size_t rank, shape[4];
        const char *message; /* behind the path */
    } cases[] = {
        {"",
         "x.q",
         ATTN_F32,
         4,
         {2, 3, 5, 1},
         "x.q is f32 (2,3,5,1), the problem needs f32 (2,3,4,1)"},
        {"",
         "x.q",
         ATTN_I32,
         4,
         {2, 3, 4, 1},
         "x.q is i32 (2,3,4,1), the problem needs f32 (2,3,4,1)"},
        {"mask=bias", "x.other", ATTN_F32, 1, {1}, "no tensor x.bias"},
        {"mask=bias",
         "x.bias",
         ATTN_F32,
         4,
         {2, 3, 5, 5},
         "x.bias is f32 (2,3,5,5), the problem needs f32 (2,3,4,5) or what broadcasts to it"},
        {"mask=bias",
         "x.bias",
         ATTN_BOOL,
         2,
         {4, 5},
         "x.bias is bool (4,5), the problem needs f32 (2,3,4,5) or what broadcasts to it"},
        {"mask=bool",
         "x.mask",
         ATTN_F32,
         2,
         {4, 5},
         "x.mask is f32 (4,5), the problem needs bool (2,3,4,5) or what broadcasts to it"},
        {"mask=bool",
         "x.mask",
         ATTN_BOOL,
         1,
         {4},
         "x.mask is bool (4), the problem needs bool (2,3,4,5) or what broadcasts to it"},
        {"sinks=1", "x.sinks", ATTN_F32, 1, {2}, "x.sinks is f32 (2), the problem needs f32 (3)"},
        {"alibi=1",
         "x.slopes",
         ATTN_F32,
         2,
         {3, 1},
         "x.slopes is f32 (3,1), the problem needs f32 (3)"},
        {"ragged=1",
         "x.kv_lens",
         ATTN_F32,
         1,
         {2},
         "x.kv_lens is f32 (2), the problem needs i32 (2)"},
        {"packed=1,ragged=1",
         "x.cu_seqlens",
         ATTN_I32,
         1,
         {2},
         "x.q is f32 (2,3,4,1), the problem needs f32 (1,3,*,1)"},
        {"page=2",
         "x.block_table",
         ATTN_I32,
         2,
         {2, 2},
         "x.k is f32 (2,3,5,1), the problem needs f32 (*,3,2,1)"},
        {"page=5",
         "x.block_table",
         ATTN_I32,
         2,
         {1, 1},
         "x.block_table is i32 (1,1), the problem needs i32 (2,1)"},
        {"kv_dtype=i8",
         "x.k_scale",
         ATTN_F32,
         3,
         {2, 3, 4},
         "x.k is f32 (2,3,5,1), the problem needs i8 (2,3,5,1)"},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        char text[128], message[512];
        snprintf(text, sizeof text, "%s%s", plain, cases[n].options);
        if (!*cases[n].options)
            text[strlen(text) - 1] = 0;
        const struct attn_problem p = problem_of(text);
        const struct tensors_layout layout = {0};
        struct written *w = begin();
        struct tensor_set set;
        if (strcmp(cases[n].name, "x.q") != 0)
            add(w, "x.q", ATTN_F32, 0, SHAPE(2, 3, 4, 1));
        add(w, "x.k", ATTN_F32, 0, SHAPE(2, 3, 5, 1));
        add(w, "x.v", ATTN_F32, 0, SHAPE(2, 3, 5, 1));
        add(w, cases[n].name, cases[n].dtype, 0, cases[n].rank, cases[n].shape);
        end(w);
        assert_false(operands_file_load(&set, &p, &layout, w->path, "x.", message, sizeof message));
        assert_memory_equal(message, w->path, strlen(w->path));
        assert_string_equal(message + strlen(w->path) + 2, cases[n].message);
        assert_null(set.mapping[0]);
        discard(w);
    }
}

/* Numbers that point outside: the tensor and the element are named. */
static void wrong_numbers_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int32_t lens[2], q[3], table[4];
        const char *message; /* behind the path */
    } cases[] = {
        {"b=2,h=1,sq=2,skv=4,d=1,ragged=1", .lens = {4, 5},
         .message = "x.kv_lens[1] is 5, there is room for 4 keys"},
        {"b=2,h=1,sq=2,skv=4,d=1,ragged=1", .lens = {-1, 4},
         .message = "x.kv_lens[0] is -1, below 0"},
        {"b=2,h=1,sq=2,skv=4,d=1,ragged=1,packed=1", .lens = {4, 4}, .q = {0, 2, 1},
         .message = "x.cu_seqlens[2] is 1, below the 2 before it"},
        {"b=2,h=1,sq=2,skv=4,d=1,ragged=1,packed=1", .lens = {4, 4}, .q = {0, 2, 5},
         .message = "x.cu_seqlens[2] is 5, 3 more than before, a sequence has 2 at most"},
        {"b=2,h=1,sq=2,skv=4,d=1,page=2", .table = {0, 1, 2, 4},
         .message = "x.block_table[1, 1] is 4, there are 4 pages"},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct attn_problem p = problem_of(cases[n].problem);
        const struct tensors_layout layout = {0};
        const bool packed = p.options & ATTN_OPTION_PACKED, paged = p.options & ATTN_OPTION_PAGED;
        struct written *w = begin();
        struct tensor_set set;
        char message[512];
        if (packed)
            add(w, "x.q", ATTN_F32, 0, SHAPE(1, 4, 1));
        else
            add(w, "x.q", ATTN_F32, 0, SHAPE(2, 1, 2, 1));
        for (int k = 0; k < 2; k++)
            if (paged)
                add(w, k ? "x.v" : "x.k", ATTN_F32, 0, SHAPE(4, 1, 2, 1));
            else
                add(w, k ? "x.v" : "x.k", ATTN_F32, 0, SHAPE(2, 1, 4, 1));
        add(w, "x.kv_lens", ATTN_I32, 0, SHAPE(2));
        add(w, "x.cu_seqlens", ATTN_I32, 0, SHAPE(3));
        add(w, "x.block_table", ATTN_I32, 0, SHAPE(2, 2));
        memcpy(w->data[3], cases[n].lens, sizeof cases[n].lens);
        memcpy(w->data[4], cases[n].q, sizeof cases[n].q);
        memcpy(w->data[5], cases[n].table, sizeof cases[n].table);
        end(w);
        assert_false(operands_file_load(&set, &p, &layout, w->path, "x.", message, sizeof message));
        assert_string_equal(message + strlen(w->path) + 2, cases[n].message);
        assert_null(set.mapping[0]);
        discard(w);
    }
}

/* A case whose input is such a file is filled as any other. */
static void cases_take_their_lengths_from_files(void **state)
{
    (void)state;
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
    assert_true(keys_get(&c.problem, &set.tensors, KEYS_V, (struct patterns_key){1, 0, 1}, 1) ==
                -13 / 8.0);
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
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(cases_take_their_lengths_from_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
