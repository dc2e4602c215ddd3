/*
 * What every descriptor must say, the names of types and instruction sets, and gemm's library.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <ctype.h>
#include <string.h>

#include "attention.h"
#include "blas.h"
#include "isa.h"

static void names_round_trip(void **state)
{
    (void)state;
    static const size_t sizes[ATTN_DTYPE_COUNT] = {
        [ATTN_F32] = 4, [ATTN_BF16] = 2, [ATTN_F16] = 2, [ATTN_F64] = 8,
        [ATTN_I8] = 1,  [ATTN_I32] = 4,  [ATTN_BOOL] = 1};
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
    }
    assert_false(attn_dtype_parse("f31", &dtype));
    assert_false(attn_isa_parse("", &isa));
    assert_true(attn_isa_available(ATTN_ISA_BASELINE));
}

static void descriptors(void **state)
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
}

/* gemm's library: it has a name, and what it wants of the environment is made of pairs. */
static void blas_environment(void **state)
{
    (void)state;
    struct attn_problem p;
    attn_problem_init(&p);
    assert_true(strlen(attn_blas_description()) > 0);
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        for (p.q_len = 1; p.q_len < 2000; p.q_len += 999) {
            const char *cores[ATTN_BLAS_CORES];
            const size_t cores_count = attn_blas_cores(&p, (enum attn_isa)isa, cores);
            assert_true(cores_count >= 1 && cores_count <= ATTN_BLAS_CORES);
            for (size_t c = 0; c < cores_count; c++) {
                size_t count = 99;
                const struct attn_blas_variable *v = attn_blas_environment(cores[c], &count);
                assert_true(count < 10);
                for (size_t i = 0; i < count; i++)
                    assert_true(strlen(v[i].name) > 0 && strlen(v[i].value) > 0);
                if (count > 1) /* a core type is asked for by its name */
                    assert_string_equal(v[0].value, cores[c]);
            }
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_round_trip),
        cmocka_unit_test(descriptors),
        cmocka_unit_test(blas_environment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
