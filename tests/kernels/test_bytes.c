/*
 * Elements of 8 bits in every variant: each of the 256 patterns, in every lane of a vector and in the
 * rest of a row.  test_element.c knows which numbers they are.
 */
#include "testing.h"

#include <math.h>

#include "element.h"
#include "tested.h"

static const enum attn_dtype types[] = {ATTN_F8E4M3, ATTN_F8E5M2, ATTN_I8};

static const enum attn_dtype q_types[] = {ATTN_F32, ATTN_BF16};

static struct operands opened(enum attn_dtype q_type, enum attn_dtype dtype, size_t batch,
                              size_t queries, size_t dim, size_t v_dim)
{
    struct attn_problem p;
    attn_problem_init(&p);
    p.dtype = q_type;
    p.kv_dtype = dtype;
    p.batch = batch;
    p.q_len = queries;
    p.qk_dim = dim;
    p.v_dim = v_dim;
    p.scale = 1;
    p.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    struct operands o = operands_open(&p, 0);
    for (size_t b = 0; b < batch; b++)
        *(float *)attn_row(&o.set.tensors.k_scale, b, 0, 0) =
            *(float *)attn_row(&o.set.tensors.v_scale, b, 0, 0) = 0.5F;
    return o;
}

/* O of one key is its value: exact. */
static void assert_values(const struct attn_kernel *kernel, struct operands *o)
{
    const struct attn_problem *p = &o->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t d = 0; d < p->v_dim; d++)
            ((uint8_t *)attn_row(&o->set.tensors.v, b, 0, 0))[d] = (uint8_t)(b + d);
    if (!operands_call(o, kernel, 1))
        return;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t d = 0; d < p->v_dim; d++) {
            const float x = 0.5F * attn_byte_to_f32(p->kv_dtype, (uint8_t)(b + d));
            const float got = (float)tensors_get(&o->set.tensors.o, b, 0, 0, d);
            if (isnan(x) ? !isnan(got) : got != x)
                fail_msg("%s/%s: byte %zu of %s at %zu is %g, not %g", kernel->name,
                         attn_isa_name(kernel->isa), (b + d) % 256, attn_dtype_name(p->kv_dtype), d,
                         (double)got, (double)x);
        }
}

/* The score of query i is element i of the key, which has the same byte in all. */
static void assert_keys(const struct attn_kernel *kernel, struct operands *o)
{
    const struct attn_problem *p = &o->problem;
    for (size_t b = 0; b < p->batch; b++) {
        memset(attn_row(&o->set.tensors.k, b, 0, 0), (int)b, p->qk_dim);
        for (size_t i = 0; i < p->q_len; i++)
            for (size_t d = 0; d < p->qk_dim; d++)
                tensors_set(&o->set.tensors.q, b, 0, i, d, d == i);
    }
    const unsigned outputs = operands_call(o, kernel, 1);
    if (outputs)
        tested_judge(kernel, p, &o->set.tensors, outputs);
}

/* With every variant that computes the problem of the operands; whether baseline of enough kernels is among
 * them: seven in f32, two in bf16. */
static bool each_variant(struct operands *o,
                         void (*assert_of)(const struct attn_kernel *, struct operands *))
{
    size_t count, ran = 0;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t k = 0; k < count; k++)
        if (!kernels[k]->library && attn_isa_available(kernels[k]->isa) &&
            tested_computes(kernels[k], &o->problem, 1)) {
            assert_of(kernels[k], o);
            ran++;
        }
    return ran >= (o->problem.dtype == ATTN_F32 ? 7 : 2);
}

static void every_byte_is_read_in_every_lane(void **state)
{
    (void)state;
    for (size_t n = 0; n < 6; n++) {
        struct operands values = opened(q_types[n / 3], types[n % 3], 256, 1, 1, 71);
        struct operands keys = opened(q_types[n / 3], types[n % 3], 256, 71, 71, 1);
        assert_true(each_variant(&values, assert_values));
        assert_true(each_variant(&keys, assert_keys));
        operands_close(&values);
        operands_close(&keys);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_is_read_in_every_lane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
