/*
 * select and catalogue: which variants a list of names means.
 */
#include "testing.h"

#include <string.h>

#include "blas.h"
#include "problem/select.h"

/* Kernels that exist nowhere else: one for every host, one for none, one that refuses, and one whose
 * strongest variant is of another data type. */
static bool refuses(const struct attn_problem *problem, const char **why)
{
    (void)problem;
    *why = "not today";
    return false;
}

#define VARIANT(n, i, s)                                                                      \
    {                                                                                         \
        .size = sizeof(struct attn_kernel), .name = n, .summary = "", .source = "", .isa = i, \
        .caps = {.size = sizeof(struct attn_caps),                                            \
                 .dtypes = 1u << ATTN_F32,                                                    \
                 .outputs = ATTN_OUTPUT_O,                                                    \
                 .forward = true},                                                            \
        .supports = s                                                                         \
    }

/* An instruction set of another architecture. */
#if defined __aarch64__
#define FOREIGN_ISA ATTN_ISA_AVX2
#define FOREIGN "avx2"
#else
#define FOREIGN_ISA ATTN_ISA_NEON
#define FOREIGN "neon"
#endif

static const struct attn_kernel everywhere = VARIANT("everywhere", ATTN_ISA_BASELINE, NULL);
static const struct attn_kernel everywhere_foreign = VARIANT("everywhere", FOREIGN_ISA, NULL);
static const struct attn_kernel nowhere = VARIANT("nowhere", FOREIGN_ISA, NULL);
static const struct attn_kernel picky = VARIANT("picky", ATTN_ISA_BASELINE, refuses);
static const struct attn_kernel typed = VARIANT("typed", ATTN_ISA_BASELINE, NULL);
static const struct attn_kernel typed_bf16 = {
    .size = sizeof(struct attn_kernel),
    .name = "typed",
    .isa = ATTN_ISA_AVX2,
    .caps.size = sizeof(struct attn_caps),
    .caps.dtypes = 1u << ATTN_BF16,
    .caps.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,
    .caps.forward = true,
};
static const struct attn_kernel both = VARIANT("both", ATTN_ISA_AVX512, NULL);
static const struct attn_kernel both_bf16 = VARIANT("both", ATTN_ISA_AVX512_BF16, NULL);
static const struct attn_kernel *const added[] = {
    &everywhere, &everywhere_foreign, &nowhere, &picky, &typed, &typed_bf16, &both, &both_bf16};

static struct selected selected[SELECT_MAX];
static size_t count;
static char message[512];

TEST(selects_names_and_variants_once)
{
    assert_true(select_kernels("picky,naive,everywhere/" FOREIGN ",naive", selected, &count,
                               MESSAGE(message)));
    assert_int_equal(count, 3);
    assert_string_equal(selected[0].name, "picky");
    assert_string_equal(selected[1].name, "naive");
    assert_false(selected[1].variant);
    assert_string_equal(selected[2].name, "everywhere");
    assert_true(selected[2].variant);
    assert_int_equal(selected[2].isa, FOREIGN_ISA);
}

/* Which variant that is depends on the problem and the threads. */
TEST(best_stays_best)
{
    assert_true(select_kernels("best,naive,best", selected, &count, MESSAGE(message)));
    assert_int_equal(count, 2);
    assert_string_equal(selected[0].name, SELECT_BEST);
    assert_false(catalogue_in_group("naive", SELECT_BEST));
    assert_false(select_kernels("best/avx2", selected, &count, MESSAGE(message)));
}

TEST(groups_are_disjoint_and_cover_all)
{
    size_t sum = 0;
    static const char *const groups[] = {"textbook", "ours", "rivals"};
    for (size_t g = 0; g < 3; g++)
        sum += select_kernels(groups[g], selected, &count, MESSAGE(message)) ? count : 0;
    /* those that load a library come when they are named */
    static const char *const loading[] = {"gemm_blis", "gemm_mkl", "onednn", "onednn_graph"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(catalogue_group_of(loading[i]), "rivals");
        sum -= select_kernels(loading[i], selected, &count, MESSAGE(message)) ? count : 0;
    }
    assert_true(select_kernels(NULL, selected, &count, MESSAGE(message)));
    assert_int_equal(sum, count);
    assert_true(select_kernels("all", selected, &count, MESSAGE(message)));
    assert_int_equal(sum, count);
    assert_string_equal(catalogue_group_of("naive"), "textbook");
    assert_string_equal(catalogue_group_of("gemm"), "rivals");
    assert_string_equal(catalogue_group_of("picky"), "ours");
}

/* The names that --blas LIST makes of a --kernel list, joined by commas; NULL where it is refused. */
static const char *with_blas(const char *kernels, const char *list)
{
    static char names[256];
    assert_true(select_kernels(kernels, selected, &count, MESSAGE(message)));
    if (!select_blas(list, selected, &count, MESSAGE(message)))
        return NULL;
    *names = 0;
    for (size_t k = 0; k < count; k++) {
        strcat(strcat(names, k ? "," : ""), selected[k].name);
        strcat(names, selected[k].variant ? attn_isa_name(selected[k].isa) : "");
    }
    return names;
}

TEST(libraries_replace_gemm)
{
    if (!catalogue_named("gemm_mkl")) {
        assert_null(with_blas("gemm", "openblas,mkl"));
        assert_string_equal(message, "--blas: kernel gemm_mkl is not built for this processor");
        return;
    }
    assert_string_equal(with_blas("naive,gemm,picky", "mkl,blis"),
                        "naive,gemm_blis,gemm_mkl,picky");
    assert_string_equal(with_blas("gemm/avx2", "mkl"), "gemm_mklavx2");
    assert_string_equal(with_blas("gemm,gemm_blis", "blis"), "gemm_blis");
    assert_string_equal(with_blas("gemm,naive", NULL), "gemm,naive");
    const bool openblas = strncmp(attn_blas_description(), "OpenBLAS ", 9) == 0;
    const char *names = with_blas("gemm", "openblas,mkl");
    if (openblas) {
        assert_string_equal(names, "gemm,gemm_mkl");
    } else {
        assert_null(names);
        assert_non_null(strstr(message, "not with OpenBLAS"));
    }
    assert_null(with_blas("gemm", "blas"));
    assert_non_null(strstr(message, "no CBLAS library 'blas'; did you mean"));
    assert_null(with_blas("gemm", "mkl,,blis"));
    assert_memory_equal(message, "no CBLAS library ''", 19);
    assert_null(with_blas("naive,gemm_mkl", "mkl"));
    assert_string_equal(message,
                        "--blas chooses libraries for kernel gemm, which is not among the kernels");
}

TEST(unknown_names_are_answered)
{
    assert_false(select_kernels("navie", selected, &count, MESSAGE(message)));
    assert_string_equal(message, "no kernel or group 'navie'; did you mean 'naive'?");
    assert_false(select_kernels("naive/avx9", selected, &count, MESSAGE(message)));
    assert_string_equal(message, "kernel naive has no variant 'naive/avx9'");
    assert_false(select_kernels("zzzzzzzz", selected, &count, MESSAGE(message)));
    assert_memory_equal(message, "no kernel or group 'zzzzzzzz'; there are naive, ", 48);
    unsigned isas;
    assert_false(select_isas("avx22", &isas, MESSAGE(message)));
    assert_string_equal(message, "no instruction set 'avx22'; did you mean 'avx2'?");
}

TEST(isas_are_sets)
{
    unsigned isas = 99;
    assert_true(select_isas(NULL, &isas, MESSAGE(message)) && isas == 0);
    assert_true(select_isas("best", &isas, MESSAGE(message)) && isas == 0);
    assert_true(select_isas("avx2,baseline", &isas, MESSAGE(message)));
    assert_int_equal(isas, 1u << ATTN_ISA_AVX2 | 1u << ATTN_ISA_BASELINE);
}

static unsigned variants(const char *name, const char *isa)
{
    struct attn_problem problem;
    unsigned isas;
    attn_problem_init(&problem);
    assert_true(select_kernels(name, selected, &count, MESSAGE(message)));
    assert_true(select_isas(isa, &isas, MESSAGE(message)));
    return select_variants(&selected[0], isas, &problem);
}

TEST(best_is_what_this_host_can_run)
{
    assert_int_equal(variants("everywhere", NULL), 1u << ATTN_ISA_BASELINE);
    assert_int_equal(variants("nowhere", NULL), 1u << FOREIGN_ISA);
    assert_int_equal(variants("picky", NULL), 1u << ATTN_ISA_BASELINE);
    assert_int_equal(variants("everywhere", "all"), 1u << ATTN_ISA_BASELINE | 1u << FOREIGN_ISA);
    assert_int_equal(variants("everywhere", "avx512"), 1u << ATTN_ISA_AVX512);
    assert_int_equal(variants("everywhere/" FOREIGN, "avx512"), 1u << FOREIGN_ISA);
    /* ours have that one under the name of this architecture */
    const unsigned least = 1u << attn_find("naive", ATTN_ISA_BASELINE)->isa;
    assert_int_equal(variants("naive", "baseline"), least);
    assert_int_equal(variants("naive/baseline", "avx2"), least);
    assert_int_equal(variants("naive", "avx2,baseline"), least | 1u << ATTN_ISA_AVX2);
}

TEST(best_is_what_this_host_prefers)
{
    const enum attn_isa *first = attn_isa_preference();
    while (*first != ATTN_ISA_AVX512 && *first != ATTN_ISA_AVX512_BF16)
        first++;
    if (attn_isa_available(ATTN_ISA_AVX512) && !attn_isa_available(ATTN_ISA_AVX512_BF16))
        assert_int_equal(variants("both", NULL), 1u << ATTN_ISA_AVX512);
    else
        assert_int_equal(variants("both", NULL), 1u << *first); /* also where there is neither */
}

/* The refusal of `typed` in f32, whichever variant was chosen. */
static void assert_refusal(const struct attn_kernel *kernel, struct attn_problem problem,
                           const char *expected)
{
    const bool refused = select_refusal(kernel, &problem, MESSAGE(message));
    assert_int_equal(refused, expected != NULL);
    if (expected)
        assert_string_equal(message, expected);
}

TEST(refusals_are_of_the_data_type)
{
    struct attn_problem problem;
    attn_problem_init(&problem);
    assert_true(select_kernels("typed", selected, &count, MESSAGE(message)));
    assert_refusal(&typed, problem, NULL);
    assert_refusal(&typed_bf16, problem, "another variant takes dtype=f32");
    problem.mask = ATTN_MASK_BIAS;
    assert_int_equal(select_variants(&selected[0], 0, &problem), 1u << ATTN_ISA_BASELINE);
    assert_refusal(&typed, problem, "no variant of it takes mask=bias");
    assert_refusal(&typed_bf16, problem, "no variant of it takes mask=bias");
    problem.mask = ATTN_MASK_NONE;
    problem.outputs = ATTN_OUTPUT_LSE;
    assert_int_equal(select_variants(&selected[0], 0, &problem), 1u << ATTN_ISA_BASELINE);
    assert_refusal(&typed, problem, "no variant of it takes outputs=lse with dtype=f32");
    problem.outputs = ATTN_OUTPUT_O;
    problem.dtype = problem.kv_dtype = ATTN_F16;
    assert_refusal(&typed, problem, "no variant of it takes dtype=f16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(selects_names_and_variants_once),
        cmocka_unit_test(best_stays_best),
        cmocka_unit_test(groups_are_disjoint_and_cover_all),
        cmocka_unit_test(libraries_replace_gemm),
        cmocka_unit_test(unknown_names_are_answered),
        cmocka_unit_test(isas_are_sets),
        cmocka_unit_test(best_is_what_this_host_can_run),
        cmocka_unit_test(best_is_what_this_host_prefers),
        cmocka_unit_test(refusals_are_of_the_data_type),
    };
    catalogue_add(NULL, added, sizeof added / sizeof *added);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
