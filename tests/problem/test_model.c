/*
 * Every kernel on a transformer's own tensors, against what the model itself computed.
 *
 * tests/data holds q, k and v of some layers of all-MiniLM-L6-v2 and the model's attention output
 * o, which PyTorch computed in float32 (tests/data/README.md: at most 0.065 of the bound from the
 * float64 attention).  Two float32 results, each within the bound, differ by less than twice it.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "filled_tensors.h"
#include "problem/safetensors.h"
#include "reference.h"

enum { THREADS = 2, MAX_DIM = 64 };

static const struct layer {
    const char *file, *prefix, *problem;
} layers[] = {
    {"minilm-gettysburg.safetensors", "layer0.", "h=4,s=256,d=32"},
    {"minilm-gettysburg.safetensors", "layer3.", "h=4,s=256,d=32"},
    {"minilm-preamble.safetensors", "layer1.", "h=2,s=68,d=32"},
};

/* The bound of every element of o, (Hq, Sq, Dv). */
static double *bounds_of(const struct attn_problem *p, const struct attn_tensors *t)
{
    double o[MAX_DIM];
    double *bounds = malloc(p->q_heads * p->q_len * p->v_dim * sizeof *bounds);
    void *workspace = malloc(attn_reference_workspace(p));
    assert_true(bounds && workspace && p->v_dim <= MAX_DIM);
    for (size_t row = 0; row < p->q_heads * p->q_len; row++) {
        struct attn_reference_row judged = {
            .size = sizeof judged, .o = o, .bound = bounds + row * p->v_dim};
        attn_reference(p, t, 0, row / p->q_len, row % p->q_len, ATTN_F32, 0, workspace, &judged);
    }
    free(workspace);
    return bounds;
}

static void run(const struct attn_kernel *kernel, const struct attn_problem *problem,
                const struct attn_tensors *tensors)
{
    struct attn_plan plan;
    const char *why;
    const size_t bytes = attn_workspace_size(kernel, problem, THREADS);
    void *workspace = NULL;
    assert_int_equal(posix_memalign(&workspace, ATTN_WORKSPACE_ALIGN, bytes + 1), 0);
    if (!attn_plan_init(&plan, kernel, problem, THREADS, workspace, bytes, &why))
        fail_msg("%s/%s: %s", kernel->name, attn_isa_name(kernel->isa), why);
    attn_execute(&plan, tensors);
    attn_plan_destroy(&plan);
    free(workspace);
}

static void compare(const struct attn_kernel *kernel, const struct layer *layer,
                    const struct tensor_set *set, const struct attn_problem *p,
                    const struct safetensor *model, const double *bounds)
{
    for (size_t n = 0; n < p->q_heads * p->q_len * p->v_dim; n++) {
        const size_t row = n / p->v_dim, h = row / p->q_len, i = row % p->q_len;
        const double got = tensors_get(&set->tensors.o, 0, h, i, n % p->v_dim);
        const double expected = safetensors_get(model, n);
        if (!(fabs(got - expected) <= 2 * bounds[n]))
            fail_msg("%s/%s on %s of %s: o row (h %zu, i %zu) element %zu: got %.9g, the model "
                     "has %.9g, twice the bound is %.3g",
                     kernel->name, attn_isa_name(kernel->isa), layer->prefix, layer->file, h, i,
                     n % p->v_dim, got, expected, 2 * bounds[n]);
    }
}

static size_t judge_layer(const struct layer *layer)
{
    char message[256], path[256], input[PARSE_TEXT];
    snprintf(path, sizeof path, "%s/%s", TEST_DATA, layer->file);
    snprintf(input, sizeof input, "file:%s:%s", path, layer->prefix);
    const struct problem_case c = case_of(layer->problem, input);
    struct safetensors *file = safetensors_open(path, MESSAGE(message));
    if (!file)
        fail_msg("%s", message);
    const struct safetensor *model = safetensors_find(file, layer->prefix, "o");
    const struct attn_problem *p = &c.problem;
    assert_true(model &&
                safetensors_is_shape(model, (size_t[]){1, p->q_heads, p->q_len, p->v_dim}, 4));

    struct tensor_set set = filled(&c, (struct tensors_layout){0}, 0);
    double *bounds = bounds_of(p, &set.tensors);
    size_t count, judged = 0;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t k = 0; k < count; k++) {
        const char *why;
        if (!attn_isa_available(kernels[k]->isa) || !attn_supports(kernels[k], p, &why) ||
            !attn_load(kernels[k], &why))
            continue;
        tensors_poison(&set, p);
        run(kernels[k], p, &set.tensors);
        compare(kernels[k], layer, &set, p, model, bounds);
        judged++;
    }
    free(bounds);
    tensors_free(&set);
    safetensors_close(file);
    return judged;
}

TEST(kernels_agree_with_the_model)
{
    for (size_t n = 0; n < sizeof layers / sizeof *layers; n++)
        assert_true(judge_layer(&layers[n]) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kernels_agree_with_the_model)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
