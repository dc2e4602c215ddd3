/*
 * gemm on 16-bit elements: what it computes of them is what it computes of the same values as
 * floats, rounded once, to the bit.
 */
#include "testing.h"

#include <stdio.h>

#include "element.h"
#include "tested.h"

/* Blocks of rows and keys with tails, edges of masks, a group of heads, one query. */
static const char *const shapes[] = {
    "h=2,sq=200,skv=301,d=40,dv=24",
    "hq=6,hkv=2,sq=70,skv=300,d=64,mask=causal",
    "hq=8,hkv=2,sq=1,skv=700,d=33",
    "h=2,sq=130,skv=90,d=64,mask=causal,window=20,layout=bshd",
};

static struct operands open_as(const char *shape, const char *dtype)
{
    char text[PARSE_TEXT];
    snprintf(text, sizeof text, "%s,dtype=%s,outputs=o+lse", shape, dtype);
    return operands_of(text);
}

static void copy_values(const struct attn_tensor *to, const struct attn_tensor *from, size_t heads,
                        size_t rows, size_t dim)
{
    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < rows; i++)
            for (size_t d = 0; d < dim; d++)
                tensors_set(to, 0, h, i, d, tensors_get(from, 0, h, i, d));
}

static float rounded(enum attn_dtype dtype, double x)
{
    return dtype == ATTN_BF16 ? attn_bf16_to_f32(attn_f32_to_bf16((float)x))
                              : attn_f16_to_f32(attn_f32_to_f16((float)x));
}

static void compare(const struct attn_kernel *kernel, const char *shape, const char *dtype)
{
    struct operands half = open_as(shape, dtype), whole = open_as(shape, "f32");
    const struct attn_problem *p = &half.problem;
    const struct attn_tensors *from = &half.set.tensors, *to = &whole.set.tensors;
    copy_values(&to->q, &from->q, p->q_heads, p->q_len, p->qk_dim);
    copy_values(&to->k, &from->k, p->kv_heads, p->kv_len, p->qk_dim);
    copy_values(&to->v, &from->v, p->kv_heads, p->kv_len, p->v_dim);
    assert_true(operands_call(&half, kernel, 2));
    assert_true(operands_call(&whole, kernel, 2));
    for (size_t h = 0; h < p->q_heads; h++)
        for (size_t i = 0; i < p->q_len; i++) {
            for (size_t d = 0; d < p->v_dim; d++)
                assert_true(tensors_get(&from->o, 0, h, i, d) ==
                            (double)rounded(p->dtype, tensors_get(&to->o, 0, h, i, d)));
            assert_true(tensors_get(&from->lse, 0, h, i, 0) == tensors_get(&to->lse, 0, h, i, 0));
        }
    operands_close(&half);
    operands_close(&whole);
}

static void sixteen_bits_are_widened_exactly(void **state)
{
    (void)state;
    for (int isa = 0; isa <= ATTN_ISA_AVX512; isa++) {
        const struct attn_kernel *kernel = attn_find("gemm", (enum attn_isa)isa);
        for (size_t s = 0; kernel && attn_isa_available(kernel->isa) && s < COUNT(shapes); s++) {
            compare(kernel, shapes[s], "bf16");
            compare(kernel, shapes[s], "f16");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits_are_widened_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
