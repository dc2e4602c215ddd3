/*
 * Lists of keys in split_kv: wherever a list finds its rows, and whether they are copied, a row keeps its bits.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "isa.h"
#include "tested.h"

enum { KV_HEADS = 2, KEYS = 700, ENTRIES = 560, STEP = 389 /* no factor in common with KEYS */ };

/* The key that entry e of a list names, far from the one before; -1 for one in `gap` entries, unless that is
 * 0. */
static int32_t chosen(size_t g, size_t e, size_t gap)
{
    return gap && e % gap == 5 ? -1 : (int32_t)((e * STEP + g) % KEYS);
}

/* Copies row `key` of a head of K or V, and its scales, of which there is one for each group, to row e. */
static void copy_key(const struct attn_problem *p, const struct attn_tensor from[2], size_t key,
                     const struct attn_tensor to[2], size_t g, size_t e)
{
    const size_t groups = p->kv_dtype == ATTN_I4 ? (p->qk_dim - 1) / p->kv_group + 1 : 1;
    memcpy(attn_row(&to[0], 0, g, e), attn_row(&from[0], 0, g, key),
           (size_t)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->qk_dim));
    for (size_t x = 0; from[1].data && x < groups; x++)
        ((float *)attn_row(&to[1], 0, g, e))[(ptrdiff_t)x * to[1].stride[3]] =
            ((const float *)attn_row(&from[1], 0, g, key))[(ptrdiff_t)x * from[1].stride[3]];
}

/* Fills the list of `apart`, and makes `together` of it: the same queries, the keys of its entries one after
 * the other, and a mask that hides those that name none. */
static void gather(struct operands *apart, struct operands *together, size_t gap)
{
    const struct attn_problem *p = &apart->problem;
    const struct attn_tensors *from = &apart->set.tensors, *to = &together->set.tensors;
    for (size_t h = 0; h < p->q_heads; h++) {
        memcpy(attn_row(&to->q, 0, h, 0), attn_row(&from->q, 0, h, 0),
               p->qk_dim * attn_dtype_size(p->dtype));
        for (size_t e = 0; e < ENTRIES; e++)
            ((uint8_t *)attn_row(&to->mask, 0, h, 0))[e] = chosen(0, e, gap) >= 0;
    }
    for (size_t g = 0; g < KV_HEADS; g++)
        for (size_t e = 0; e < ENTRIES; e++) {
            const int32_t key = chosen(g, e, gap);
            ((int32_t *)attn_list(p, from, 0, g, 0))[e] = key;
            if (key < 0)
                continue;
            copy_key(p, (const struct attn_tensor[]){from->k, from->k_scale}, (size_t)key,
                     (const struct attn_tensor[]){to->k, to->k_scale}, g, e);
            copy_key(p, (const struct attn_tensor[]){from->v, from->v_scale}, (size_t)key,
                     (const struct attn_tensor[]){to->v, to->v_scale}, g, e);
        }
    tensors_seal(&apart->set, p);
    tensors_seal(&together->set, &together->problem);
}

static void assert_same_bits(const char *text, const struct operands *a, const struct operands *b)
{
    const struct attn_problem *p = &a->problem;
    const struct attn_tensors *s = &a->set.tensors, *t = &b->set.tensors;
    for (size_t h = 0; h < p->q_heads; h++)
        if (memcmp(attn_row(&s->o, 0, h, 0), attn_row(&t->o, 0, h, 0),
                   p->v_dim * attn_dtype_size(p->dtype)) != 0 ||
            memcmp(attn_row(&s->lse, 0, h, 0), attn_row(&t->lse, 0, h, 0), sizeof(float)) != 0)
            fail_msg("%s/%s: %s: row %zu has other bits where its keys lie together", tested->name,
                     attn_isa_name(tested->isa), text, h);
}

/* Problems of one type and dimension, with tiles of 1, 2, 4 and 8 rows. */
static void lists_of(const char *type, int dim)
{
    static const size_t groups[] = {1, 2, 4, 11}, gaps[] = {0, 97};
    for (size_t n = 0; n < 2 * COUNT(groups); n++) {
        const size_t heads = KV_HEADS * groups[n / 2];
        char text[128], list[128];
        snprintf(list, sizeof list, "hq=%zu,hkv=2,skv=%d,d=%d,keys=index:%d,outputs=o+lse%s", heads,
                 KEYS, dim, ENTRIES, type);
        snprintf(text, sizeof text, "hq=%zu,hkv=2,skv=%d,d=%d,mask=bool,outputs=o+lse%s", heads,
                 ENTRIES, dim, type);
        struct operands apart = operands_of(list), together = operands_of(text);
        gather(&apart, &together, gaps[n % 2]);
        if (operands_call(&apart, tested, 1) && operands_call(&together, tested, 1)) {
            tested_ran++;
            assert_same_bits(list, &apart, &together);
        }
        operands_close(&together);
        operands_close(&apart);
    }
}

static void listed_keys_have_the_bits_of_neighbours(void **state)
{
    (void)state;
    static const char *const types[] = {
        "", ",dtype=bf16", ",dtype=f16", ",kv_dtype=i8", ",kv_dtype=f8e4m3", ",kv_dtype=i4"};
    size_t count;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t i = 0; i < count; i++) {
        tested = kernels[i];
        if (strcmp(tested->name, "split_kv") != 0 || !attn_isa_available(tested->isa))
            continue;
        tested_ran = 0;
        for (size_t n = 0; n < COUNT(types); n++) {
            lists_of(types[n], 128);
            lists_of(types[n], 72); /* no whole number of vectors */
        }
        assert_true(tested_ran > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_keys_have_the_bits_of_neighbours),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
