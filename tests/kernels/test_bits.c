/*
 * Every variant: the bits of a sequence's results depend on that sequence alone, not on its place
 * in a batch, its neighbours, the number of threads or the run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judged_problem.h"
#include "tested_kernel.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define BATCH 3

/* Tails in every dimension, masks, groups, tiles of queries of one position, one split and several, one task and
 * several, and keys that fill a cache for one sequence and memory for the batch: with two rows in f32,
 * in bf16, and with four. */
static const char *const shapes[] = {
    "hq=4,hkv=2,sq=70,skv=301,d=40,mask=causal,outputs=o+lse",
    "hq=8,hkv=2,sq=1,skv=1500,d=64,outputs=o+lse",
    "h=2,sq=130,skv=260,d=64,outputs=o+lse",
    "hq=4,hkv=1,sq=33,skv=700,d=64,dv=48,window=200:5,outputs=o+lse",
    "hq=32,hkv=1,sq=40,skv=88,d=32,mask=causal,outputs=o+lse",
    "hq=2,hkv=1,sq=1,skv=12000,d=64,outputs=o+lse",
    "hq=2,hkv=1,sq=1,skv=28000,d=64,outputs=o+lse",
    "hq=4,hkv=1,sq=1,skv=7000,d=128,outputs=o+lse",
};
static const char *const dtypes[] = {"f32", "bf16", "f16"};

/* One sequence has gaps between its rows, as caches may have, and a batch has none: the bits are the same. */
static struct judged_problem *open_shape(size_t batch, const char *dtype, const char *shape)
{
    const struct tensors_layout layout = {.guard = TENSORS_GUARD_BACK,
                                          .row_padding = batch == 1 ? 3 : 0};
    char text[PARSE_TEXT];
    struct attn_problem problem;
    struct parse_error error;
    snprintf(text, sizeof text, "b=%zu,dtype=%s,%s", batch, dtype, shape);
    if (!parse_problem(text, &problem, &error))
        fail_msg("%s: %s", text, error.message);
    return judged_open(&problem, &layout);
}

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

/* Puts the one sequence of `alone` into place b of t. */
static void place(struct judged_problem *t, size_t b, const struct judged_problem *alone)
{
    const struct attn_problem *p = &alone->c.problem;
    const struct attn_tensors *to = &t->tensors, *from = &alone->tensors;
    const size_t element = attn_dtype_size(p->dtype);
    each_row(&to->q, b, &from->q, p->q_heads, p->q_len, p->qk_dim * element, copy);
    each_row(&to->k, b, &from->k, p->kv_heads, p->kv_len, p->qk_dim * element, copy);
    each_row(&to->v, b, &from->v, p->kv_heads, p->kv_len, p->v_dim * element, copy);
    judged_changed(t);
}

static void assert_placed(const struct judged_problem *t, size_t b,
                          const struct judged_problem *alone)
{
    const struct attn_problem *p = &alone->c.problem;
    const struct attn_tensors *mine = &t->tensors, *other = &alone->tensors;
    each_row(&mine->o, b, &other->o, p->q_heads, p->q_len, p->v_dim * attn_dtype_size(p->dtype),
             assert_same);
    if (alone->outputs & ATTN_OUTPUT_LSE)
        each_row(&mine->lse, b, &other->lse, p->q_heads, p->q_len, sizeof(float), assert_same);
}

static void bits_are_the_sequences_own(void **state)
{
    (void)state;
    if (tested->caps.varies)
        skip();
    for (size_t d = 0; d < COUNT(dtypes); d++)
        for (size_t s = 0; s < COUNT(shapes); s++) {
            struct judged_problem *alone = open_shape(1, dtypes[d], shapes[s]);
            struct judged_problem *t = open_shape(BATCH, dtypes[d], shapes[s]);
            const bool ran = judged_run(alone, tested, 1);
            for (size_t b = 0; ran && b < BATCH; b++) {
                place(t, b, alone);
                for (int threads = 1; threads <= 4; threads++) {
                    assert_true(judged_run(t, tested, threads));
                    assert_placed(t, b, alone);
                }
            }
            tested_ran += ran;
            judged_close(alone);
            judged_close(t);
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
