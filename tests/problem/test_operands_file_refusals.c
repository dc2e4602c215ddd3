/*
 * Operands from safetensors files: what is refused, and how.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "filled_tensors.h"
#include "written_file.h"

/* A tensor beside or in place of those of a plain problem, and which one is refused for what the problem needs. */
static const char plain[] = "b=2,h=3,sq=4,skv=5,d=1";
#define ANY " or what broadcasts to it"
static const struct {
    const char *options, *name;
    enum attn_dtype dtype;
    size_t rank, shape[4];
    const char *refused, *needed; /* NULL: `refused` is all that is said */
} wrong[] = {
    {"", "x.q", ATTN_F32, 4, {2, 3, 5, 1}, "x.q is f32 (2,3,5,1)", "f32 (2,3,4,1)"},
    {"", "x.q", ATTN_I32, 4, {2, 3, 4, 1}, "x.q is i32 (2,3,4,1)", "f32 (2,3,4,1)"},
    {"mask=bias", "x.other", ATTN_F32, 1, {1}, "no tensor x.bias", NULL},
    {"mask=bias",
     "x.bias",
     ATTN_F32,
     4,
     {2, 3, 5, 5},
     "x.bias is f32 (2,3,5,5)",
     "f32 (2,3,4,5)" ANY},
    {"mask=bias", "x.bias", ATTN_BOOL, 2, {4, 5}, "x.bias is bool (4,5)", "f32 (2,3,4,5)" ANY},
    {"mask=bool", "x.mask", ATTN_F32, 2, {4, 5}, "x.mask is f32 (4,5)", "bool (2,3,4,5)" ANY},
    {"mask=bool", "x.mask", ATTN_BOOL, 1, {4}, "x.mask is bool (4)", "bool (2,3,4,5)" ANY},
    {"sinks=1", "x.sinks", ATTN_F32, 1, {2}, "x.sinks is f32 (2)", "f32 (3)"},
    {"alibi=1", "x.slopes", ATTN_F32, 2, {3, 1}, "x.slopes is f32 (3,1)", "f32 (3)"},
    {"ragged=1", "x.kv_lens", ATTN_F32, 1, {2}, "x.kv_lens is f32 (2)", "i32 (2)"},
    {"packed=1,ragged=1",
     "x.cu_seqlens",
     ATTN_I32,
     1,
     {2},
     "x.q is f32 (2,3,4,1)",
     "f32 (1,3,*,1)"},
    {"page=2", "x.block_table", ATTN_I32, 2, {2, 2}, "x.k is f32 (2,3,5,1)", "f32 (*,3,2,1)"},
    {"page=5", "x.block_table", ATTN_I32, 2, {1, 1}, "x.block_table is i32 (1,1)", "i32 (2,1)"},
    {"kv_dtype=i8", "x.k_scale", ATTN_F32, 3, {2, 3, 4}, "x.k is f32 (2,3,5,1)", "i8 (2,3,5,1)"},
};

TEST(wrong_tensors_are_refused)
{
    for (size_t n = 0; n < COUNT(wrong); n++) {
        char text[128], message[512], expected[512];
        snprintf(text, sizeof text, "%s%s%s", plain, *wrong[n].options ? "," : "",
                 wrong[n].options);
        const struct attn_problem p = problem_of(text);
        struct written *w = begin();
        struct tensor_set set;
        if (strcmp(wrong[n].name, "x.q") != 0)
            add(w, "x.q", ATTN_F32, 0, SHAPE(2, 3, 4, 1));
        add(w, "x.k", ATTN_F32, 0, SHAPE(2, 3, 5, 1));
        add(w, "x.v", ATTN_F32, 0, SHAPE(2, 3, 5, 1));
        add(w, wrong[n].name, wrong[n].dtype, 0, wrong[n].rank, wrong[n].shape);
        end(w);
        assert_false(load(w, &set, &p, MESSAGE(message)));
        snprintf(expected, sizeof expected, "%s: %s%s%s", w->path, wrong[n].refused,
                 wrong[n].needed ? ", the problem needs " : "",
                 wrong[n].needed ? wrong[n].needed : "");
        assert_string_equal(message, expected);
        assert_null(set.mapping[0]);
        discard(w);
    }
}

/* Numbers that point outside: the tensor and the element are named. */
TEST(wrong_numbers_are_refused)
{
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
        add(w, p.options & ATTN_OPTION_RAGGED ? "x.kv_lens" : "y.kv_lens", ATTN_I32, 0, SHAPE(2));
        add(w, packed ? "x.cu_seqlens" : "y.cu_seqlens", ATTN_I32, 0, SHAPE(3));
        add(w, paged ? "x.block_table" : "y.block_table", ATTN_I32, 0, SHAPE(2, 2));
        memcpy(w->data[3], cases[n].lens, sizeof cases[n].lens);
        memcpy(w->data[4], cases[n].q, sizeof cases[n].q);
        memcpy(w->data[5], cases[n].table, sizeof cases[n].table);
        end(w);
        assert_false(load(w, &set, &p, MESSAGE(message)));
        assert_string_equal(message + strlen(w->path) + 2, cases[n].message);
        assert_null(set.mapping[0]);
        discard(w);
    }
}

/* Whoever stored it meant it to be used. */
TEST(tensors_without_use_are_refused)
{
    static const struct {
        const char *tensor;
        enum attn_dtype dtype;
        const char *problem, *message; /* NULL: read; behind the path */
    } cases[] = {
        {"x.mask", ATTN_BOOL, "b=1,h=1,sq=1,skv=4,d=1",
         "x.mask is bool (4), which the problem does not use; mask=bool does"},
        {"x.mask", ATTN_BOOL, "b=1,h=1,sq=1,skv=4,d=1,mask=bool", NULL},
        {"x.mask", ATTN_F32, "b=1,h=1,sq=1,skv=4,d=1,mask=bias", NULL},
        {"x.bias", ATTN_F32, "b=1,h=1,sq=1,skv=4,d=1,mask=causal",
         "x.bias is f32 (4), which the problem does not use; mask=bias does"},
        {"y.mask", ATTN_BOOL, "b=1,h=1,sq=1,skv=4,d=1", NULL},
        {"x.attn_mask", ATTN_BOOL, "b=1,h=1,sq=1,skv=4,d=1",
         "nothing reads x.attn_mask; did you mean 'x.mask'?"},
        {"x.kv_len", ATTN_F32, "b=1,h=1,sq=1,skv=4,d=1",
         "nothing reads x.kv_len; did you mean 'x.kv_lens'?"},
        {"x.Mask", ATTN_BOOL, "b=1,h=1,sq=1,skv=4,d=1",
         "nothing reads x.Mask; did you mean 'x.mask'?"},
        {"x.wq", ATTN_F32, "b=1,h=1,sq=1,skv=4,d=1", NULL},
        {"x.weights", ATTN_F32, "b=1,h=1,sq=1,skv=4,d=1", NULL},
        {"x.mask.scale", ATTN_F32, "b=1,h=1,sq=1,skv=4,d=1", NULL},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        const struct attn_problem p = problem_of(cases[n].problem);
        struct written *w = begin();
        struct tensor_set set;
        char message[512];
        add(w, "x.q", ATTN_F32, 0, SHAPE(1, 1, 1, 1));
        add(w, "x.k", ATTN_F32, 0, SHAPE(1, 1, 4, 1));
        add(w, "x.v", ATTN_F32, 0, SHAPE(1, 1, 4, 1));
        add(w, cases[n].tensor, cases[n].dtype, 0, SHAPE(4));
        end(w);
        assert_int_equal(load(w, &set, &p, MESSAGE(message)), !cases[n].message);
        if (cases[n].message)
            assert_string_equal(message + strlen(w->path) + 2, cases[n].message);
        else
            tensors_free(&set);
        discard(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(tensors_without_use_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
