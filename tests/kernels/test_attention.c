/*
 * Which problems are valid, the mask rule, useful work and the default scale.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "attention.h"

static struct attn_problem problem(void)
{
    struct attn_problem p;
    attn_problem_init(&p);
    return p;
}

static void assert_invalid(const struct attn_problem *p, const char *expected)
{
    const char *why = NULL;
    assert_false(attn_problem_valid(p, &why));
    assert_non_null(why);
    if (!strstr(why, expected))
        fail_msg("'%s' does not say '%s'", why, expected);
    assert_false(attn_supports(attn_find("naive", ATTN_ISA_BASELINE), p, &why));
}

static void bad_problems_are_refused(void **state)
{
    (void)state;
    const char *why;
    struct attn_problem p = problem();
    assert_true(attn_problem_valid(&p, &why));
    size_t *const lengths[] = {&p.batch,  &p.q_heads, &p.kv_heads, &p.q_len,
                               &p.kv_len, &p.qk_dim,  &p.v_dim};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        *lengths[i] = 0;
        assert_invalid(&p, "zero");
        *lengths[i] = 1;
    }
    p = problem(), p.size--;
    assert_invalid(&p, "size");
    p = problem(), p.q_heads = 3, p.kv_heads = 2;
    assert_invalid(&p, "multiple");
    p = problem(), p.mask = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    assert_invalid(&p, "causal");
    p = problem(), p.mask = ATTN_MASK_TREE | ATTN_MASK_CAUSAL;
    assert_invalid(&p, "a tree and a causal mask: the tree says which drafts a query sees");
    p = problem(), p.mask = ATTN_MASK_TREE | ATTN_MASK_BIAS | ATTN_MASK_BOOL;
    assert_true(attn_problem_valid(&p, &why));
    p.options = ATTN_OPTION_ALIBI;
    assert_invalid(&p, "a tree with a window or ALiBi, which count keys");
    p.options = ATTN_OPTION_WINDOW;
    assert_invalid(&p, "a tree with a window or ALiBi, which count keys");
    p = problem(), p.options = ATTN_OPTION_INDEX;
    assert_invalid(&p, "index_count or index_block is zero");
    p.index_count = 1;
    assert_invalid(&p, "index_count or index_block is zero");
    p.index_block = 1;
    assert_true(attn_problem_valid(&p, &why));
    p.options = 0;
    assert_invalid(&p, "an index_count or index_block without ATTN_OPTION_INDEX");
    p.index_count = p.index_block = 0;
    p.options = ATTN_OPTION_ZERO_POINTS;
    assert_invalid(&p, "zero points without K and V of i4");
    p = problem(), p.scale = NAN;
    assert_invalid(&p, "finite");
    p = problem(), p.options = ATTN_OPTION_SOFTCAP;
    assert_invalid(&p, "softcap");
    p = problem(), p.options = ATTN_OPTION_PAGED;
    assert_invalid(&p, "page_size");
    p = problem(), p.options = ATTN_OPTION_SHARED_KV, p.v_dim = 2;
    assert_invalid(&p, "shared K and V");
    p = problem(), p.options = ATTN_OPTION_PAGED, p.page_size = SIZE_MAX / 2;
    assert_invalid(&p, "address space");
    p = problem(), p.outputs = 0;
    assert_invalid(&p, "output");
    p = problem(), p.q_len = SIZE_MAX / 2, p.batch = 3;
    assert_invalid(&p, "address space");
    p = problem(), p.q_len = p.kv_len = (size_t)1 << 31;
    assert_true(attn_problem_valid(&p, &why));
    p.outputs = ATTN_OUTPUT_WEIGHTS;
    assert_invalid(&p, "address space");
    p.outputs = ATTN_OUTPUT_SCORES;
    assert_invalid(&p, "address space");
}

/* What no enumeration has, and values whose option is off, which nobody would look at. */
static void what_has_no_meaning_is_refused(void **state)
{
    (void)state;
    struct attn_problem p = problem();
    p.dtype = (enum attn_dtype)99;
    assert_invalid(&p, "unknown data type");
    p = problem(), p.kv_dtype = (enum attn_dtype) - 1;
    assert_invalid(&p, "unknown data type");
    p = problem(), p.pass = (enum attn_pass)2;
    assert_invalid(&p, "unknown pass");
    p = problem(), p.layout = (enum attn_layout)2;
    assert_invalid(&p, "unknown layout");
    p = problem(), p.mask = 1u << 5;
    assert_invalid(&p, "unknown mask");
    p = problem(), p.options = 1u << 10;
    assert_invalid(&p, "unknown option");
    p = problem(), p.outputs = 1u << 7;
    assert_invalid(&p, "unknown output");
    p = problem(), p.softcap = 30;
    assert_invalid(&p, "softcap without");
    p = problem(), p.window_left = 5;
    assert_invalid(&p, "window without");
    p = problem(), p.window_right = 0;
    assert_invalid(&p, "window without");
    p = problem(), p.page_size = 16;
    assert_invalid(&p, "page_size without");
    p = problem(), p.options = ATTN_OPTION_WINDOW, p.window_left = -2;
    assert_invalid(&p, "less than -1");
}

/* The rule of attention.h in its own words, key by key. */
static bool sees(const struct attn_problem *p, ptrdiff_t i, ptrdiff_t j)
{
    const ptrdiff_t shift = (ptrdiff_t)p->kv_len - (ptrdiff_t)p->q_len;
    const bool top_left = p->mask & ATTN_MASK_CAUSAL_TOP_LEFT;
    const ptrdiff_t at = top_left ? i : i + shift;
    if (p->mask && j > at)
        return false;
    if (!(p->options & ATTN_OPTION_WINDOW))
        return true;
    return !(p->window_left >= 0 && j < at - p->window_left) &&
           !(p->window_right >= 0 && j > at + p->window_right);
}

static void rows_see_what_the_rule_says(void **state)
{
    (void)state;
    static const ptrdiff_t windows[][2] = {{-1, -1}, {0, 0}, {3, -1}, {-1, 2}, {2, 1}, {50, 50}};
    static const size_t lengths[] = {1, 2, 5, 9};
    struct attn_problem p = problem();
    for (p.mask = 0; p.mask <= ATTN_MASK_CAUSAL_TOP_LEFT; p.mask++)
        for (size_t w = 0; w < COUNT(windows); w++)
            for (size_t s = 0; s < COUNT(lengths) * COUNT(lengths); s++) {
                p.options = w ? ATTN_OPTION_WINDOW : 0;
                p.window_left = windows[w][0];
                p.window_right = windows[w][1];
                p.q_len = lengths[s / COUNT(lengths)];
                p.kv_len = lengths[s % COUNT(lengths)];
                double pairs = 0;
                for (ptrdiff_t i = 0; i < (ptrdiff_t)p.q_len; i++) {
                    const struct attn_range r = attn_visible(&p, i);
                    for (ptrdiff_t j = 0; j < (ptrdiff_t)p.kv_len; j++) {
                        assert_int_equal(j >= r.lo && j < r.hi, sees(&p, i, j));
                        pairs += sees(&p, i, j);
                    }
                }
                assert_true(attn_visible_pairs(&p) == pairs);
            }
}

static void work_counts_visible_pairs_and_each_byte_once(void **state)
{
    (void)state;
    struct attn_problem p = problem();
    p.batch = 2, p.q_heads = 6, p.kv_heads = 3, p.q_len = 4, p.kv_len = 7, p.qk_dim = 8,
    p.v_dim = 5;
    /* 2 * 6 heads * 28 pairs * 2 * 13 */
    assert_true(attn_useful_flops(&p) == 2 * 6 * 28 * 2 * 13);
    /* Q and O: 48 rows * 13; K and V: 2 * 3 * 7 rows * 13; 4 bytes */
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 4);
    p.outputs |= ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS;
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 4 + 48 * 4 + 48 * 7 * 4);
    p.outputs |= ATTN_OUTPUT_SCORES;
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 4 + 48 * 4 + 2 * 48 * 7 * 4);
    p.outputs = ATTN_OUTPUT_O;
    p.dtype = p.kv_dtype = ATTN_BF16;
    assert_true(attn_compulsory_bytes(&p) == (48 + 42) * 13 * 2);
    /* queries 0..3 see 4 + 5 + 6 + 7 keys; 7 of 7 keys are read.  By window 0:0, the last 4. */
    p.mask = ATTN_MASK_CAUSAL;
    assert_true(attn_useful_flops(&p) == 2 * 6 * 22 * 2 * 13);
    p.options = ATTN_OPTION_WINDOW, p.window_left = p.window_right = 0;
    assert_true(attn_useful_flops(&p) == 2 * 6 * 4 * 2 * 13);
    assert_true(attn_compulsory_bytes(&p) == (48 + 24) * 13 * 2);
}

static void the_scale_is_one_over_root_d_unless_given(void **state)
{
    (void)state;
    struct attn_problem p = problem();
    p.qk_dim = 64;
    assert_true(attn_problem_scale(&p) == 0.125f);
    p.scale = -3;
    assert_true(attn_problem_scale(&p) == -3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_problems_are_refused),
        cmocka_unit_test(what_has_no_meaning_is_refused),
        cmocka_unit_test(rows_see_what_the_rule_says),
        cmocka_unit_test(work_counts_visible_pairs_and_each_byte_once),
        cmocka_unit_test(the_scale_is_one_over_root_d_unless_given),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
