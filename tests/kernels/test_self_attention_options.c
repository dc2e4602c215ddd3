/*
 * self_attention: masks of every shape, and options, against the reference.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "judged_layer.h"

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
                struct attn_self_attention l = layer_small;
                l.mask = masks[m];
                struct layer_operands o = layer_operands(&l);
                give(&o.t, &e, shapes[s]);
                layer_run(&l, all_kernels[k], 2, &o.t);
                layer_judge(&l, &o.t);
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
        struct attn_self_attention l = layer_small;
        struct layer_operands o = layer_operands(&l);
        float causal[2 * 9 * 6];
        layer_run(&l, all_kernels[k], 1, &o.t);
        layer_judge(&l, &o.t);
        memcpy(causal, o.t.y, sizeof causal);
        l.mask = ATTN_MASK_BIAS;
        give(&o.t, &e, shapes[2]);
        layer_run(&l, all_kernels[k], 1, &o.t);
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
            struct attn_self_attention l = layer_small;
            l.mask = options[n] & ATTN_OPTION_RAGGED ? ATTN_MASK_NONE : ATTN_MASK_CAUSAL;
            l.options = options[n];
            if (l.options & ATTN_OPTION_SOFTCAP)
                l.softcap = 2;
            if (l.options & ATTN_OPTION_WINDOW) {
                l.window_left = 3;
                l.window_right = -1;
            }
            l.scale = n % 2 ? 0.75F : 0;
            struct layer_operands o = layer_operands(&l);
            give(&o.t, &e, shapes[0]);
            layer_run(&l, all_kernels[k], 2, &o.t);
            layer_judge(&l, &o.t);
            free(o.all);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_of_every_shape),
        cmocka_unit_test(an_additive_causal_mask_is_a_causal_mask),
        cmocka_unit_test(options_go_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
