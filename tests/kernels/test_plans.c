/*
 * Every variant as a plan: any strides, one after the other; and a workspace whose size does not overflow.
 * And rows whose results are known by hand, where the reference's bound says little.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tested.h"

/* Strides of q, k and v as caches and callers have them; they lie inside the same memory. */
static void lay_out(struct attn_tensors *t, size_t number)
{
    struct attn_tensor *const q = &t->q, *const k = &t->k, *const v = &t->v;
    switch (number) {
    case 0: /* one K and V for all heads, one for all sequences */
        k->stride[1] = v->stride[1] = 0;
        k->stride[0] = v->stride[0] = 0;
        break;
    case 1: /* keys backwards in memory */
        k->data = attn_row(k, 0, 0, 80);
        v->data = attn_row(v, 0, 0, 80);
        k->stride[2] = -k->stride[2];
        v->stride[2] = -v->stride[2];
        break;
    case 2: /* one key for all, one value for all */
        k->stride[2] = v->stride[2] = 0;
        break;
    case 3: /* one query for all; heads backwards */
        q->data = attn_row(q, 0, 3, 0);
        q->stride[1] = -q->stride[1];
        q->stride[2] = 0;
        break;
    case 4: /* rows that overlap */
        k->stride[2] = v->stride[2] = 1;
        q->stride[2] = 2;
        break;
    default: /* as they were */
        break;
    }
}

/* A plan knows nothing of the tensors: each set of strides is right whatever came before. */
static void a_plan_takes_any_strides(void **state)
{
    (void)state;
    struct attn_problem p;
    struct parse_error error;
    struct attn_plan plan = {.refusal = NULL};
    const char *why;
    assert_true(parse_problem("b=2,hq=4,hkv=2,sq=37,skv=81,d=24,mask=causal,outputs=o+lse+weights",
                              &p, &error));
    tested_type(&p);
    p.outputs &= tested->caps.outputs;
    if (!attn_supports(tested, &p, &why))
        skip();
    struct operands t =
        operands_open(&p, 0); /* rows that overlap would read the poison of padding */
    const size_t align = ATTN_WORKSPACE_ALIGN, bytes = attn_workspace_size(tested, &p, 2);
    void *workspace = aligned_alloc(align, (bytes + align) / align * align);
    assert_non_null(workspace);
    if (attn_plan_init(&plan, tested, &p, 2, workspace, bytes, &why)) {
        for (size_t n = 0; n <= 6; n++) {
            struct attn_tensors changed = t.set.tensors;
            lay_out(&changed, n % 6);
            tensors_poison(&t.set, &p);
            attn_execute(&plan, &changed);
            tested_judge(tested, &p, &changed, p.outputs);
        }
        attn_plan_destroy(&plan);
    }
    free(workspace);
    operands_close(&t);
}

/* The scratch of a problem too large for any memory is not less than that of a small one. */
static void workspace_does_not_overflow(void **state)
{
    (void)state;
    struct attn_problem p;
    attn_problem_init(&p);
    size_t *const fields[] = {&p.batch, &p.q_len, &p.kv_len, &p.qk_dim, &p.v_dim};
    for (int threads = 1; threads <= 1 << 12; threads *= 16) {
        const size_t small = attn_workspace_size(tested, &p, threads);
        for (size_t f = 0; f < COUNT(fields); f++)
            for (int bits = 31; bits < 60; bits++) {
                const char *why;
                *fields[f] = (size_t)1 << bits;
                if (attn_supports(tested, &p, &why))
                    assert_true(attn_workspace_size(tested, &p, threads) >= small);
                *fields[f] = 1;
            }
    }
}

/* ---- by hand --------------------------------------------------------------------------------- */

static void near(double got, double expected, double tolerance)
{
    if (!(got == expected || fabs(got - expected) <= tolerance))
        fail_msg("%.9g is not within %g of %.9g", got, tolerance, expected);
}

/* x, or the largest number of the tensor's type. */
static double held(const struct attn_tensor *t, double x)
{
    const double largest = t->dtype == ATTN_F16    ? 65504
                           : t->dtype == ATTN_BF16 ? 0x1.fep127
                                                   : (double)FLT_MAX;
    return isinf(x) ? x : fmax(-largest, fmin(largest, x));
}

enum { KEYS = 70, LAST = 2, ROW = 3 };

/* Keys 0..LAST of query ROW have the bias `first`, the others another one: O is the mean of V over keys
 * [from, to), and LSE their bias, beside which ln of their number is nothing. */
static void huge_biases_choose_keys_and_stay_finite(void **state)
{
    (void)state;
    static const struct {
        double first, others;
        size_t from, to;
    } cases[] = {
        {-FLT_MAX, -FLT_MAX, 0, KEYS}, /* torch.finfo.min at each key */
        {-FLT_MAX, -INFINITY, 0, LAST + 1},
        {-FLT_MAX, -3e38, LAST + 1, KEYS},
        {-1e30, -1e30, 0, KEYS},
        {3e38, -FLT_MAX, 0, LAST + 1},
        {3e38, 3e38, 0, KEYS},
        {-INFINITY, -INFINITY, 0, 0},
    };
    struct operands t = operands_of("hq=2,hkv=1,sq=5,skv=70,d=16,mask=bias,outputs=o+lse");
    const struct attn_tensors *s = &t.set.tensors;
    for (size_t c = 0; c < COUNT(cases) && s->bias.dtype != ATTN_F16;
         c++) { /* not large beside a score */
        for (size_t h = 0; h < 2; h++)
            for (size_t j = 0; j < KEYS; j++)
                tensors_set(&s->bias, 0, h, ROW, j,
                            held(&s->bias, j <= LAST ? cases[c].first : cases[c].others));
        const unsigned outputs = operands_call(&t, tested, 2);
        if (!outputs)
            break;
        tested_ran++;
        const double n = (double)(cases[c].to - cases[c].from);
        const double lse = tensors_get(&s->bias, 0, 1, ROW, cases[c].from);
        for (size_t d = 0; d < 16; d++) {
            double mean = 0;
            for (size_t j = cases[c].from; j < cases[c].to; j++)
                mean += tensors_get(&s->v, 0, 0, j, d) / n;
            near(tensors_get(&s->o, 0, 1, ROW, d), mean,
                 s->o.dtype == ATTN_F32 ? 1e-5 : 0x1p-8 * fabs(mean));
        }
        if (outputs & ATTN_OUTPUT_LSE)
            near(tensors_get(&s->lse, 0, 1, ROW, 0), lse, 1e-6 * fabs(lse));
    }
    operands_close(&t);
    tested_skip_unless_ran();
}

/* A key whose score is -inf, here by an infinite element, has no weight, whatever its bias. */
static void minus_infinity_outweighs_the_largest_bias(void **state)
{
    (void)state;
    struct operands t = operands_of("hq=2,hkv=1,sq=5,skv=70,d=16,mask=bias,outputs=o+lse+weights");
    const struct attn_tensors *s = &t.set.tensors;
    tensors_set(&s->k, 0, 0, ROW, 0, -INFINITY);
    for (size_t h = 0; h < 2; h++)
        for (size_t i = 0; i < 5; i++) {
            tensors_set(&s->q, 0, h, i, 0, 1);
            tensors_set(&s->bias, 0, h, i, ROW, held(&s->bias, FLT_MAX));
        }
    tensors_seal(&t.set, &t.problem);
    const bool weights = tested->caps.outputs & ATTN_OUTPUT_WEIGHTS &&
                         !(tested->caps.caveats & ATTN_CAVEAT_INFINITE_SCORES);
    const unsigned outputs = weights ? operands_call(&t, tested, 2) : 0;
    for (size_t h = 0; outputs && h < 2; h++)
        for (size_t i = 0; i < 5; i++) {
            double sum = 0;
            for (size_t j = 0; j < KEYS; j++)
                sum += tensors_get(&s->weights, 0, h, i, j);
            near(tensors_get(&s->weights, 0, h, i, ROW), 0, 0);
            near(sum, 1, 0x1p-7);
        }
    tested_ran += outputs != 0;
    operands_close(&t);
    tested_skip_unless_ran();
}

/* A query without keys: O is 0, LSE the sink, or -inf where there is none. */
static void rows_without_keys(void **state)
{
    (void)state;
    for (size_t sinks = 0; sinks < 2; sinks++) {
        struct operands t =
            operands_of(sinks ? "hq=4,hkv=2,sq=70,skv=64,d=24,mask=causal,sinks=1,outputs=o+lse"
                              : "hq=4,hkv=2,sq=70,skv=64,d=24,mask=causal,outputs=o+lse");
        const struct attn_tensors *s = &t.set.tensors;
        const unsigned outputs = operands_call(&t, tested, 2);
        for (size_t h = 0; outputs && h < 4; h++)
            for (size_t i = 0; i < 6; i++) {
                for (size_t d = 0; d < 24; d++)
                    assert_true(tensors_get(&s->o, 0, h, i, d) == 0);
                const double lse = sinks ? (double)((const float *)s->sinks.data)[h] : -INFINITY;
                if (outputs & ATTN_OUTPUT_LSE)
                    assert_true(tensors_get(&s->lse, 0, h, i, 0) == lse);
            }
        tested_ran += outputs != 0;
        operands_close(&t);
    }
    tested_skip_unless_ran();
}

/* Scores are 0 for lists of more keys than any block has, for more rows than any task has: O is the mean of V
 * over those that are listed and that the mask leaves, LSE the logarithm of their number. */
static void long_lists_of_many_rows(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "hq=4,hkv=2,sq=150,skv=1500,d=8,keys=index:1100:130,outputs=o+lse",
        "hq=4,hkv=2,sq=150,skv=1500,d=8,keys=index:1100:130,mask=causal,outputs=o+lse"};
    for (size_t n = 0; n < COUNT(texts); n++) {
        struct operands t = operands_of(texts[n]);
        const struct attn_problem *p = &t.problem;
        const struct attn_tensors *s = &t.set.tensors;
        for (size_t row = 0; row < p->q_heads * p->q_len; row++)
            memset(attn_row(&s->q, 0, row / p->q_len, row % p->q_len), 0,
                   p->qk_dim * attn_dtype_size(p->dtype));
        for (size_t g = 0; g < 2; g++)
            for (size_t i = 0; i < p->q_len; i += p->index_block)
                for (size_t e = 0; e < p->index_count; e++) /* backwards, with gaps of all widths */
                    ((int32_t *)attn_list(p, s, 0, g, i))[e] =
                        e / 7 % 5 == 0 || (e > 400 && e < 700)
                            ? -1
                            : (int32_t)(p->kv_len - 1 - e - g - i);
        tensors_seal(&t.set, p);
        const unsigned outputs = operands_call(&t, tested, 2);
        for (size_t row = 0; outputs && row < p->q_heads * p->q_len; row++) {
            const size_t h = row / p->q_len, i = row % p->q_len;
            const int32_t *list = attn_list(p, s, 0, h / 2, i);
            const struct attn_range seen = attn_visible(p, (ptrdiff_t)i);
            double keys = 0, sum = 0;
            for (size_t e = 0; e < p->index_count; e++)
                if (list[e] >= seen.lo && list[e] < seen.hi) {
                    keys++;
                    sum += tensors_get(&s->v, 0, h / 2, (size_t)list[e], 7);
                }
            assert_true(keys > 100);
            near(tensors_get(&s->o, 0, h, i, 7), sum / keys, s->o.dtype == ATTN_F32 ? 1e-5 : 1e-3);
            if (outputs & ATTN_OUTPUT_LSE)
                near(tensors_get(&s->lse, 0, h, i, 0), log(keys), 1e-5);
        }
        tested_ran += outputs != 0;
        operands_close(&t);
    }
    tested_skip_unless_ran();
}

/* Keys of one weight, beside one that holds the maximum: roundings of their sums repeat, and all have one
 * sign.  By blocks of 64 keys, no kernel's being shorter, a sum loses one unit roundoff for each key of a
 * block and each block; naive, which is what is written plainly, for each key. */
static void equal_weights_of_many_keys(void **state)
{
    (void)state;
    enum { MANY = 1 << 17, BLOCK = 64 };
    const double most = (BLOCK + MANY / BLOCK) * 0x1p-24, v = (double)1.1f;
    struct operands t = operands_of("skv=131072,d=1,dv=3,scale=1,outputs=o+lse");
    const struct attn_tensors *s = &t.set.tensors;
    for (size_t j = 0; j < MANY; j++) {
        tensors_set(&s->k, 0, 0, j, 0, j == 0);
        for (size_t d = 0; d < 3; d++)
            tensors_set(&s->v, 0, 0, j, d, v);
    }
    tensors_set(&s->q, 0, 0, 0, 0, 1);
    tensors_seal(&t.set, &t.problem);
    const bool plain = /* also a library, which sums as it likes */
        strcmp(tested->name, "naive") == 0 || tested->library || t.problem.dtype != ATTN_F32;
    const unsigned outputs = plain ? 0 : operands_call(&t, tested, 2);
    for (size_t d = 0; outputs && d < 3; d++)
        assert_true(fabs(tensors_get(&s->o, 0, 0, 0, d) / v - 1) <= most);
    if (outputs & ATTN_OUTPUT_LSE)
        assert_true(fabs(tensors_get(&s->lse, 0, 0, 0, 0) - log(exp(1) + MANY - 1)) <=
                    most + 0x1p-20);
    tested_ran += outputs != 0;
    operands_close(&t);
    tested_skip_unless_ran();
}

/* The first and the last of more keys than an int32 counts, which ALiBi sets one unit apart: all others are
 * hidden by a mask of untouched pages, and one key in memory stands for all.  A second of one thread, so of
 * one variant of the kernel that keeps no scores and looks at masks by blocks. */
static void keys_beyond_int32(void **state)
{
    (void)state;
    const size_t keys = ((size_t)1 << 31) + 100;
    float q = 0, kv = 1, o = NAN, lse = NAN, slope = 0x1p-31f;
    struct attn_problem p;
#ifdef __SANITIZE_ADDRESS__ /* ten times as long */
    skip();
#endif
    if (strcmp(tested->name, "flash") != 0 ||
        (tested->isa != ATTN_ISA_AVX2 && tested->isa != ATTN_ISA_NEON))
        skip();
    attn_problem_init(&p);
    p.kv_len = keys;
    p.qk_dim = p.v_dim = 1;
    p.mask = ATTN_MASK_BOOL;
    p.options = ATTN_OPTION_ALIBI;
    p.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    uint8_t *mask = mmap(NULL, keys, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(mask, MAP_FAILED);
    mask[0] = mask[keys - 1] = 1;
    const struct attn_tensors tensors = {
        .size = sizeof tensors,
        .q = {&q, ATTN_F32, {1, 1, 1, 1}},
        .k = {&kv, ATTN_F32, {0, 0, 0, 1}},
        .v = {&kv, ATTN_F32, {0, 0, 0, 1}},
        .o = {&o, ATTN_F32, {1, 1, 1, 1}},
        .lse = {&lse, ATTN_F32, {1, 1, 1, 1}},
        .mask = {mask, ATTN_BOOL, {0, 0, 0, 1}},
        .slopes = {&slope, ATTN_F32, {1, 1, 1, 1}},
    };
    assert_int_equal(tested_call(tested, &p, &tensors, 1), p.outputs);
    assert_true(o == 1 && fabs((double)lse - log(1 + exp(-1))) < 1e-6);
    munmap(mask, keys);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_plan_takes_any_strides, tested_start),
        cmocka_unit_test_setup(workspace_does_not_overflow, tested_start),
        cmocka_unit_test_setup(huge_biases_choose_keys_and_stay_finite, tested_start),
        cmocka_unit_test_setup(minus_infinity_outweighs_the_largest_bias, tested_start),
        cmocka_unit_test_setup(rows_without_keys, tested_start),
        cmocka_unit_test_setup(long_lists_of_many_rows, tested_start),
        cmocka_unit_test_setup(equal_weights_of_many_keys, tested_start),
        cmocka_unit_test(keys_beyond_int32),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
