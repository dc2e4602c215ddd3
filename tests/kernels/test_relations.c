/*
 * Every variant on random problems of all masks, options, caches and types that it claims: each beside one
 * that asks for the same attention in another way, and beside the reference.  What no row may look at is NaN.
 * drawn_search.h says how to draw more.
 */
#include "testing.h"

#include "relations.h"
#include "tested.h"

#define DRAWS 50
#define F64_DRAWS 6      /* of f64 beside those: its reference takes long */
#define LIBRARY_DRAWS 20 /* of kernels whose library prepares for longer than it computes */
/* Of textbook kernels under the sanitizers in CI: check/registry draws problems for what they touch of memory. */
#define SANITIZED_DRAWS 15
#define SANITIZED_F64_DRAWS 1
#define MOST_RELATIONS 32

/* What the kernel lacks for problems with these masks and options alone; NULL where nothing. */
static const char *lacking_for(struct drawn_limits limits, unsigned masks, unsigned options)
{
    const char *why;
    limits.masks = limits.options = 0;
    limits.must_masks = masks;
    limits.must_options = options;
    struct attn_problem p = drawn_problem(&limits, 0);
    p.outputs = tested->caps.outputs & (ATTN_OUTPUT_O | ATTN_OUTPUT_LSE);
    return attn_supports(tested, &p, &why) ? NULL : why;
}

/* The same for either form of a relation's problems. */
static const char *lacking(const struct relation *relation, const struct drawn_limits *limits)
{
    if (limits->quantised && !limits->kv_dtypes)
        return "kv_dtype=i8";
    const char *why = lacking_for(*limits, limits->must_masks, limits->must_options);
    return why ? why : lacking_for(*limits, relation->form_masks, 0);
}

/* Pairs of these types, of which the kernel may have none; to how many it applied. */
static size_t hold(const struct drawn_property *property, struct drawn_limits limits,
                   unsigned dtypes, size_t count)
{
    const struct drawn_series series = {.limits = &limits, .count = count};
    limits.dtypes &= dtypes;
    return limits.dtypes ? drawn_hold(property, &series) : 0;
}

static void holds(void **state)
{
    const unsigned f64 = 1u << ATTN_F64;
    const struct drawn_property property = {.kernel = tested,
                                            .holds = relation_holds_judged,
                                            .context = *state,
                                            .test = "kernels/relations"};
    const struct drawn_limits limits = relation_limits(property.context, tested);
    const char *what = lacking(property.context, &limits);
    if (what) {
        print_message("%s has no %s\n", tested->name, what);
        skip();
    }
    const bool few = sanitized_in_ci() && !tested_is_fast();
    const size_t draws = few ? SANITIZED_DRAWS : tested->library ? LIBRARY_DRAWS : DRAWS;
    tested_ran = hold(&property, limits, ~f64, draws) +
                 hold(&property, limits, f64, few ? SANITIZED_F64_DRAWS : F64_DRAWS);
    print_message("%zu pairs of problems\n", tested_ran);
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[MOST_RELATIONS] = {{0}};
    size_t n = 0;
    for (; relation_at(n); n++) {
        assert_true(n < MOST_RELATIONS);
        tests[n] = (struct CMUnitTest){.name = relation_at(n)->name,
                                       .test_func = holds,
                                       .initial_state = (void *)(uintptr_t)relation_at(n)};
    }
    const int status = tested_choose(argc, argv);
    return status ? status : _cmocka_run_group_tests("relations", tests, n, NULL, NULL);
}
