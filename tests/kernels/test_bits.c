/*
 * Every variant: the bits of a sequence's results depend on that sequence alone, not on its place
 * in a batch, its neighbours, the number of threads or the run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "tested.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BATCH 3

#define F32 1u << ATTN_F32
#define SHORT (1u << ATTN_BF16 | 1u << ATTN_F16)
#define ANY (F32 | SHORT)

/* Tails in every dimension, masks, groups, tiles of queries of one position, one split and several, one task
 * and several, and keys that fill a cache for one sequence and memory for the batch: with two rows in f32,
 * in 16 bits, and with four. */
static const struct {
    unsigned dtypes;
    const char *problem;
} shapes[] = {
    {ANY, "hq=4,hkv=2,sq=70,skv=301,d=40,mask=causal,outputs=o+lse"},
    {ANY, "hq=8,hkv=2,sq=1,skv=1500,d=64,outputs=o+lse"},
    {ANY, "h=2,sq=130,skv=260,d=64,outputs=o+lse"},
    {ANY, "hq=4,hkv=1,sq=33,skv=700,d=64,dv=48,window=200:5,outputs=o+lse"},
    {ANY, "hq=32,hkv=1,sq=40,skv=88,d=32,mask=causal,outputs=o+lse"},
    {F32, "hq=2,hkv=1,sq=1,skv=12000,d=64,outputs=o+lse"},
    {SHORT, "hq=2,hkv=1,sq=1,skv=28000,d=64,outputs=o+lse"},
    {ANY, "hq=4,hkv=1,sq=1,skv=7000,d=128,outputs=o+lse"},
};

/* Calls visit() for each row of one sequence of an operand. */
static void each_row(const struct attn_tensor *a, size_t b, const struct attn_tensor *alone,
                     size_t heads, size_t length, size_t bytes,
                     void (*visit)(void *row, void *row_alone, size_t bytes))
{
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < length; i++)
            visit(attn_row(a, b, h, i), attn_row(alone, 0, h, i), bytes);
}

static void copy(void *row, void *row_alone, size_t bytes)
{
    memcpy(row, row_alone, bytes);
}

static void assert_same(void *row, void *row_alone, size_t bytes)
{
    assert_memory_equal(row, row_alone, bytes);
}

/* Copies the sequence at place b of t. */
static void copy_out(const struct operands *t, size_t b, const struct operands *alone)
{
    const struct attn_problem *p = &alone->problem;
    const struct attn_tensors *from = &t->set.tensors, *to = &alone->set.tensors;
    const size_t element = attn_dtype_size(p->dtype);
    each_row(&from->q, b, &to->q, p->q_heads, p->q_len, p->qk_dim * element, copy);
    each_row(&from->k, b, &to->k, p->kv_heads, p->kv_len, p->qk_dim * element, copy);
    each_row(&from->v, b, &to->v, p->kv_heads, p->kv_len, p->v_dim * element, copy);
}

static void assert_placed(const struct operands *t, size_t b, const struct operands *alone,
                          unsigned outputs)
{
    const struct attn_problem *p = &alone->problem;
    const struct attn_tensors *mine = &t->set.tensors, *other = &alone->set.tensors;
    each_row(&mine->o, b, &other->o, p->q_heads, p->q_len, p->v_dim * attn_dtype_size(p->dtype),
             assert_same);
    if (outputs & ATTN_OUTPUT_LSE)
        each_row(&mine->lse, b, &other->lse, p->q_heads, p->q_len, sizeof(float), assert_same);
}

/* Each sequence of a batch, on 1 to 4 threads, beside the same alone on one; which has gaps between its rows,
 * as caches may have, where the batch has none. */
static void compare(const struct attn_problem *problem)
{
    struct attn_problem of_batch = *problem;
    of_batch.batch = BATCH;
    struct operands t = operands_open(&of_batch, 0), alone[BATCH];
    unsigned outputs = 0;
    for (size_t b = 0; b < BATCH; b++) {
        alone[b] = operands_empty(problem, 3);
        copy_out(&t, b, &alone[b]);
        outputs = operands_call(&alone[b], tested, 1);
    }
    for (int threads = 1; outputs && threads <= 4; threads++) {
        assert_int_equal(operands_call(&t, tested, threads), outputs);
        for (size_t b = 0; b < BATCH; b++)
            assert_placed(&t, b, &alone[b], outputs);
    }
    for (size_t b = 0; b < BATCH; b++)
        operands_close(&alone[b]);
    operands_close(&t);
    tested_ran += outputs != 0;
}

static void bits_are_the_sequences_own(void **state)
{
    (void)state;
    if (tested->caps.varies)
        skip();
    for (enum attn_dtype dtype = ATTN_F32; dtype <= ATTN_F16; dtype++)
        for (size_t s = 0; s < COUNT(shapes); s++) {
            struct attn_problem p;
            struct parse_error error;
            const char *why;
            assert_true(parse_problem(shapes[s].problem, &p, &error));
            p.dtype = p.kv_dtype = dtype;
            p.outputs &= tested->caps.outputs;
            if (shapes[s].dtypes & 1u << dtype && attn_supports(tested, &p, &why))
                compare(&p);
        }
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(bits_are_the_sequences_own, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
