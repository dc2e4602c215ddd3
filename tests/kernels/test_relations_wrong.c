/*
 * Relations between problems must fail where a kernel does one of the two wrong, and hold where it does
 * neither.
 */
#include "testing.h"

#include <string.h>

#include "problem/parse.h"
#include "relations.h"

#define DRAWS 60 /* to catch one */
#define HONEST_DRAWS 20

/* A relation, and a kernel that it must catch. */
#define CATCHES(X)                                                 \
    X("a window is a boolean mask", window_left_off_by_one)        \
    X("a window is a boolean mask", window_right_off_by_one)       \
    X("causal is a boolean mask", mask_or_causal)                  \
    X("causal_top_left is a boolean mask", packed_top_left_of_all) \
    X("a tree is a boolean mask", tree_as_chain)                   \
    X("lists are a boolean mask", list_of_the_first_query)         \
    X("a window is a bias", window_right_off_by_one)               \
    X("causal is a bias", mask_or_causal)                          \
    X("causal_top_left is a bias", packed_top_left_of_all)         \
    X("a boolean mask is a bias", mask_transposed)                 \
    X("a boolean mask is a bias", mask_of_the_first_head)          \
    X("a boolean mask is a bias", mask_of_the_first_row)           \
    X("a boolean mask is a bias", mask_inverted_in_tail)           \
    X("a boolean mask is a bias", mask_taken_for_dense)            \
    X("a boolean mask is a bias", mask_added)                      \
    X("a boolean mask is a bias", softcap_after_mask)              \
    X("slopes are a bias", alibi_without_offset)                   \
    X("slopes are a bias", bias_before_scale)                      \
    X("slopes are a bias", bias_before_softcap)                    \
    X("a sink is a key of value 0", sink_left_out_of_lse)          \
    X("a sink is a key of value 0", sink_scaled)                   \
    X("a sink is a key of value 0", bias_before_scale)             \
    X("a high softcap is none", softcap_divides_only)              \
    X("a high softcap is none", computes_in_f32)                   \
    X("a batch is its sequences", table_of_the_first_sequence)     \
    X("a ragged batch is its sequences", length_of_the_neighbour)  \
    X("packed sequences are sequences", packed_reads_on)           \
    X("packed sequences are sequences", packed_top_left_of_all)    \
    X("a chunk of causal is its rows", mask_of_the_first_row)      \
    X("pages are contiguous keys", last_page_read_whole)           \
    X("pages are contiguous keys", page_of_the_first_head)         \
    X("pages are contiguous keys", table_of_the_first_sequence)    \
    X("shared K and V are two tensors", values_from_the_tail)      \
    X("int8 is floats", k_scale_of_the_next_token)                 \
    X("int8 is floats", v_scale_missing)                           \
    X("int8 is floats", int8_taken_for_unsigned)

#define DECLARE(name, kernel) extern const struct attn_kernel wrong_##kernel;
CATCHES(DECLARE)
#undef DECLARE
extern const struct attn_kernel wrong_honest, wrong_honest_f64;

static const struct {
    const char *relation;
    const struct attn_kernel *kernel;
} catches[] = {
#define ROW(name, kernel) {name, &wrong_##kernel},
    CATCHES(ROW)
#undef ROW
};

static bool fails(const struct relation *relation, const struct attn_kernel *kernel, size_t draws,
                  struct problem_case *failing, size_t *applied)
{
    const struct drawn_property property = {
        .kernel = kernel, .holds = relation_holds, .context = relation};
    const struct drawn_limits limits = relation_limits(relation, kernel);
    const struct drawn_series series = {.limits = &limits, .count = draws};
    return drawn_find(&property, &series, failing, applied);
}

static void wrong_kernels_are_caught(void **state)
{
    (void)state;
    size_t missed = 0, applied;
    for (size_t n = 0; n < sizeof catches / sizeof *catches; n++) {
        const struct relation *relation = relation_named(catches[n].relation);
        const struct attn_kernel *kernel = catches[n].kernel;
        struct problem_case failing;
        assert_non_null(relation);
        if (fails(relation, kernel, DRAWS, &failing, &applied)) {
            print_message("%s: %s, by problem %llu\n", kernel->name, relation->name,
                          (unsigned long long)failing.input.seed);
            continue;
        }
        print_error("%s: not caught by: %s\n", kernel->name, relation->name);
        missed++;
    }
    assert_int_equal(missed, 0);
}

static bool proven(const struct relation *relation)
{
    for (size_t n = 0; n < sizeof catches / sizeof *catches; n++)
        if (strcmp(catches[n].relation, relation->name) == 0)
            return true;
    return false;
}

static void honest_kernels_are_not(void **state)
{
    static const struct attn_kernel *const kernels[] = {&wrong_honest, &wrong_honest_f64};
    (void)state;
    for (size_t n = 0; relation_at(n / 2); n++) {
        const struct relation *relation = relation_at(n / 2);
        const struct attn_kernel *kernel = kernels[n % 2];
        struct problem_case failing;
        size_t applied;
        if (fails(relation, kernel, HONEST_DRAWS, &failing, &applied))
            fail_msg("%s: %s: not of problem %llu", kernel->name, relation->name,
                     (unsigned long long)failing.input.seed);
        if (!proven(relation))
            fail_msg("%s: catches no kernel", relation->name);
        print_message("%s: %s: %zu pairs\n", kernel->name, relation->name, applied);
        assert_in_range(applied, HONEST_DRAWS / 2, HONEST_DRAWS);
    }
}

/* What is found is made simpler as any other failure. */
static void pairs_are_made_simpler(void **state)
{
    (void)state;
    const struct relation *relation = relation_named("a sink is a key of value 0");
    const struct drawn_property property = {
        .kernel = &wrong_sink_scaled, .holds = relation_holds, .context = relation};
    struct problem_case failing;
    size_t applied;
    assert_true(fails(relation, property.kernel, DRAWS, &failing, &applied));
    failing = drawn_simplest(&property, &failing);
    char text[PARSE_TEXT];
    parse_print_problem(&failing.problem, text);
    print_message("%s\n", text);
    assert_int_equal(failing.problem.options, ATTN_OPTION_SINKS);
    assert_int_equal(failing.problem.mask, 0);
    assert_int_equal(failing.problem.q_heads * failing.problem.q_len * failing.problem.kv_len, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_are_caught),
        cmocka_unit_test(honest_kernels_are_not),
        cmocka_unit_test(pairs_are_made_simpler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
