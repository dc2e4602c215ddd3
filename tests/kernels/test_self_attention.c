/*
 * self_attention: the layer against its definition in float64 and against a real one.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "problem/safetensors.h"
#include "self_attention.h"

static const struct attn_self_attention small = {
    .size = sizeof small,
    .batch = 2,
    .len = 9,
    .d_in = 7,
    .heads = 3,
    .qk_dim = 5,
    .v_dim = 4,
    .d_out = 6,
    .mask = ATTN_MASK_CAUSAL,
};

/* Operands of a layer, N(0, 1), and room for its results. */
struct operands {
    struct attn_self_attention_tensors t;
    float *all;
};

static struct operands make(const struct attn_self_attention *l)
{
    const size_t qk = l->heads * l->qk_dim, v = l->heads * l->v_dim, tokens = l->batch * l->len;
    const size_t sizes[] = {tokens * l->d_in, l->d_in * qk, l->d_in * qk, l->d_in * v, qk, qk, v,
                            v * l->d_out,     l->d_out};
    struct operands o = {.t = {.size = sizeof o.t}};
    const float **const places[] = {&o.t.x,  &o.t.wq, &o.t.wk, &o.t.wv, &o.t.bq,
                                    &o.t.bk, &o.t.bv, &o.t.wo, &o.t.bo};
    size_t total = 0, at = 0;
    for (size_t i = 0; i < 9; i++)
        total += sizes[i];
    const size_t y = tokens * (l->d_out ? l->d_out : v);
    const size_t weights = l->batch * l->heads * l->len * l->len;
    o.all = malloc((total + y + weights) * sizeof *o.all);
    assert_non_null(o.all);
    random_normal(o.all, total + y + weights, 5, 0);
    for (size_t i = 0; i < 9; at += sizes[i++])
        *places[i] = o.all + at;
    o.t.y = o.all + total;
    o.t.weights = o.t.y + y;
    return o;
}

static void run(const struct attn_self_attention *l, const char *name, int threads,
                const struct attn_self_attention_tensors *t)
{
    struct attn_self_attention_plan plan;
    const char *why;
    const struct attn_kernel *kernel = attn_find(name, ATTN_ISA_BASELINE);
    const size_t bytes = attn_self_attention_workspace(l, kernel, threads);
    void *workspace = aligned_alloc(ATTN_WORKSPACE_ALIGN, bytes);
    if (!attn_self_attention_init(&plan, l, kernel, threads, workspace, bytes, &why))
        fail_msg("%s: %s", name, why);
    attn_self_attention_execute(&plan, t);
    attn_self_attention_destroy(&plan);
    free(workspace);
}

/* ---- the definition -------------------------------------------------------------------------- */

/* Element (token, column) of x w + b. */
static double projected(const float *x, const float *w, const float *b, size_t from, size_t to,
                        size_t token, size_t column)
{
    double sum = b ? (double)b[column] : 0;
    for (size_t i = 0; i < from; i++)
        sum += (double)x[token * from + i] * (double)w[i * to + column];
    return sum;
}

/* What query i adds to the score of key j; -inf where it does not see it. */
static double added(const struct attn_self_attention *l,
                    const struct attn_self_attention_tensors *t, size_t b, size_t h, size_t i,
                    size_t j)
{
    const bool bias = l->mask & ATTN_MASK_BIAS, mask = l->mask & ATTN_MASK_BOOL;
    double x = bias ? (double)((const float *)attn_row(&t->bias, b, h, i))[j] : 0;
    if (l->options & ATTN_OPTION_ALIBI)
        x += (double)((const float *)t->slopes.data)[h] * ((double)j - (double)i);
    const bool hidden =
        (l->mask & ATTN_MASK_CAUSAL && j > i) ||
        (mask && !((const uint8_t *)attn_row(&t->mask, b, h, i))[j]) ||
        (l->options & ATTN_OPTION_WINDOW && (ptrdiff_t)j < (ptrdiff_t)i - l->window_left) ||
        (l->options & ATTN_OPTION_RAGGED && j >= (size_t)((const int32_t *)t->kv_lens.data)[b]);
    return hidden ? -INFINITY : x;
}

/* Weights of query i of batch b, head h. */
static void weights_of(const struct attn_self_attention *l,
                       const struct attn_self_attention_tensors *t, size_t b, size_t h, size_t i,
                       double *p)
{
    const size_t to = l->heads * l->qk_dim;
    const double dim = (double)(l->scale_by_v_dim ? l->v_dim : l->qk_dim);
    const double scale = l->scale != 0 ? (double)l->scale : 1 / sqrt(dim);
    double sum = 0;
    if (l->options & ATTN_OPTION_SINKS)
        sum = exp((double)((const float *)t->sinks.data)[h]);
    for (size_t j = 0; j < l->len; j++) {
        double x = 0;
        for (size_t d = 0; d < l->qk_dim; d++)
            x += projected(t->x, t->wq, t->bq, l->d_in, to, b * l->len + i, h * l->qk_dim + d) *
                 projected(t->x, t->wk, t->bk, l->d_in, to, b * l->len + j, h * l->qk_dim + d);
        x *= scale;
        if (l->options & ATTN_OPTION_SOFTCAP)
            x = (double)l->softcap * tanh(x / (double)l->softcap);
        p[j] = exp(x + added(l, t, b, h, i, j));
        sum += p[j];
    }
    for (size_t j = 0; j < l->len; j++)
        p[j] /= sum > 0 ? sum : 1;
}

/* Y before the output projection, token `i` of batch b. */
static void attended(const struct attn_self_attention *l,
                     const struct attn_self_attention_tensors *t, size_t b, size_t i, double *o)
{
    const size_t to = l->heads * l->v_dim;
    double p[16];
    for (size_t h = 0; h < l->heads; h++) {
        weights_of(l, t, b, h, i, p);
        for (size_t d = 0; d < l->v_dim; d++) {
            o[h * l->v_dim + d] = 0;
            for (size_t j = 0; j < l->len; j++)
                o[h * l->v_dim + d] += p[j] * projected(t->x, t->wv, t->bv, l->d_in, to,
                                                        b * l->len + j, h * l->v_dim + d);
        }
    }
}

static void judge(const struct attn_self_attention *l, const struct attn_self_attention_tensors *t)
{
    const size_t columns = l->heads * l->v_dim, wide = l->d_out ? l->d_out : columns;
    for (size_t row = 0; row < l->batch * l->len; row++) {
        double o[32] = {0};
        attended(l, t, row / l->len, row % l->len, o);
        for (size_t c = 0; c < wide; c++) {
            double expected = o[c];
            if (l->d_out) {
                expected = t->bo ? (double)t->bo[c] : 0;
                for (size_t i = 0; i < columns; i++)
                    expected += o[i] * (double)t->wo[i * l->d_out + c];
            }
            if (!(fabs((double)t->y[row * wide + c] - expected) <= 5e-5))
                fail_msg("y[%zu][%zu] = %.9g, expected %.9g", row, c, (double)t->y[row * wide + c],
                         expected);
        }
    }
}

static void the_definition_with_every_option(void **state)
{
    (void)state;
    static const char *const kernels[] = {"naive", "tiled", "gemm", "flash", "split_kv"};
    for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++)
        for (int option = 0; option < 8; option++) {
            struct attn_self_attention l = small;
            l.d_out = option & 1 ? 6 : 0;
            l.mask = option & 2 ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
            l.scale_by_v_dim = option & 4;
            struct operands o = make(&l);
            if (option == 5)
                o.t.bq = o.t.bk = o.t.bv = o.t.bo = NULL;
            run(&l, kernels[k], 2, &o.t);
            judge(&l, &o.t);
            free(o.all);
        }
}

/* ---- masks and options ----------------------------------------------------------------------- */

/* What a layer may be given beside X and its weights, in the shapes that people give it. */
struct extras {
    float bias[2 * 3 * 9 * 9]; /* (batch, heads, len, len): numbers, and -inf at one in three */
    uint8_t mask[2 * 3 * 9 * 9];
    float sinks[3], slopes[3];
    int32_t lens[2];
};

static void fill(struct extras *e)
{
    random_normal(e->bias, 2 * 3 * 9 * 9, 6, 0);
    for (size_t n = 0; n < 2 * 3 * 9 * 9; n++) {
        e->mask[n] = n % 9 == 0 || n * n % 7 < 3; /* the first key is seen always */
        if (n % 3 == 2)
            e->bias[n] = -INFINITY;
    }
    for (size_t h = 0; h < 3; h++) {
        e->sinks[h] = (float)h - 1;
        e->slopes[h] = 0.5F / (float)(h + 1);
    }
    e->lens[0] = 9;
    e->lens[1] = 4;
}

/* (len, len) for all, (batch, 1, len, len), (batch, heads, len, len). */
static const ptrdiff_t shapes[][4] = {{0, 0, 9, 1}, {3 * 81, 0, 9, 1}, {3 * 81, 81, 9, 1}};

static void give(struct attn_self_attention_tensors *t, struct extras *e, const ptrdiff_t stride[4])
{
    t->bias = (struct attn_tensor){.data = e->bias, .dtype = ATTN_F32};
    t->mask = (struct attn_tensor){.data = e->mask, .dtype = ATTN_BOOL};
    for (size_t i = 0; i < 4; i++)
        t->bias.stride[i] = t->mask.stride[i] = stride[i];
    t->sinks = (struct attn_tensor){e->sinks, ATTN_F32, {1}};
    t->slopes = (struct attn_tensor){e->slopes, ATTN_F32, {1}};
    t->kv_lens = (struct attn_tensor){e->lens, ATTN_I32, {1}};
}

static const char *const all_kernels[] = {"naive", "row_parallel", "tiled", "online", "gemm"};
#define ALL_KERNELS (sizeof all_kernels / sizeof *all_kernels)

/* Masks of every shape, alone and with each other and with causal. */
static void masks_of_every_shape(void **state)
{
    (void)state;
    static const unsigned masks[] = {ATTN_MASK_BIAS, ATTN_MASK_BOOL,
                                     ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_CAUSAL};
    struct extras e;
    fill(&e);
    for (size_t m = 0; m < 3; m++)
        for (size_t s = 0; s < 3; s++)
            for (size_t k = 0; k < ALL_KERNELS; k++) {
                struct attn_self_attention l = small;
                l.mask = masks[m];
                struct operands o = make(&l);
                give(&o.t, &e, shapes[s]);
                run(&l, all_kernels[k], 2, &o.t);
                judge(&l, &o.t);
                free(o.all);
            }
}

/* What the notebook writes: a matrix of 0 and -inf above the diagonal, added to the scores.  It is a
 * causal mask. */
static void an_additive_causal_mask_is_a_causal_mask(void **state)
{
    (void)state;
    struct extras e;
    for (size_t n = 0; n < 2 * 3 * 81; n++)
        e.bias[n] = n % 9 > n / 9 % 9 ? -INFINITY : 0;
    for (size_t k = 0; k < ALL_KERNELS; k++) {
        struct attn_self_attention l = small;
        struct operands o = make(&l);
        float causal[2 * 9 * 6];
        run(&l, all_kernels[k], 1, &o.t);
        judge(&l, &o.t);
        memcpy(causal, o.t.y, sizeof causal);
        l.mask = ATTN_MASK_BIAS;
        give(&o.t, &e, shapes[2]);
        run(&l, all_kernels[k], 1, &o.t);
        for (size_t n = 0; n < 2 * 9 * 6; n++)
            assert_true(fabsf(o.t.y[n] - causal[n]) <= 2e-6F * (1 + fabsf(causal[n])));
        free(o.all);
    }
}

static void options_go_through(void **state)
{
    (void)state;
    static const unsigned options[] = {ATTN_OPTION_WINDOW,
                                       ATTN_OPTION_SOFTCAP,
                                       ATTN_OPTION_SINKS,
                                       ATTN_OPTION_ALIBI,
                                       ATTN_OPTION_RAGGED,
                                       ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP |
                                           ATTN_OPTION_SINKS | ATTN_OPTION_ALIBI};
    struct extras e;
    fill(&e);
    for (size_t n = 0; n < sizeof options / sizeof *options; n++)
        for (size_t k = 0; k < ALL_KERNELS; k++) {
            struct attn_self_attention l = small;
            l.mask = options[n] & ATTN_OPTION_RAGGED ? ATTN_MASK_NONE : ATTN_MASK_CAUSAL;
            l.options = options[n];
            l.softcap = 2;
            l.window_left = 3;
            l.window_right = -1;
            l.scale = n % 2 ? 0.75F : 0;
            struct operands o = make(&l);
            give(&o.t, &e, shapes[0]);
            run(&l, all_kernels[k], 2, &o.t);
            judge(&l, &o.t);
            free(o.all);
        }
}

static void weights_where_wanted(void **state)
{
    (void)state;
    struct attn_self_attention l = small;
    l.weights = true;
    struct operands o = make(&l);
    run(&l, "naive", 1, &o.t);
    const float *row = o.t.weights;
    for (size_t b = 0; b < l.batch; b++)
        for (size_t h = 0; h < l.heads; h++)
            for (size_t i = 0; i < l.len; i++, row += l.len) {
                double p[16];
                weights_of(&l, &o.t, b, h, i, p);
                for (size_t j = 0; j < l.len; j++)
                    assert_true(fabs((double)row[j] - p[j]) <= 1e-5);
                for (size_t j = i + 1; j < l.len; j++)
                    assert_true(row[j] == 0);
            }
    free(o.all);
}

/* More rows than a block of projections has. */
static void threads_change_no_bit(void **state)
{
    (void)state;
    struct attn_self_attention l = small;
    l.len = 301;
    struct operands o = make(&l);
    const size_t n = l.batch * l.len * l.d_out;
    float *one = malloc(n * sizeof *one);
    assert_non_null(one);
    run(&l, "flash", 1, &o.t);
    for (size_t i = 0; i < n; i++)
        one[i] = o.t.y[i];
    for (int threads = 2; threads <= 5; threads++) {
        run(&l, "flash", threads, &o.t);
        assert_memory_equal(one, o.t.y, n * sizeof *one);
    }
    free(one);
    free(o.all);
}

static void refuses_with_a_reason(void **state)
{
    (void)state;
    struct attn_self_attention_plan plan;
    struct attn_self_attention l = small;
    const char *why = NULL;
    const struct attn_kernel *flash = attn_find("flash", ATTN_ISA_BASELINE);
    l.d_in = 0;
    assert_int_equal(attn_self_attention_workspace(&l, flash, 1), 0);
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "an input dimension of 0");
    assert_false(attn_self_attention_init(&plan, &small, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "the workspace is too small");
    l = small;
    l.options = ATTN_OPTION_PAGED;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "page_size is zero");
    l.options = ATTN_OPTION_PACKED;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "an option that lays out K and V otherwise");
    l.size = 0;
    assert_false(attn_self_attention_init(&plan, &l, flash, 1, NULL, 0, &why));
    assert_string_equal(why, "the layer's size field is not set");
}

/* ---- a real layer ---------------------------------------------------------------------------- */

static float *load(const struct safetensors *file, const char *name, size_t n)
{
    const struct safetensor *tensor = safetensors_find(file, name);
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
        safetensors_open(TEST_DATA "/minilm-preamble.safetensors", message, sizeof message);
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
    run(&layer, "flash", 2, &t);
    double worst = 0;
    for (size_t h = 0; h < HEADS; h++)
        for (size_t i = 0; i < LEN; i++)
            for (size_t d = 0; d < DIM; d++)
                worst = fmax(worst, fabs((double)y[i * WIDE + h * DIM + d] -
                                         (double)x[7][(h * LEN + i) * DIM + d]));
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
        cmocka_unit_test(the_definition_with_every_option),
        cmocka_unit_test(masks_of_every_shape),
        cmocka_unit_test(an_additive_causal_mask_is_a_causal_mask),
        cmocka_unit_test(options_go_through),
        cmocka_unit_test(weights_where_wanted),
        cmocka_unit_test(threads_change_no_bit),
        cmocka_unit_test(refuses_with_a_reason),
        cmocka_unit_test(a_layer_of_minilm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
