/*
 * attn_tensors_valid(): drawn operands are valid, and each thing that can be wrong with them is named.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "drawn_operands.h"
#include "problem/parse.h"

static void drawn_operands_are_valid(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        const struct attn_problem p = drawn_problem(&drawn_everything, seed);
        struct drawn_operands d;
        char text[PARSE_TEXT], message[200] = "";
        drawn_open(&d, &p, true, seed);
        parse_print_problem(&p, text);
        if (!attn_tensors_valid(&p, &d.tensors, message, sizeof message))
            fail_msg("%s: %s", text, message);
        drawn_close(&d);
    }
}

/* ---- what is wrong --------------------------------------------------------------------------- */

/* Two sequences, four query heads, two KV heads, three queries, eight keys, two dimensions. */
static float numbers[2 * 4 * 8 * 8];
static uint8_t mask[2 * 3 * 8];
static int32_t lens[2], queries[3], keys[3], table[2 * 4], parents[2 * 3];
static int32_t indices[2 * 2 * 3 * 4]; /* lists of four keys for each query and KV head */
static struct attn_problem p;
static struct attn_tensors t;

static struct attn_tensor of_heads(size_t heads, size_t rows, size_t columns, enum attn_dtype dtype)
{
    return (struct attn_tensor){.data = numbers,
                                .dtype = dtype,
                                .stride = {(ptrdiff_t)(heads * rows * columns),
                                           (ptrdiff_t)(rows * columns), (ptrdiff_t)columns, 1}};
}

static struct attn_tensor list(void *data, enum attn_dtype dtype, ptrdiff_t stride)
{
    return (struct attn_tensor){.data = data, .dtype = dtype, .stride = {stride}};
}

/* Right in everything, with all operands that there are. */
static void start(unsigned masks, unsigned options)
{
    attn_problem_init(&p);
    p.batch = 2;
    p.q_heads = 4;
    p.kv_heads = 2;
    p.q_len = 3;
    p.kv_len = 8;
    p.qk_dim = p.v_dim = 2;
    p.mask = masks;
    p.options = options;
    p.softcap = options & ATTN_OPTION_SOFTCAP ? 1 : 0;
    p.page_size = options & ATTN_OPTION_PAGED ? 2 : 0;
    p.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES;
    memset(mask, 1, sizeof mask);
    memcpy(lens, (const int32_t[]){8, 3}, sizeof lens);
    memcpy(queries, (const int32_t[]){0, 3, 5}, sizeof queries);
    memcpy(keys, (const int32_t[]){0, 8, 9}, sizeof keys);
    memcpy(table, (const int32_t[]){4, 0, 3, 1, 2, 5, -1, 99}, sizeof table);
    t = (struct attn_tensors){.size = sizeof t, .pages = 6, .q_rows = 5, .kv_rows = 9};
    t.q = of_heads(4, 3, 2, ATTN_F32);
    t.k = of_heads(2, 8, 2, ATTN_F32);
    t.v = of_heads(2, 8, 2, ATTN_F32);
    t.o = of_heads(4, 3, 2, ATTN_F32);
    t.lse = of_heads(4, 3, 1, ATTN_F32);
    t.weights = t.scores = of_heads(4, 3, 8, ATTN_F32);
    t.bias = of_heads(4, 3, 8, ATTN_F32);
    t.mask = (struct attn_tensor){.data = mask, .dtype = ATTN_BOOL, .stride = {3 * 8, 0, 8, 1}};
    t.sinks = t.slopes = list(numbers, ATTN_F32, 1);
    t.kv_lens = list(lens, ATTN_I32, 1);
    t.parents = list(parents, ATTN_I32, options & ATTN_OPTION_PACKED ? 0 : 3);
    t.parents.stride[1] = 1;
    memcpy(parents, (const int32_t[]){-1, 0, 0, -1, -1, 1}, sizeof parents);
    p.index_count = options & ATTN_OPTION_INDEX ? 4 : 0;
    p.index_block = options & ATTN_OPTION_INDEX ? 1 : 0;
    t.indices = of_heads(2, 3, 4, ATTN_I32);
    t.indices.data = indices;
    if (options & ATTN_OPTION_PACKED)
        t.indices = (struct attn_tensor){indices, ATTN_I32, {0, 6 * 4, 4, 1}};
    for (size_t n = 0; n < sizeof indices / sizeof *indices; n++)
        indices[n] = n % 4 == 1 ? -1 : (int32_t)(n % 4);
    t.cu_seqlens = list(queries, ATTN_I32, 1);
    t.cu_seqlens_kv = list(keys, ATTN_I32, 1);
    t.block_table = list(table, ATTN_I32, 4);
    t.k_scale = of_heads(2, 8, 1, ATTN_F32);
    t.k_scale.stride[3] = 0;
    t.v_scale = of_heads(2, 8, 1, ATTN_F32);
    t.dO = t.dQ = t.q;
    t.dK = t.dV = t.k;
    if (options & ATTN_OPTION_PACKED)
        t.q.stride[0] = t.k.stride[0] = t.v.stride[0] = t.o.stride[0] = t.lse.stride[0] =
            t.weights.stride[0] = t.scores.stride[0] = 0;
}

static void use_integers(void)
{
    p.kv_dtype = t.k.dtype = t.v.dtype = ATTN_I8;
}

static void use_backward(void)
{
    p.pass = ATTN_BACKWARD;
    p.outputs = ATTN_OUTPUT_DQ | ATTN_OUTPUT_DK | ATTN_OUTPUT_DV;
}

static void assert_valid(void)
{
    char message[200] = "";
    if (!attn_tensors_valid(&p, &t, message, sizeof message))
        fail_msg("%s", message);
}

static void assert_message(const char *expected)
{
    char message[200] = "";
    assert_false(attn_tensors_valid(&p, &t, message, sizeof message));
    assert_string_equal(message, expected);
}

static void each_is_needed_where_it_is_used(void **state)
{
    (void)state;
    const struct {
        struct attn_tensor *tensor;
        unsigned masks, options;
        void (*use)(void);
        const char *message;
    } cases[] = {
        {&t.q, 0, 0, NULL, "q is missing"},
        {&t.k, 0, 0, NULL, "k is missing"},
        {&t.v, 0, 0, NULL, "v is missing"},
        {&t.o, 0, 0, NULL, "o is missing"},
        {&t.lse, 0, 0, NULL, "lse is missing"},
        {&t.weights, 0, 0, NULL, "weights is missing"},
        {&t.scores, 0, 0, NULL, "scores is missing"},
        {&t.bias, ATTN_MASK_BIAS, 0, NULL, "bias is missing"},
        {&t.mask, ATTN_MASK_BOOL, 0, NULL, "mask is missing"},
        {&t.parents, ATTN_MASK_TREE, 0, NULL, "parents is missing"},
        {&t.indices, 0, ATTN_OPTION_INDEX, NULL, "indices is missing"},
        {&t.sinks, 0, ATTN_OPTION_SINKS, NULL, "sinks is missing"},
        {&t.slopes, 0, ATTN_OPTION_ALIBI, NULL, "slopes is missing"},
        {&t.kv_lens, 0, ATTN_OPTION_RAGGED, NULL, "kv_lens is missing"},
        {&t.cu_seqlens, 0, ATTN_OPTION_PACKED, NULL, "cu_seqlens is missing"},
        {&t.cu_seqlens_kv, 0, ATTN_OPTION_PACKED, NULL, "cu_seqlens_kv is missing"},
        {&t.block_table, 0, ATTN_OPTION_PAGED | ATTN_OPTION_RAGGED, NULL, "block_table is missing"},
        {&t.k_scale, 0, 0, use_integers, "k_scale is missing"},
        {&t.v_scale, 0, 0, use_integers, "v_scale is missing"},
        {&t.dO, 0, 0, use_backward, "dO is missing"},
        {&t.dQ, 0, 0, use_backward, "dQ is missing"},
        {&t.dK, 0, 0, use_backward, "dK is missing"},
        {&t.dV, 0, 0, use_backward, "dV is missing"},
        {&t.lse, 0, 0, use_backward, "lse is missing"},
    };
    for (size_t n = 0; n < COUNT(cases); n++) {
        start(cases[n].masks, cases[n].options);
        if (cases[n].options == ATTN_OPTION_PACKED)
            t.k_scale.stride[0] = t.v_scale.stride[0] = 0;
        if (cases[n].use)
            cases[n].use();
        assert_valid();
        cases[n].tensor->data = NULL;
        assert_message(cases[n].message);
    }
    start(0, 0); /* nothing that is not used */
    t.bias.data = t.mask.data = t.sinks.data = t.kv_lens.data = t.block_table.data = NULL;
    t.k_scale.data = t.dO.data = NULL;
    p.outputs = ATTN_OUTPUT_LSE;
    t.o.data = t.weights.data = t.scores.data = NULL;
    assert_valid();
    start(0, ATTN_OPTION_PACKED | ATTN_OPTION_RAGGED); /* keys in a cache */
    t.k.stride[0] = t.v.stride[0] = 32;
    t.cu_seqlens_kv.data = NULL;
    assert_valid();
}

static void tensors_of_another_type_are_refused(void **state)
{
    (void)state;
    start(ATTN_MASK_BIAS | ATTN_MASK_BOOL, ATTN_OPTION_SINKS | ATTN_OPTION_RAGGED);
    t.mask.dtype = ATTN_F32;
    assert_message("mask is f32, not bool");
    t.mask.dtype = ATTN_BOOL;
    t.bias.dtype = ATTN_BF16;
    assert_message("bias is bf16, not f32");
    p.dtype = p.kv_dtype = t.q.dtype = t.k.dtype = t.v.dtype = t.o.dtype = ATTN_BF16;
    assert_valid();
    t.bias.dtype = ATTN_F32;
    assert_valid();
    t.bias.dtype = ATTN_F16;
    assert_message("bias is f16, not f32 or bf16");
    t.bias.dtype = ATTN_F32;
    t.k.dtype = ATTN_F32;
    assert_message("k is f32, not bf16");
    t.k.dtype = (enum attn_dtype)99;
    assert_message("k has no data type (99)");
    t.k.dtype = ATTN_BF16;
    t.kv_lens.dtype = ATTN_F32;
    assert_message("kv_lens is f32, not i32");
    t.kv_lens.dtype = ATTN_I32;
    t.sinks.dtype = ATTN_F16;
    assert_message("sinks is f16, not f32");
    start(0, 0);
    use_integers();
    assert_valid();
    t.v_scale.dtype = ATTN_I8;
    assert_message("v_scale is i8, not f32");
}

static void strides_that_options_exclude_are_refused(void **state)
{
    (void)state;
    start(0, ATTN_OPTION_PACKED);
    assert_valid();
    t.o.stride[0] = 24;
    assert_message("o is packed and has stride[0] 24, not 0");
    start(0, ATTN_OPTION_PACKED);
    t.v.stride[0] = 32;
    assert_message("v is packed and has stride[0] 32, not 0");
    start(0, ATTN_OPTION_SHARED_KV);
    assert_valid();
    t.v.stride[1]++;
    assert_message("v has stride[1] 17, k, with which it shares its rows, 16");
    t.v.data = numbers + 1;
    assert_message("v is not where k is, with which it shares its rows");
    start(0, 0);
    use_integers();
    t.k_scale.stride[3] = 2;
    assert_message("k_scale has stride[3] 2, neither 0 nor 1");
    t.k_scale.stride[3] = 1;
    t.k_scale.stride[2] = 2;
    assert_message("k_scale has stride[2] 2 and stride[3] 1: scales are one a token or one a "
                   "channel, with a stride of 0");
    t.k_scale.stride[2] = 0;
    assert_valid();
}

/* Kernels take the last dimension for dense, and write rows of results beside each other. */
static void rows_with_gaps_between_elements_are_refused(void **state)
{
    (void)state;
    start(0, 0);
    t.q.stride[3] = 2;
    assert_message("q has stride[3] 2, not 1");
    start(0, 0);
    t.o.stride[3] = 2;
    assert_message("o has stride[3] 2, not 1");
    start(0, 0);
    t.o.stride[2] = 0;
    assert_message("o has stride[2] 0: its rows of 2 elements overlap");
    start(0, 0);
    t.lse.stride[1] = 0;
    assert_message("lse has stride[1] 0: its rows of 1 elements overlap");
    start(0, 0);
    t.weights.stride[0] = 7;
    assert_message("weights has stride[0] 7: its rows of 8 elements overlap");
    start(0, 0);
    t.k.stride[1] = t.v.stride[2] = 0; /* operands may share what they like */
    t.o.stride[2] = -2;
    assert_valid();
    p.v_dim = 1;
    t.o.stride[3] = 0; /* of one element */
    assert_valid();
}

static void lengths_and_offsets(void **state)
{
    (void)state;
    start(0, ATTN_OPTION_RAGGED);
    lens[0] = 0;
    assert_valid();
    lens[1] = 9;
    assert_message("kv_lens[1] is 9, there is room for 8 keys");
    lens[0] = -1;
    assert_message("kv_lens[0] is -1, below 0");

    start(0, ATTN_OPTION_PACKED);
    queries[0] = 1;
    assert_message("cu_seqlens[0] is 1, not 0");
    queries[0] = 0;
    queries[1] = 0; /* a sequence without queries */
    queries[2] = 3;
    assert_valid();
    queries[2] = 4;
    assert_message("cu_seqlens[2] is 4, 4 more than before, a sequence has 3 at most");
    queries[1] = 3;
    queries[2] = 2;
    assert_message("cu_seqlens[2] is 2, below the 3 before it");
    queries[2] = 6;
    assert_message("cu_seqlens[2] is 6, there are 5 rows");
    queries[2] = 5;
    keys[2] = 10;
    assert_message("cu_seqlens_kv[2] is 10, there are 9 rows");
    keys[1] = 9;
    assert_message("cu_seqlens_kv[1] is 9, 9 more than before, a sequence has 8 at most");
}

static void pages_that_are_not_there_are_refused(void **state)
{
    (void)state;
    start(0, ATTN_OPTION_PAGED | ATTN_OPTION_RAGGED);
    assert_valid(); /* entries behind a sequence's last page are nobody's */
    table[5] = 6;
    assert_message("block_table[1, 1] is 6, there are 6 pages");
    table[5] = 5;
    lens[1] = 5;
    assert_message("block_table[1, 2] is -1, there are 6 pages");
    lens[1] = 0;
    table[4] = -7;
    assert_valid();
    p.options &= ~(unsigned)ATTN_OPTION_RAGGED; /* all of them */
    assert_message("block_table[1, 0] is -7, there are 6 pages");
}

static void mask_elements_are_0_or_1(void **state)
{
    (void)state;
    start(ATTN_MASK_BOOL, 0);
    mask[1 * 24 + 2 * 8 + 5] = 255;
    assert_message("mask[1, 0, 2, 5] is 255, neither 0 nor 1");
    t.mask.stride[0] = 0; /* one for both sequences: the second is not there */
    assert_valid();
    mask[7] = 2;
    assert_message("mask[0, 0, 0, 7] is 2, neither 0 nor 1");
    p.options = ATTN_OPTION_RAGGED;
    lens[0] = lens[1] = 7;
    assert_valid();
    lens[1] = 8;
    assert_message("mask[1, 0, 0, 7] is 2, neither 0 nor 1");
    start(ATTN_MASK_BOOL, ATTN_OPTION_PACKED);
    mask[1 * 24 + 2 * 8] = 9; /* of the third query, and there are two */
    assert_valid();
    mask[1 * 24 + 1 * 8] = 9;
    assert_message("mask[1, 0, 1, 0] is 9, neither 0 nor 1");
}

static void parents_come_before_their_children(void **state)
{
    (void)state;
    start(ATTN_MASK_TREE, 0);
    assert_valid();
    parents[5] = 2;
    assert_message("parents[1, 2] is 2, neither -1 nor a draft before it");
    parents[5] = -2;
    assert_message("parents[1, 2] is -2, neither -1 nor a draft before it");
    t.parents.stride[0] = 0; /* one tree for both sequences: the second is not there */
    assert_valid();
    t.parents.stride[1] = 2;
    assert_message("parents has stride[1] 2, not 1");
    start(ATTN_MASK_TREE, ATTN_OPTION_PACKED);
    assert_valid();
    parents[4] = 1; /* draft 1 of the second sequence */
    assert_message("parents[1, 1] is 1, neither -1 nor a draft before it");
    parents[4] = -1;
    parents[5] = 9; /* of no sequence */
    assert_valid();
    t.parents.stride[0] = 3;
    assert_message("parents is packed and has stride[0] 3, not 0");
    start(ATTN_MASK_TREE, 0);
    t.parents.dtype = ATTN_I8;
    assert_message("parents is i8, not i32");
}

static void rows_of_4_bits_begin_at_bytes(void **state)
{
    (void)state;
    start(0, 0);
    use_integers();
    p.kv_dtype = t.k.dtype = t.v.dtype = ATTN_I4;
    p.kv_group = 16;
    assert_message("K and V of i4 need a kv_group of 32 or 64");
    p.kv_group = 32;
    assert_valid();
    t.v.stride[1]++;
    char odd[120];
    snprintf(odd, sizeof odd,
             "v has stride[1] %td, and rows of i4 begin at whole bytes: their strides are even",
             t.v.stride[1]);
    assert_message(odd);
    t.v.stride[1]--;
    p.options |= ATTN_OPTION_ZERO_POINTS;
    assert_message("k_zero is missing");
    t.k_zero = t.v_zero = t.k_scale;
    assert_valid();
    t.v_zero.dtype = ATTN_I8;
    assert_message("v_zero is i8, not f32");
    p.kv_dtype = t.k.dtype = t.v.dtype = ATTN_I8;
    assert_message("a kv_group without K and V of i4");
    p.kv_group = 0;
    assert_message("zero points without K and V of i4");
}

static void lists_name_keys_once(void **state)
{
    (void)state;
    start(0, ATTN_OPTION_INDEX);
    assert_valid();
    indices[3] = 8;
    assert_message("indices[0, 0, 0, 3] is 8, neither -1 nor one of 8 keys of the sequence");
    indices[3] = -2;
    assert_message("indices[0, 0, 0, 3] is -2, neither -1 nor one of 8 keys of the sequence");
    indices[3] = -1;
    assert_valid();
    indices[(2 + 1) * 3 * 4 + 2 * 4 + 3] = 2; /* head 1 of sequence 1, query 2 */
    assert_message("indices[1, 1, 2, 3] is 2, as entry 2 of this list is");
    p.index_block = 2; /* two lists of three queries: the third is not looked at */
    assert_valid();
    t.indices.stride[3] = 2;
    assert_message("indices has stride[3] 2, not 1");
    start(0, ATTN_OPTION_INDEX | ATTN_OPTION_RAGGED); /* 8 keys and 3 */
    assert_message("indices[1, 0, 0, 3] is 3, neither -1 nor one of 3 keys of the sequence");
    start(0, ATTN_OPTION_INDEX);
    t.indices.dtype = ATTN_BOOL;
    assert_message("indices is bool, not i32");
}

/* Lists of all sequences follow each other, blocks of queries begin anew in each: of 3 queries and 2 there
 * are 2 lists and 1 with blocks of 2. */
static void lists_of_packed_sequences(void **state)
{
    (void)state;
    start(0, ATTN_OPTION_INDEX | ATTN_OPTION_PACKED | ATTN_OPTION_RAGGED);
    lens[1] = 8;
    assert_valid();
    indices[3 * 4 + 3] = 9; /* the first list of the second sequence */
    assert_message("indices[1, 0, 0, 3] is 9, neither -1 nor one of 8 keys of the sequence");
    p.index_block = 2;
    assert_valid();
    indices[2 * 4] = -7;
    assert_message("indices[1, 0, 0, 0] is -7, neither -1 nor one of 8 keys of the sequence");
    t.indices.stride[0] = 12;
    assert_message("indices is packed and has stride[0] 12, not 0");
}

/* Also where they are further apart than keys that are looked at together. */
static void lists_of_many_keys(void **state)
{
    (void)state;
    start(0, ATTN_OPTION_INDEX);
    p.outputs = ATTN_OUTPUT_LSE;
    p.kv_len = 600000;
    indices[0] = 300000;
    indices[3] = 599999;
    assert_valid();
    indices[1] = 599999;
    assert_message("indices[0, 0, 0, 3] is 599999, as entry 1 of this list is");
}

static void the_problem_itself(void **state)
{
    (void)state;
    char short_message[5];
    start(0, 0);
    p.kv_len = 0;
    assert_message("a length is zero");
    assert_false(attn_tensors_valid(&p, &t, short_message, sizeof short_message));
    assert_string_equal(short_message, "a le");
    start(0, 0);
    t.size--;
    assert_message("the size field of the operands is not set");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_operands_are_valid),
        cmocka_unit_test(each_is_needed_where_it_is_used),
        cmocka_unit_test(tensors_of_another_type_are_refused),
        cmocka_unit_test(strides_that_options_exclude_are_refused),
        cmocka_unit_test(rows_with_gaps_between_elements_are_refused),
        cmocka_unit_test(lengths_and_offsets),
        cmocka_unit_test(pages_that_are_not_there_are_refused),
        cmocka_unit_test(mask_elements_are_0_or_1),
        cmocka_unit_test(parents_come_before_their_children),
        cmocka_unit_test(rows_of_4_bits_begin_at_bytes),
        cmocka_unit_test(lists_name_keys_once),
        cmocka_unit_test(lists_of_packed_sequences),
        cmocka_unit_test(lists_of_many_keys),
        cmocka_unit_test(the_problem_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
