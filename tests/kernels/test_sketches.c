/*
 * The sketches compute what they say, through the interface as it is: attn_supports, plans,
 * attn_execute.  No kernel of the library claims what only they can do.
 */
#include "testing.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "reference.h"
#include "kernels/sketches/sketches.h"

enum { HEADS = 4, KV_HEADS = 2, D = 8, DV = 6, MOST = 64 };

static struct attn_problem problem_of(size_t batch, size_t q_len, size_t kv_len)
{
    struct attn_problem p;
    attn_problem_init(&p);
    p.batch = batch;
    p.q_heads = HEADS;
    p.kv_heads = KV_HEADS;
    p.q_len = q_len;
    p.kv_len = kv_len;
    p.qk_dim = D;
    p.v_dim = DV;
    p.mask = ATTN_MASK_CAUSAL;
    return p;
}

/* A dense tensor with memory of its own, filled from a stream of random numbers. */
static struct attn_tensor tensor(size_t batch, size_t heads, size_t rows, size_t cols,
                                 uint64_t stream)
{
    const size_t n = batch * heads * rows * cols;
    struct attn_tensor t = {
        .data = malloc(n * sizeof(float)),
        .dtype = ATTN_F32,
        .stride = {(ptrdiff_t)(heads * rows * cols), (ptrdiff_t)(rows * cols), (ptrdiff_t)cols, 1}};
    assert_non_null(t.data);
    random_uniform(t.data, n, random_key(7, stream), 0);
    return t;
}

static struct attn_tensors tensors_of(const struct attn_problem *p)
{
    struct attn_tensors t = {.size = sizeof t};
    t.q = tensor(p->batch, p->q_heads, p->q_len, p->qk_dim, 1);
    t.k = tensor(p->batch, p->kv_heads, p->kv_len, p->qk_dim, 2);
    t.v = tensor(p->batch, p->kv_heads, p->kv_len, p->v_dim, 3);
    t.o = tensor(p->batch, p->q_heads, p->q_len, p->v_dim, 4);
    return t;
}

static void free_tensors(struct attn_tensors *t)
{
    struct attn_tensor *const all[] = {&t->q,  &t->k,  &t->v,  &t->o, &t->lse,
                                       &t->dO, &t->dQ, &t->dK, &t->dV};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->data);
}

/* Runs the sketch; the library's kernels, naive for all, refuse where `alone`. */
static void run(const struct attn_kernel *kernel, const struct attn_problem *p,
                const struct attn_tensors *t, bool alone)
{
    const char *why = NULL;
    assert_int_equal(attn_supports(attn_find("naive", ATTN_ISA_BASELINE), p, &why), !alone);
    assert_true(!alone || why);
    const size_t bytes = attn_workspace_size(kernel, p, 2);
    void *workspace = aligned_alloc(ATTN_WORKSPACE_ALIGN,
                                    (bytes / ATTN_WORKSPACE_ALIGN + 1) * ATTN_WORKSPACE_ALIGN);
    struct attn_plan plan;
    assert_non_null(workspace);
    if (!attn_plan_init(&plan, kernel, p, 2, workspace, bytes, &why))
        fail_msg("%s", why);
    attn_execute(&plan, t);
    attn_plan_destroy(&plan);
    free(workspace);
}

/* Row (b, h, i) of O by the reference; returns the bound of its elements. */
static void reference(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                      size_t h, size_t i, double *o, double *bound)
{
    double *workspace = malloc(attn_reference_workspace(p));
    assert_non_null(workspace);
    struct attn_reference_row row = {.size = sizeof row, .o = o, .bound = bound};
    attn_reference(p, t, b, h, i, ATTN_F32, 0, workspace, &row);
    free(workspace);
}

/* `o` is what the kernel wrote for row (b, h, i) of the problem. */
static void assert_row(const struct attn_problem *p, const struct attn_tensors *t, size_t b,
                       size_t h, size_t i, const float *o)
{
    double expected[DV], bound[DV];
    reference(p, t, b, h, i, expected, bound);
    for (size_t d = 0; d < DV; d++)
        if (!(fabs((double)o[d] - expected[d]) <= bound[d]))
            fail_msg("(%zu, %zu, %zu, %zu) is %g, not %g", b, h, i, d, (double)o[d], expected[d]);
}

/* sum of dO O over all elements, O by the reference. */
static double loss(const struct attn_problem *p, const struct attn_tensors *t)
{
    double sum = 0, o[DV];
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                reference(p, t, b, h, i, o, NULL);
                for (size_t d = 0; d < DV; d++)
                    sum += (double)((float *)attn_row(&t->dO, b, h, i))[d] * o[d];
            }
    return sum;
}

/* Each element of the gradient against the slope of the loss. */
static void assert_gradient(const struct attn_problem *p, const struct attn_tensors *t,
                            const struct attn_tensor *of, const struct attn_tensor *gradient,
                            size_t n)
{
    const float step = 0x1p-8f;
    for (size_t e = 0; e < n; e++) {
        float *x = (float *)of->data + e;
        const float at = *x;
        *x = at + step;
        const double above = loss(p, t), up = (double)*x;
        *x = at - step;
        const double slope = (above - loss(p, t)) / (up - (double)*x);
        *x = at;
        const double got = (double)((float *)gradient->data)[e];
        if (!(fabs(got - slope) <= 1e-4)) /* the step's square, times a third derivative below 6 */
            fail_msg("element %zu is %g, the slope is %g", e, got, slope);
    }
}

static void a_backward_pass_gets_what_it_needs(void **state)
{
    (void)state;
    struct attn_problem p = problem_of(1, 3, 5);
    struct attn_tensors t = tensors_of(&p);
    t.lse = tensor(1, HEADS, 3, 1, 5);
    p.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    run(attn_find("naive", ATTN_ISA_BASELINE), &p, &t, false);

    t.dO = tensor(1, HEADS, 3, DV, 6);
    t.dQ = tensor(1, HEADS, 3, D, 7);
    t.dK = tensor(1, KV_HEADS, 5, D, 8);
    t.dV = tensor(1, KV_HEADS, 5, DV, 9);
    p.pass = ATTN_BACKWARD;
    p.outputs = ATTN_OUTPUT_DQ | ATTN_OUTPUT_DK | ATTN_OUTPUT_DV;
    run(&sketch_backward, &p, &t, true);

    assert_gradient(&p, &t, &t.q, &t.dQ, HEADS * 3 * D);
    assert_gradient(&p, &t, &t.k, &t.dK, KV_HEADS * 5 * D);
    assert_gradient(&p, &t, &t.v, &t.dV, KV_HEADS * 5 * DV);
    free_tensors(&t);
}

static void a_plugin_of_the_sketch_loads_and_computes(void **state)
{
    (void)state;
    void *object = dlopen(SKETCH_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        fail_msg("%s", dlerror());
    attn_plugin_entry *entry;
    *(void **)&entry = dlsym(object, ATTN_PLUGIN_ENTRY);
    assert_non_null(entry);
    size_t count;
    const struct attn_kernel *const *kernels = entry(&count);
    assert_int_equal(count, 1);
    assert_string_equal(kernels[0]->name, "plugged");

    struct attn_problem p = problem_of(2, 7, 11);
    struct attn_tensors t = tensors_of(&p);
    run(kernels[0], &p, &t, false);
    for (size_t b = 0; b < 2; b++)
        for (size_t h = 0; h < HEADS; h++)
            for (size_t i = 0; i < 7; i++)
                assert_row(&p, &t, b, h, i, attn_row(&t.o, b, h, i));

    const char *why = NULL;
    struct attn_kernel older = *kernels[0];
    older.size--;
    assert_false(attn_supports(&older, &p, &why));
    assert_non_null(why);
    free_tensors(&t);
    dlclose(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_backward_pass_gets_what_it_needs),
        cmocka_unit_test(a_plugin_of_the_sketch_loads_and_computes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
