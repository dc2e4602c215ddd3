/*
 * self_attention: the layer against the reference and against a real one.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "judged_layer.h"
#include "problem/safetensors.h"

static void every_option_as_the_reference(void **state)
{
    (void)state;
    static const char *const kernels[] = {"naive", "tiled", "gemm", "flash", "split_kv"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int option = 0; option < 8; option++) {
            struct attn_self_attention l = layer_small;
            l.d_out = option & 1 ? 6 : 0;
            l.mask = option & 2 ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
            l.scale_by_v_dim = option & 4;
            struct layer_operands o = layer_operands(&l);
            if (option == 5)
                o.t.bq = o.t.bk = o.t.bv = o.t.bo = NULL;
            layer_run(&l, kernels[k], 2, &o.t);
            layer_judge(&l, &o.t);
            free(o.all);
        }
}

/* Fewer keys than queries, and more, made from a narrower input; weights among the results. */
static void keys_and_values_from_a_context(void **state)
{
    (void)state;
    static const char *const kernels[] = {"naive", "gemm", "flash"};
    static const size_t lengths[] = {1, 4, 14};
    for (size_t k = 0; k < 3; k++)
        for (size_t n = 0; n < 6; n++) {
            struct attn_self_attention l = layer_small;
            l.context_len = lengths[n % 3];
            l.context_d_in = 3;
            l.mask = n < 3 ? ATTN_MASK_NONE : ATTN_MASK_CAUSAL;
            l.weights = true;
            struct layer_operands o = layer_operands(&l);
            layer_run(&l, kernels[k], 2, &o.t);
            layer_judge(&l, &o.t);
            free(o.all);
        }
}

static void weights_where_wanted(void **state)
{
    (void)state;
    struct attn_self_attention l = layer_small;
    l.weights = true;
    struct layer_operands o = layer_operands(&l);
    layer_run(&l, "naive", 1, &o.t);
    layer_judge(&l, &o.t);
    free(o.all);
}

/* More rows than a block of projections has. */
static void threads_change_no_bit(void **state)
{
    (void)state;
    struct attn_self_attention l = layer_small;
    l.len = 301;
    struct layer_operands o = layer_operands(&l);
    const size_t n = l.batch * l.len * l.d_out;
    float *one = malloc(n * sizeof *one);
    assert_non_null(one);
    layer_run(&l, "flash", 1, &o.t);
    for (size_t i = 0; i < n; i++)
        one[i] = o.t.y[i];
    for (int threads = 2; threads <= 5; threads++) {
        layer_run(&l, "flash", threads, &o.t);
        assert_memory_equal(one, o.t.y, n * sizeof *one);
    }
    free(one);
    free(o.all);
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    struct attn_self_attention_plan plan;
    struct attn_self_attention l = layer_small;
    const char *why = NULL;
    const struct attn_kernel *flash = attn_find("flash", ATTN_ISA_BASELINE);
    l.d_in = 0;
    assert_int_equal(attn_self_attention_workspace(&l, flash, 1), 0);
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "an input dimension of 0");
    assert_false(attn_self_attention_init(&plan, &layer_small, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "the workspace is too small");
    l = layer_small;
    l.context_len = 5;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "a context with a length or a dimension of 0");
    l = layer_small;
    l.options = ATTN_OPTION_PAGED;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "page_size is zero");
    l.options = ATTN_OPTION_PACKED;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "an option that lays out K and V otherwise");
    l.options = 0;
    l.mask = ATTN_MASK_TREE;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "a tree of drafts");
    l.size = 0;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "the layer's size field is not set");
}

/* ---- a real layer ---------------------------------------------------------------------------- */

static float *load(const struct safetensors *file, const char *name, size_t n)
{
    const struct safetensor *tensor = safetensors_find(file, "", name);
    float *x = malloc(n * sizeof *x);
    assert_non_null(tensor);
    assert_non_null(x);
    assert_int_equal(tensor->bytes, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)safetensors_get(tensor, i);
    return x;
}

/* tests/data/README.md: heads 8 and 9 of layer 1, from its input to the model's own output. */
static void a_layer_of_minilm(void **state)
{
    (void)state;
    enum { LEN = 68, MODEL = 384, HEADS = 2, DIM = 32, WIDE = HEADS * DIM };
    static const struct attn_self_attention layer = {.size = sizeof layer,
                                                     .batch = 1,
                                                     .len = LEN,
                                                     .d_in = MODEL,
                                                     .heads = HEADS,
                                                     .qk_dim = DIM,
                                                     .v_dim = DIM};
    static float y[LEN * WIDE];
    char message[256];
    struct safetensors *file =
        safetensors_open(TEST_DATA "/minilm-preamble.safetensors", MESSAGE(message));
    assert_non_null(file);
    float *x[] = {load(file, "layer1.x", LEN * MODEL),   load(file, "layer1.wq", MODEL * WIDE),
                  load(file, "layer1.wk", MODEL * WIDE), load(file, "layer1.wv", MODEL * WIDE),
                  load(file, "layer1.bq", WIDE),         load(file, "layer1.bk", WIDE),
                  load(file, "layer1.bv", WIDE),         load(file, "layer1.o", LEN * WIDE)};
    const struct attn_self_attention_tensors t = {.size = sizeof t,
                                                  .x = x[0],
                                                  .wq = x[1],
                                                  .wk = x[2],
                                                  .wv = x[3],
                                                  .bq = x[4],
                                                  .bk = x[5],
                                                  .bv = x[6],
                                                  .y = y};
    layer_run(&layer, "flash", 2, &t);
    double worst = 0;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < LEN; i++)
            for (size_t d = 0; d < DIM; d++) {
                const double off =
                    fabs((double)y[i * WIDE + h * DIM + d] - (double)x[7][(h * LEN + i) * DIM + d]);
                worst = off <= worst ? worst : off; /* GCC 12.2 for AArch64 fails at fmax() here */
            }
    /* Logits up to 17 (README) from sums of 384 float32 products, twice: 2e-6 each, relative. */
    if (!(worst <= 2e-5))
        fail_msg("%.3g from the model's output", worst);
    for (size_t i = 0; i < 8; i++)
        free(x[i]);
    safetensors_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_as_the_reference),
        cmocka_unit_test(keys_and_values_from_a_context),
        cmocka_unit_test(weights_where_wanted),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(a_layer_of_minilm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
