/*
 * Every variant against the reference: masks, lengths, head dimensions, heads, memory layouts and
 * element types.
 *
 * The full product of these would run for hours.  Lengths are covered in pairs under every mask
 * and dimensions in pairs under every mask; what else there is (heads, layout, padding, guard page,
 * threads) is dealt out in turn, with counts that have no common factor.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "judged_problem.h"
#include "tested_kernel.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define ALL (ATTN_OUTPUT_O | ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS)

static const struct {
    unsigned mask, options;
    ptrdiff_t left, right;
} masks[] = {
    {.mask = ATTN_MASK_NONE},
    {.mask = ATTN_MASK_CAUSAL},
    {.mask = ATTN_MASK_CAUSAL_TOP_LEFT},
    {.mask = ATTN_MASK_NONE, .options = ATTN_OPTION_WINDOW, .left = 20, .right = 5},
    {.mask = ATTN_MASK_CAUSAL, .options = ATTN_OPTION_WINDOW, .left = 33, .right = -1},
    {.mask = ATTN_MASK_CAUSAL_TOP_LEFT, .options = ATTN_OPTION_WINDOW, .left = 0, .right = 0},
};

/* Around the widths of vectors, tiles and blocks; the long ones in few pairs. */
static const size_t lengths[] = {1, 2, 15, 16, 17, 63, 64, 65, 127, 129};
static const struct {
    size_t q_len, kv_len;
} long_lengths[] = {{1, 1000},  {3, 1000},  {40, 1000}, {1000, 17},
                    {200, 333}, {255, 270}, {257, 512}};

static const size_t dims[] = {1, 3, 8, 40, 64, 80, 96, 128, 256};
static const struct {
    size_t batch, q_heads, kv_heads;
} heads[] = {{1, 1, 1}, {1, 2, 2}, {1, 2, 1}, {2, 1, 1}, {1, 3, 1}};
static const struct {
    size_t batch, q_heads, kv_heads;
} many_heads[] = {{2, 3, 3}, {1, 8, 8}, {2, 4, 2}, {1, 6, 2}, {1, 8, 1}, {3, 12, 4}, {1, 32, 8}};

static struct attn_problem masked(size_t m)
{
    struct attn_problem p;
    attn_problem_init(&p);
    p.mask = masks[m].mask;
    p.options = masks[m].options;
    if (p.options & ATTN_OPTION_WINDOW) {
        p.window_left = masks[m].left;
        p.window_right = masks[m].right;
    }
    p.outputs = ALL;
    return p;
}

/* Runs and compares; layout, padding, guard and threads are the turn's. */
static void try(struct attn_problem *p, size_t turn)
{
    const struct tensors_layout layout = {
        .guard = turn % 2 ? TENSORS_GUARD_FRONT : TENSORS_GUARD_BACK,
        .row_padding = turn % 3 == 1 ? 5 : 0,
    };
    p->layout = turn % 5 < 2 ? ATTN_BSHD : ATTN_BHSD;
    tested_type(p);
    struct judged_problem *t = judged_open(p, &layout);
    tested_compare(t, 1 + (int)(turn % 4));
    judged_close(t);
}

static void lengths_under_masks(void **state)
{
    (void)state;
    size_t turn = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t q = 0; q < COUNT(lengths); q++)
            for (size_t k = 0; k < COUNT(lengths); k++, turn++) {
                struct attn_problem p = masked(m);
                p.q_len = lengths[q];
                p.kv_len = lengths[k];
                p.qk_dim = dims[turn % (p.q_len * p.kv_len > 4000 ? 4 : 7)];
                p.v_dim = turn % 3 ? p.qk_dim : dims[turn % 4];
                p.batch = heads[turn % COUNT(heads)].batch;
                p.q_heads = heads[turn % COUNT(heads)].q_heads;
                p.kv_heads = heads[turn % COUNT(heads)].kv_heads;
                try(&p, turn);
            }
    tested_skip_unless_ran();
}

static void long_lengths_under_masks(void **state)
{
    (void)state;
    size_t turn = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t l = 0; l < COUNT(long_lengths); l++, turn++) {
            struct attn_problem p = masked(m);
            p.q_len = long_lengths[l].q_len;
            p.kv_len = long_lengths[l].kv_len;
            p.qk_dim = dims[turn % 5];
            p.v_dim = dims[turn % 4];
            try(&p, turn);
        }
    tested_skip_unless_ran();
}

/* Many keys for a few queries in heads of usual width, as in decoding. */
static void long_keys_of_wide_heads(void **state)
{
    (void)state;
    size_t turn = 0;
    for (size_t m = 0; m < 2; m++)
        for (size_t group = 1; group <= 8; group *= 2)
            for (size_t d = COUNT(dims) - 5; d < COUNT(dims); d++, turn++) {
                struct attn_problem p = masked(m);
                p.q_len = 1;
                p.kv_len = 1100;
                p.q_heads = group;
                p.qk_dim = dims[d];
                p.v_dim = turn % 3 ? p.qk_dim : dims[turn % 5];
                try(&p, turn);
            }
    tested_skip_unless_ran();
}

static void dimensions_under_masks(void **state)
{
    (void)state;
    size_t turn = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t d = 0; d < COUNT(dims); d++)
            for (size_t v = 0; v < COUNT(dims); v++, turn++) {
                struct attn_problem p = masked(m);
                p.q_len = 2 + turn % 7;
                p.kv_len = 5 + turn % 31;
                p.qk_dim = dims[d];
                p.v_dim = dims[v];
                try(&p, turn);
            }
    tested_skip_unless_ran();
}

static void heads_under_masks(void **state)
{
    (void)state;
    size_t turn = 0;
    for (size_t m = 0; m < COUNT(masks); m++)
        for (size_t h = 0; h < COUNT(many_heads); h++)
            for (size_t q = 0; q < 3; q++, turn++) {
                struct attn_problem p = masked(m);
                p.batch = many_heads[h].batch;
                p.q_heads = many_heads[h].q_heads;
                p.kv_heads = many_heads[h].kv_heads;
                p.q_len = (const size_t[]){1, 7, 34}[q];
                p.kv_len = 66;
                p.qk_dim = p.v_dim = 8 + turn % 9;
                try(&p, turn);
            }
    tested_skip_unless_ran();
}

/* 16-bit elements, for kernels that have them. */
static void sixteen_bits(void **state)
{
    (void)state;
    size_t turn = 0;
    for (enum attn_dtype type = ATTN_BF16; type <= ATTN_F16; type++)
        for (size_t m = 0; m < COUNT(masks); m++)
            for (size_t l = 0; l < COUNT(lengths); l++)
                for (size_t d = 0; d < COUNT(dims); d++, turn++) {
                    struct attn_problem p = masked(m);
                    p.dtype = p.kv_dtype = type;
                    p.q_len = lengths[(l + d) % COUNT(lengths)];
                    p.kv_len = lengths[l];
                    p.qk_dim = dims[d];
                    p.v_dim = turn % 3 ? p.qk_dim : dims[turn % 6];
                    if (tested->caps.dtypes & 1u << type)
                        try(&p, turn);
                }
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lengths_under_masks, tested_start),
        cmocka_unit_test_setup(long_lengths_under_masks, tested_start),
        cmocka_unit_test_setup(long_keys_of_wide_heads, tested_start),
        cmocka_unit_test_setup(dimensions_under_masks, tested_start),
        cmocka_unit_test_setup(heads_under_masks, tested_start),
        cmocka_unit_test_setup(sixteen_bits, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
