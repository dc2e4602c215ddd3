/*
 * Trees of drafts: the reference by hand, and the rules of attention.h against each other.
 */
#include "testing.h"

#include <string.h>

#include "judged_row.h"

/* A cache of one key and the drafts 0 (1 (3)) 2 4, of equal scores: O is the mean of what a row sees, whose
 * values are 1, 2, 4, 8... */
static void a_tree_shows_the_cache_and_ancestors(void **state)
{
    (void)state;
    static const int32_t parents[] = {-1, 0, 0, 1, -1};
    static const double seen[][2] = {
        {1 + 2, 2}, {1 + 2 + 4, 3}, {1 + 2 + 8, 3}, {1 + 2 + 4 + 16, 4}, {1 + 32, 2}};
    struct judged *t = open_judged("sq=5,skv=6,d=1,mask=tree");
    memcpy(t->set.tensors.parents.data, parents, sizeof parents);
    for (size_t j = 0; j < 6; j++) {
        tensors_set(&t->set.tensors.k, 0, 0, j, 0, 0);
        tensors_set(&t->set.tensors.v, 0, 0, j, 0, (double)(1u << j));
    }
    for (size_t i = 0; i < 5; i++) {
        judge(t, 0, 0, i);
        assert_near(t->o[0], seen[i][0] / seen[i][1], 1e-12);
        assert_near(t->row.lse, log(seen[i][1]), 1e-12);
        assert_true((t->weights[2] > 0) == (i == 1 || i == 3));
    }
    tensors_set(&t->set.tensors.v, 0, 0, 2, 0,
                NAN); /* of draft 1: 3 sees it, its sibling 2 does not */
    judge(t, 0, 0, 3);
    assert_true(isnan(t->o[0]));
    judge(t, 0, 0, 2);
    assert_near(t->o[0], 11.0 / 3, 1e-12);
    close_judged(t);
}

/* Of three drafts two have a key. */
static void drafts_before_the_first_key_have_none(void **state)
{
    (void)state;
    struct judged *t = open_judged("sq=3,skv=2,d=1,outputs=o+lse,mask=tree");
    memcpy(t->set.tensors.parents.data, (const int32_t[]){-1, 0, 0}, 3 * sizeof(int32_t));
    for (size_t j = 0; j < 2; j++)
        tensors_set(&t->set.tensors.v, 0, 0, j, 0, (double)(1u << j));
    judge(t, 0, 0, 0);
    assert_true(t->o[0] == 0 && t->row.lse == -INFINITY && t->weights[1] == 0);
    judge(t, 0, 0, 2);
    assert_near(t->o[0], 2, 1e-12);
    close_judged(t);
}

/* The rule for a key, and for some keys at once. */
static void keys_are_hidden_together_as_one_by_one(void **state)
{
    (void)state;
    static const int32_t parents[] = {-1, 0, 0, 1, -1, 3, 5, 2, 4, 6};
    enum { DRAFTS = sizeof parents / sizeof *parents };
    for (ptrdiff_t first = -3; first < 5; first++)
        for (ptrdiff_t i = 0; i < DRAFTS; i++)
            for (ptrdiff_t j = 0; j < first + DRAFTS; j++)
                for (ptrdiff_t n = 0; j + n <= first + DRAFTS; n++) {
                    const struct attn_tree tree = {parents, first};
                    uint8_t shown[5 + DRAFTS + 1];
                    memset(shown, 1, sizeof shown);
                    attn_tree_hide(&tree, i, j, n, shown);
                    for (ptrdiff_t k = 0; k < n; k++)
                        assert_int_equal(shown[k], attn_tree_sees(&tree, i, j + k));
                    assert_int_equal(shown[n], 1);
                }
}

/* A chain is mask=causal, bit by bit. */
static void a_chain_is_causal(void **state)
{
    (void)state;
    struct judged *tree = open_judged("b=2,hq=4,hkv=2,sq=7,skv=12,d=5,mask=tree");
    struct judged *causal = open_judged("b=2,hq=4,hkv=2,sq=7,skv=12,d=5,mask=causal");
    int32_t *parents = tree->set.tensors.parents.data;
    for (int32_t i = 0; i < 2 * 7; i++)
        parents[i] = i % 7 - 1;
    for (size_t i = 0; i < 7; i++) {
        judge(tree, 1, 3, i);
        judge(causal, 1, 3, i);
        assert_memory_equal(tree->o, causal->o, 5 * sizeof *tree->o);
        assert_memory_equal(tree->bound, causal->bound, 5 * sizeof *tree->bound);
        assert_memory_equal(tree->weights, causal->weights, 12 * sizeof *tree->weights);
        assert_true(tree->row.lse == causal->row.lse);
    }
    close_judged(tree);
    close_judged(causal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tree_shows_the_cache_and_ancestors),
        cmocka_unit_test(drafts_before_the_first_key_have_none),
        cmocka_unit_test(keys_are_hidden_together_as_one_by_one),
        cmocka_unit_test(a_chain_is_causal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
