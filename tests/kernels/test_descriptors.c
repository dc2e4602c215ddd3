/*
 * What every descriptor must say, the names of types and instruction sets, and gemm's library.
 */
#include "testing.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "attention.h"
#include "blas.h"
#include "isa.h"

static void names_round_trip(void **state)
{
    (void)state;
    static const size_t sizes[ATTN_DTYPE_COUNT] = {
        [ATTN_F32] = 4,    [ATTN_BF16] = 2, [ATTN_F16] = 2,  [ATTN_F64] = 8,
        [ATTN_I8] = 1,     [ATTN_I32] = 4,  [ATTN_BOOL] = 1, [ATTN_F8E4M3] = 1,
        [ATTN_F8E5M2] = 1, [ATTN_I4] = 0 /* two share a byte */};
    enum attn_dtype dtype;
    enum attn_isa isa;
    for (int i = 0; i < ATTN_DTYPE_COUNT; i++) {
        assert_true(attn_dtype_parse(attn_dtype_name((enum attn_dtype)i), &dtype));
        assert_int_equal(dtype, i);
        assert_int_equal(attn_dtype_size(dtype), sizes[i]);
    }
    for (int i = 0; i < ATTN_ISA_COUNT; i++) {
        assert_true(attn_isa_parse(attn_isa_name((enum attn_isa)i), &isa));
        assert_int_equal(isa, i);
        assert_true(strlen(attn_isa_needs(isa)) > 0);
        assert_null(strstr(attn_isa_needs(isa), "compiled")); /* not what was tried */
    }
    assert_false(attn_dtype_parse("f31", &dtype));
    assert_false(attn_isa_parse("", &isa));
    assert_true(attn_isa_available(ATTN_ISA_BASELINE));
}

/* The place of an instruction set in an order that holds each once. */
static size_t place(const enum attn_isa *order, enum attn_isa isa)
{
    size_t at = ATTN_ISA_COUNT;
    for (size_t i = 0; i < ATTN_ISA_COUNT; i++)
        if (order[i] == isa) {
            assert_int_equal(at, ATTN_ISA_COUNT);
            at = i;
        }
    assert_true(at < ATTN_ISA_COUNT);
    return at;
}

static void preference_is_by_vendor(void **state)
{
    (void)state;
    static const char *const vendors[] = {"intel", "amd", "another"};
    for (size_t v = 0; v < sizeof vendors / sizeof *vendors; v++) {
        const enum attn_isa *order = attn_isa_preference_of(vendors[v]);
        for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
            place(order, (enum attn_isa)isa);
        assert_int_equal(order[ATTN_ISA_COUNT - 1], ATTN_ISA_BASELINE);
        assert_int_equal(order[ATTN_ISA_COUNT - 2], ATTN_ISA_AVX2);
        const bool pairs = place(order, ATTN_ISA_AVX512_BF16) < place(order, ATTN_ISA_AVX512);
        assert_int_equal(pairs, strcmp(vendors[v], "intel") != 0);
        assert_true(place(order, ATTN_ISA_AVX512) < place(order, ATTN_ISA_AVX512_FP16));
        const bool units = place(order, ATTN_ISA_AVX512_2FMA) < place(order, ATTN_ISA_AVX512);
        assert_int_equal(units, strcmp(vendors[v], "intel") == 0);
    }
}

/* Whether Linux says that the processor is one of Intel's: that of an emulator's host does not count. */
static bool on_intel(void)
{
#if !defined __x86_64__
    return false;
#else
    char line[256];
    bool intel = false;
    FILE *file = fopen("/proc/cpuinfo", "r");
    while (file && fgets(line, sizeof line, file))
        intel |= strncmp(line, "vendor_id", 9) == 0 && strstr(line, "GenuineIntel");
    if (file)
        fclose(file);
    return intel;
#endif
}

static void this_host_prefers_what_it_can_run(void **state)
{
    (void)state;
    const enum attn_isa *order = attn_isa_preference();
    assert_ptr_equal(order, attn_isa_preference_of(on_intel() ? "intel" : "amd"));
    const size_t first = place(order, attn_isa_preferred());
    assert_int_not_equal(order[first], ATTN_ISA_AVX512_2FMA); /* no instructions of its own */
    for (size_t i = 0; i <= first; i++)
        if (order[i] != ATTN_ISA_AVX512_2FMA)
            assert_int_equal(attn_isa_available(order[i]), i == first);
}

static void descriptors_say_what_a_kernel_needs(void **state)
{
    (void)state;
    size_t count;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        const struct attn_kernel *k = kernels[i];
        assert_int_equal(k->size, sizeof *k);
        assert_int_equal(k->caps.size, sizeof k->caps);
        assert_non_null(k->execute);
        assert_true(strlen(k->name) > 0 && strlen(k->summary) > 0 && strlen(k->source) > 0);
        for (const char *c = k->name; *c; c++)
            assert_true(islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '_');
        assert_true(k->caps.dtypes && k->caps.outputs && (k->caps.forward || k->caps.backward));
        assert_int_equal(k->caps.bound_factor > 0, k->caps.bound_reason != NULL);
        assert_ptr_equal(attn_find(k->name, k->isa), k); /* the only one of its name and ISA */
    }
    assert_null(attn_find("no such kernel", ATTN_ISA_BASELINE));
#if defined __aarch64__
    const enum attn_isa baseline = ATTN_ISA_NEON;
#else
    const enum attn_isa baseline = ATTN_ISA_BASELINE;
#endif
    assert_true(attn_isa_available(baseline));
    assert_int_equal(attn_find("naive", ATTN_ISA_BASELINE)->isa, baseline);
    assert_ptr_equal(attn_find("naive", ATTN_ISA_BASELINE), attn_find("naive", baseline));
}

/* Others of their processors compute other types; products of f16 are added in float32, which is what
 * is claimed and judged. */
static void variants_of_f16_take_nothing_else(void **state)
{
    (void)state;
    size_t count, found = 0;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t i = 0; i < count; i++) {
        const struct attn_kernel *k = kernels[i];
        if (k->isa != ATTN_ISA_AVX512_FP16 && k->isa != ATTN_ISA_NEON_F16)
            continue;
        assert_int_equal(k->caps.dtypes, 1u << ATTN_F16);
        assert_int_equal(k->caps.compute, ATTN_F32);
        found++;
    }
    /* flash and split_kv, unless this build has no variants for what its host cannot run */
    const bool built =
        attn_find("flash", ATTN_ISA_AVX512_FP16) || attn_find("flash", ATTN_ISA_NEON_F16);
    assert_int_equal(found, built ? 2 : 0);
}

/* Of the variants for vectors of one length the host runs those of its own; SVE stands for them. */
static void sve_is_of_the_hosts_length(void **state)
{
    (void)state;
    static const enum attn_isa lengths[] = {ATTN_ISA_SVE128, ATTN_ISA_SVE256, ATTN_ISA_SVE512};
    const enum attn_isa built = attn_isa_built_as(ATTN_ISA_SVE);
    int available = 0;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        available += attn_isa_available(lengths[i]);
        assert_int_equal(attn_isa_built_as(lengths[i]), lengths[i]);
        assert_true(!attn_isa_available(lengths[i]) || built == lengths[i]);
    }
    assert_true(available <= attn_isa_available(ATTN_ISA_SVE));
#if defined __aarch64__
    assert_int_equal(attn_find("flash", ATTN_ISA_SVE)->isa, built);
#else
    assert_int_equal(built, ATTN_ISA_SVE);
    assert_null(attn_find("flash", ATTN_ISA_SVE));
#endif
}

/* Its value, NULL where there is none; a name stands once. */
static const char *value_of(const struct attn_variable *v, size_t count, const char *name)
{
    const char *value = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(v[i].name, name) == 0) {
            assert_null(value);
            value = v[i].value;
        }
    return value;
}

/* The core types to try for gemm/isa, the best guess first; blas.c says what was measured. */
static size_t core_types(enum attn_isa isa, bool few_rows, bool openblas,
                         const char *cores[ATTN_BLAS_CORES])
{
#if defined __x86_64__
    if (openblas && isa <= ATTN_ISA_AVX2) {
        cores[0] = isa == ATTN_ISA_BASELINE ? "Prescott" : "Haswell";
        return 1;
    }
    if (openblas && __builtin_cpu_is("amd")) {
        const bool haswell = __builtin_cpu_is("amdfam19h") && !few_rows;
        cores[0] = haswell ? "Haswell" : "SkylakeX";
        cores[1] = haswell ? "SkylakeX" : "Haswell";
        return 2;
    }
    if (openblas) {
        cores[1] = "SkylakeX";
        cores[2] = "Haswell";
    }
#else
    (void)isa, (void)openblas;
#endif
    (void)few_rows;
    cores[0] = "its own choice";
#if defined __x86_64__
    return openblas ? 3 : 1;
#else
    return 1;
#endif
}

/* gemm's library runs on one thread of its own, with the code for the variant's instruction set. */
static void gemms_library_has_one_thread_and_the_variants_code(void **state)
{
    (void)state;
    static const struct {
        size_t q_heads, kv_heads, q_len;
        bool few_rows; /* of a product: at most 64 */
    } products[] = {{1, 1, 1, true},   {1, 1, 64, true},   {1, 1, 65, false},  {4, 4, 64, true},
                    {32, 8, 16, true}, {32, 8, 17, false}, {1, 1, 1999, false}};
    const bool openblas = strncmp(attn_blas_description(), "OpenBLAS ", 9) == 0;
    struct attn_problem p;
    attn_problem_init(&p);
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
            const char *cores[ATTN_BLAS_CORES];
            p.q_heads = products[i].q_heads;
            p.kv_heads = products[i].kv_heads;
            p.q_len = products[i].q_len;
            const size_t core_count = attn_blas_cores(&p, (enum attn_isa)isa, cores);
            const char *expected[ATTN_BLAS_CORES];
            const size_t expected_count =
                core_types((enum attn_isa)isa, products[i].few_rows, openblas, expected);
            assert_int_equal(core_count, expected_count);
            for (size_t c = 0; c < expected_count; c++)
                assert_string_equal(cores[c], expected[c]);
            for (size_t c = 0; c < core_count; c++) {
                size_t count = 99;
                const struct attn_variable *v = attn_blas_environment(cores[c], &count);
                const char *core = value_of(v, count, "OPENBLAS_CORETYPE");
                const char *threads =
                    value_of(v, count, openblas ? "OPENBLAS_NUM_THREADS" : "BLIS_NUM_THREADS");
                const bool named = strcmp(cores[c], "its own choice") != 0;
                assert_non_null(threads);
                assert_string_equal(threads, "1");
                assert_int_equal(count, 1 + (core != NULL));
                assert_string_equal(core ? core : "", named ? cores[c] : "");
            }
        }
}

/* What keeps the library of a variant below what it would choose; NULL where nothing does. */
static const char *cap_of(const struct attn_kernel *kernel)
{
    static const char *const caps[] = {"ONEDNN_MAX_CPU_ISA", "MKL_ENABLE_INSTRUCTIONS"};
    const struct attn_library *library = kernel->library;
    const char *cap = NULL;
    size_t count = 0;
    const struct attn_variable *v =
        library && library->environment ? library->environment(kernel->isa, NULL, &count) : NULL;
    for (size_t i = 0; !cap && i < sizeof caps / sizeof *caps; i++)
        cap = value_of(v, count, caps[i]);
    return cap;
}

/* Rivals run as their users run them. */
static void what_a_run_takes_has_no_cap(void **state)
{
    (void)state;
    static const char *const names[] = {"gemm_mkl", "onednn", "onednn_graph"};
    const enum attn_isa *order = attn_isa_preference();
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
        for (int dtype = 0; dtype < ATTN_DTYPE_COUNT; dtype++) {
            const struct attn_kernel *first = NULL;
            for (size_t i = 0; !first && i < ATTN_ISA_COUNT; i++) {
                const struct attn_kernel *kernel = attn_find(names[n], order[i]);
                if (kernel && attn_isa_available(order[i]) && kernel->caps.dtypes & 1u << dtype)
                    first = kernel;
            }
            if (first)
                assert_null(cap_of(first));
        }
}

static void variants_below_the_host_have_one(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        enum attn_isa isa, better;
        const char *cap;
    } below[] = {
        {"gemm_mkl", ATTN_ISA_AVX2, ATTN_ISA_AVX512, "AVX2"},
        {"gemm_mkl", ATTN_ISA_AVX512_BF16, ATTN_ISA_AMX, "AVX512_E3"},
        {"onednn", ATTN_ISA_AVX2, ATTN_ISA_AVX512, "AVX2"},
        {"onednn", ATTN_ISA_AVX512_BF16, ATTN_ISA_AMX, "AVX512_CORE_BF16"},
        {"onednn_graph", ATTN_ISA_AVX512_BF16, ATTN_ISA_AMX, "AVX512_CORE_BF16"},
    };
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        const struct attn_kernel *kernel = attn_find(below[i].name, below[i].isa);
        if (!kernel || !kernel->library->environment) /* of another processor, or no headers */
            continue;
        const char *cap = cap_of(kernel);
        const bool less =
            attn_isa_available(below[i].better) && attn_find(below[i].name, below[i].better);
        assert_string_equal(cap ? cap : "", less ? below[i].cap : "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_round_trip),
        cmocka_unit_test(preference_is_by_vendor),
        cmocka_unit_test(this_host_prefers_what_it_can_run),
        cmocka_unit_test(descriptors_say_what_a_kernel_needs),
        cmocka_unit_test(variants_of_f16_take_nothing_else),
        cmocka_unit_test(sve_is_of_the_hosts_length),
        cmocka_unit_test(gemms_library_has_one_thread_and_the_variants_code),
        cmocka_unit_test(what_a_run_takes_has_no_cap),
        cmocka_unit_test(variants_below_the_host_have_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
