/*
 * Useful work: visible pairs, flops and compulsory bytes are what counting key by key gives.
 */
#include "testing.h"

#include <math.h>

#include "problem/parse.h"
#include "base/random.h"

#define PROBLEMS 20000

static uint64_t drawn;

static size_t below(size_t n)
{
    return random_below(7, drawn++, n);
}

static void random_problem(struct attn_problem *p)
{
    static const unsigned masks[] = {ATTN_MASK_NONE, ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL_TOP_LEFT};
    attn_problem_init(p);
    p->batch = 1 + below(2);
    p->kv_heads = 1 + below(2);
    p->q_heads = p->kv_heads * (1 + below(2));
    p->q_len = 1 + below(12);
    p->kv_len = 1 + below(12);
    p->qk_dim = 1 + below(5);
    p->v_dim = 1 + below(5);
    p->mask = masks[below(3)];
    if (below(2)) {
        p->options = ATTN_OPTION_WINDOW;
        p->window_left = (ptrdiff_t)below(16) - 1;
        p->window_right = (ptrdiff_t)below(16) - 1;
    }
}

static void pairs_and_bytes_are_what_counting_gives(void **state)
{
    (void)state;
    for (int n = 0; n < PROBLEMS; n++) {
        struct attn_problem p;
        double pairs = 0, keys = 0;
        bool seen[16] = {false};
        char text[PARSE_TEXT];
        random_problem(&p);
        parse_print_problem(&p, text);
        for (size_t i = 0; i < p.q_len; i++)
            for (ptrdiff_t j = 0; j < (ptrdiff_t)p.kv_len; j++) {
                const struct attn_range r = attn_visible(&p, (ptrdiff_t)i);
                pairs += j >= r.lo && j < r.hi;
                seen[j] |= j >= r.lo && j < r.hi;
            }
        for (size_t j = 0; j < p.kv_len; j++)
            keys += seen[j];
        const double heads = (double)(p.batch * p.q_heads);
        const double dims = (double)(p.qk_dim + p.v_dim);
        if (attn_visible_pairs(&p) != pairs * heads)
            fail_msg("%s: %g pairs, not %g", text, attn_visible_pairs(&p), pairs * heads);
        assert_true(attn_useful_flops(&p) == 2 * pairs * heads * dims);
        const double bytes =
            4 * dims * (heads * (double)p.q_len + (double)(p.batch * p.kv_heads) * keys);
        if (attn_compulsory_bytes(&p) != bytes)
            fail_msg("%s: %g bytes, not %g", text, attn_compulsory_bytes(&p), bytes);
    }
}

/* Where counting would take years. */
static void lengths_cost_nothing(void **state)
{
    (void)state;
    struct attn_problem p;
    attn_problem_init(&p);
    p.q_len = (size_t)1 << 50;
    p.kv_len = (size_t)1 << 51;
    assert_true(attn_visible_pairs(&p) == 0x1p101);
    p.mask = ATTN_MASK_CAUSAL;
    assert_true(fabs(attn_visible_pairs(&p) / 0x1.8p100 - 1) < 1e-12);
    p.options = ATTN_OPTION_WINDOW;
    p.window_left = 3;
    assert_true(attn_compulsory_bytes(&p) == 4 * (0x1p51 + 2 * (0x1p50 + 3)));
}

static void windows_too_wide_to_add_are_refused(void **state)
{
    (void)state;
    struct attn_problem p;
    const char *why;
    attn_problem_init(&p);
    p.options = ATTN_OPTION_WINDOW;
    p.window_left = PTRDIFF_MAX / 2;
    assert_true(attn_problem_valid(&p, &why));
    p.window_right = PTRDIFF_MAX / 2 + 1;
    assert_false(attn_problem_valid(&p, &why));
    assert_string_equal(why, "a window is too wide to be added to a position");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_and_bytes_are_what_counting_gives),
        cmocka_unit_test(lengths_cost_nothing),
        cmocka_unit_test(windows_too_wide_to_add_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
