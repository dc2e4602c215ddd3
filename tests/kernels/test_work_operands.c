/*
 * Useful work with operands: pairs, flops and bytes are what counting key by key and address by
 * address gives.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "drawn_operands.h"
#include "problem/parse.h"

#define PROBLEMS 2000

/* Addresses, each once. */
struct addresses {
    const char *at[1 << 16];
    size_t n;
};

static void add(struct addresses *set, const void *data, ptrdiff_t number, size_t bytes)
{
    assert_true(set->n < sizeof set->at / sizeof *set->at);
    set->at[set->n++] = (const char *)data + number * (ptrdiff_t)bytes;
}

static int in_order(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* How many there are, which are forgotten. */
static double distinct(struct addresses *set)
{
    double n = 0;
    qsort(set->at, set->n, sizeof *set->at, in_order);
    for (size_t k = 0; k < set->n; k++)
        n += k == 0 || set->at[k] != set->at[k - 1];
    set->n = 0;
    return n;
}

/* What counting gives; elements of a sequence as add_elements() of work.c adds them. */
struct count {
    double pairs, rows, keys;
    double bias, mask, k_scale, v_scale;
};

static double more(const struct attn_tensor *t, bool packed, double so_far, double of_sequence)
{
    return t->stride[0] || packed ? so_far + of_sequence : fmax(so_far, of_sequence);
}

static bool keys_packed(const struct attn_problem *p)
{
    return p->options & ATTN_OPTION_PACKED &&
           !(p->options & (ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED));
}

/* Elements of a bias or mask that query heads [from, to) of a sequence reach by position and lists: those
 * that the problem without it leaves. */
static double reached_by(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                         size_t from, size_t to)
{
    static struct addresses set;
    struct drawn_operands bare = *d;
    bare.problem.mask &= ~(unsigned)(ATTN_MASK_BIAS | ATTN_MASK_BOOL);
    for (size_t h = from; h < to; h++)
        for (size_t i = 0; i < drawn_q_len(d, b); i++)
            for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                if (drawn_sees(&bare, b, h, i, j))
                    add(&set, t->data,
                        (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)h * t->stride[1] +
                            (ptrdiff_t)i * t->stride[2] + (ptrdiff_t)j,
                        attn_dtype_size(t->dtype));
    return distinct(&set);
}

/* The same of all; where KV heads with lists of their own share it, of the one that reaches the most. */
static double reached(const struct drawn_operands *d, const struct attn_tensor *t, size_t b)
{
    const size_t group = d->problem.q_heads / d->problem.kv_heads;
    double most = 0;
    if (t->stride[1] || !(d->problem.options & ATTN_OPTION_INDEX))
        return reached_by(d, t, b, 0, d->problem.q_heads);
    for (size_t g = 0; g < d->problem.kv_heads; g++)
        most = fmax(most, reached_by(d, t, b, g * group, (g + 1) * group));
    return most;
}

/* Entries of all lists. */
static double entries(const struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    double lists = 0;
    for (size_t b = 0; p->options & ATTN_OPTION_INDEX && b < p->batch; b++)
        lists += ceil((double)drawn_q_len(d, b) / (double)p->index_block);
    return lists * (double)(p->kv_heads * p->index_count);
}

/* Scales of the keys that a sequence sees: of all KV heads, or of the one that sees the most. */
static double scales(const struct drawn_operands *d, const struct attn_tensor *t, size_t b,
                     size_t columns)
{
    static struct addresses set;
    double sum = 0, most = 0;
    for (size_t g = 0; g < d->problem.kv_heads; g++) {
        for (size_t j = 0; j < drawn_kv_len(d, b); j++)
            for (size_t e = 0; e < columns && drawn_group_sees(d, b, g, j); e++)
                add(&set, t->data, (ptrdiff_t)j * t->stride[2] + (ptrdiff_t)e * t->stride[3],
                    sizeof(float));
        const double head = distinct(&set);
        sum += head;
        most = fmax(most, head);
    }
    return t->stride[1] ? sum : most;
}

/* Whether some query of a sequence sees key j by its place. */
static bool places_see(const struct drawn_operands *d, size_t b, size_t j)
{
    struct drawn_operands bare = *d;
    bare.problem.mask &= ~(unsigned)(ATTN_MASK_BIAS | ATTN_MASK_BOOL);
    bare.problem.options &= ~(unsigned)ATTN_OPTION_INDEX;
    return drawn_group_sees(&bare, b, 0, j);
}

/* Keys that a sequence sees in full pages that an earlier one begins with, too, and sees. */
static double seen_before(const struct drawn_operands *d, size_t b)
{
    const size_t page = d->problem.page_size;
    const int32_t *table = d->tensors.block_table.data;
    const size_t width = (size_t)d->tensors.block_table.stride[0];
    double most = 0;
    for (size_t a = 0; d->problem.options & ATTN_OPTION_PAGED && a < b; a++) {
        double n = 0;
        const size_t full =
            (size_t)fmin((double)drawn_kv_len(d, a), (double)drawn_kv_len(d, b)) / page;
        for (size_t k = 0; k < full && table[a * width + k] == table[b * width + k]; k++)
            for (size_t j = k * page; j < (k + 1) * page; j++)
                n += places_see(d, a, j) && places_see(d, b, j);
        most = fmax(most, n);
    }
    return most;
}

static struct count count_all(const struct drawn_operands *d)
{
    const struct attn_problem *p = &d->problem;
    const struct attn_tensors *t = &d->tensors;
    const bool packed = keys_packed(p);
    struct count c = {0};
    for (size_t b = 0; b < p->batch; b++) {
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < drawn_q_len(d, b); i++, c.rows++)
                for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                    c.pairs += drawn_sees(d, b, h, i, j);
        double keys = 0;
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < drawn_kv_len(d, b); j++)
                keys += drawn_group_sees(d, b, g, j);
        c.keys += fmax(keys - (double)p->kv_heads * seen_before(d, b), 0);
        if (p->mask & ATTN_MASK_BIAS)
            c.bias = more(&t->bias, false, c.bias, reached(d, &t->bias, b));
        if (p->mask & ATTN_MASK_BOOL)
            c.mask = more(&t->mask, false, c.mask, reached(d, &t->mask, b));
        if (!attn_dtype_scaled(p->kv_dtype))
            continue;
        c.k_scale = more(&t->k_scale, packed && t->k_scale.stride[2], c.k_scale,
                         scales(d, &t->k_scale, b, t->k_scale.stride[3] ? p->qk_dim : 1));
        c.v_scale = more(&t->v_scale, packed && t->v_scale.stride[2], c.v_scale,
                         scales(d, &t->v_scale, b, 1));
    }
    return c;
}

static double bytes_of(const struct drawn_operands *d, const struct count *c)
{
    const struct attn_problem *p = &d->problem;
    const double element = p->dtype == ATTN_F32 ? 4 : 2;
    const double key = attn_dtype_scaled(p->kv_dtype) ? 1 : element;
    const bool shared = p->options & ATTN_OPTION_SHARED_KV;
    double row = (double)p->qk_dim * element;
    row += p->outputs & ATTN_OUTPUT_O ? (double)p->v_dim * element : 0;
    row += p->outputs & ATTN_OUTPUT_LSE ? 4 : 0;
    row += p->outputs & ATTN_OUTPUT_WEIGHTS ? 4 * (double)p->kv_len : 0;
    return c->rows * row + c->keys * key * (double)(p->qk_dim + (shared ? 0 : p->v_dim)) +
           c->bias * (d->tensors.bias.dtype == ATTN_F32 ? 4 : 2) + c->mask +
           4 * (c->k_scale + c->v_scale) + 4 * entries(d) +
           (p->mask & ATTN_MASK_TREE ? 4 * c->rows / (double)p->q_heads : 0);
}

static void work_is_what_counting_gives(void **state)
{
    (void)state;
    const struct drawn_limits limits = {
        .q_len = 7,
        .kv_len = 20,
        .dim = 9,
        .masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_BIAS | ATTN_MASK_BOOL |
                 ATTN_MASK_TREE,
        .options = ATTN_OPTION_WINDOW | ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED |
                   ATTN_OPTION_PACKED | ATTN_OPTION_SHARED_KV | ATTN_OPTION_INDEX,
        .dtypes = 1u << ATTN_F32 | 1u << ATTN_BF16 | 1u << ATTN_F16,
        .kv_dtypes = 1u << ATTN_I8 | 1u << ATTN_F8E4M3 | 1u << ATTN_F8E5M2,
    };
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        const struct attn_problem p = drawn_problem(&limits, seed);
        struct drawn_operands d;
        char text[PARSE_TEXT];
        drawn_open(&d, &p, false, seed);
        const struct count c = count_all(&d);
        const struct attn_work work = attn_work(&p, &d.tensors);
        parse_print_problem(&p, text);
        if (work.pairs != c.pairs)
            fail_msg("%s: %g pairs, not %g", text, work.pairs, c.pairs);
        assert_true(work.flops == 2 * c.pairs * (double)(p.qk_dim + p.v_dim));
        if (work.bytes != bytes_of(&d, &c))
            fail_msg("%s: %g bytes, not %g", text, work.bytes, bytes_of(&d, &c));
        drawn_close(&d);
    }
}

/* A problem without such operands is what it says alone. */
static void plain_work_is_that_of_the_problem(void **state)
{
    (void)state;
    const struct drawn_limits limits = {
        .q_len = 50,
        .kv_len = 90,
        .dim = 9,
        .masks = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT,
        .options = ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP | ATTN_OPTION_SHARED_KV,
        .dtypes = 1u << ATTN_F32 | 1u << ATTN_BF16,
    };
    const struct attn_tensors none = {.size = sizeof none};
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        const struct attn_problem p = drawn_problem(&limits, seed);
        const struct attn_work work = attn_work(&p, &none);
        assert_true(work.pairs == attn_visible_pairs(&p));
        assert_true(work.flops == attn_useful_flops(&p));
        assert_true(work.bytes == attn_compulsory_bytes(&p));
    }
}

/* Keys are looked at some thousands at a time: one seen in front of such a border, one behind. */
static void long_rows_are_counted_across_borders(void **state)
{
    (void)state;
    enum { KEYS = 9001, QUERIES = 3 };
    struct attn_problem p;
    attn_problem_init(&p);
    p.batch = 2;
    p.q_heads = 4;
    p.q_len = QUERIES;
    p.kv_len = KEYS;
    p.mask = ATTN_MASK_BOOL;
    uint8_t *mask = calloc(QUERIES * KEYS, 1);
    assert_non_null(mask);
    const struct attn_tensors t = {
        .size = sizeof t, .mask = {.data = mask, .dtype = ATTN_BOOL, .stride = {0, 0, KEYS, 1}}};
    mask[4095] = mask[KEYS + 4096] = mask[2 * KEYS + 9000] = mask[KEYS + 9000] = 1;
    const struct attn_work work = attn_work(&p, &t);
    assert_true(work.pairs == 2 * 4 * 4);
    /* Q and O, K and V of 3 keys of 2 sequences, the mask once */
    assert_true(work.bytes == 2 * 4 * 3 * 2 * 4 + 2 * 3 * 2 * 4 + QUERIES * KEYS);
    free(mask);
}

/* Two heads of four keys of 35 elements of 4 bits, 18 bytes each, V of 70, 35 bytes, in groups of 32: two
 * and three scales a key, and as many zero points, or two and three for all. */
static void half_bytes_scales_and_zero_points_count_once(void **state)
{
    (void)state;
    struct attn_problem p;
    attn_problem_init(&p);
    p.q_heads = p.kv_heads = 2;
    p.kv_len = 4;
    p.qk_dim = 35;
    p.v_dim = 70;
    p.kv_dtype = ATTN_I4;
    p.kv_group = 32;
    struct attn_tensors t = {.size = sizeof t,
                             .k_scale.stride = {16, 8, 2, 1},
                             .v_scale.stride = {24, 12, 3, 1},
                             .k_zero.stride = {16, 8, 2, 1},
                             .v_zero.stride = {24, 12, 3, 1}};
    const double plain = 2 * (35 + 70) * 4 + 2 * 4 * (18 + 35), scales = 2 * 4 * (2 + 3) * 4;
    assert_true(attn_compulsory_bytes(&p) == plain);
    assert_true(attn_work(&p, &t).bytes == plain + scales);
    p.options |= ATTN_OPTION_ZERO_POINTS;
    assert_true(attn_work(&p, &t).bytes == plain + 2 * scales);
    t.k_zero.stride[1] = t.k_zero.stride[2] = t.v_zero.stride[1] = t.v_zero.stride[2] = 0;
    t.k_zero.stride[0] = t.v_zero.stride[0] = 0;
    assert_true(attn_work(&p, &t).bytes == plain + scales + (2 + 3) * 4);
}

/* Pages that sequences begin with count once, as far as both see them. */
static void keys_of_shared_pages_count_once(void **state)
{
    (void)state;
    enum { KEYS = 10, PAGE = 4, ROWS = 3 * 2, KEY = 2 * 4 };
    int32_t table[] = {0, 1, 2, 0, 1, 3, 0, 4, 2}, lens[] = {10, 9, 7};
    struct attn_problem p;
    attn_problem_init(&p);
    p.batch = 3;
    p.q_len = 2;
    p.kv_len = KEYS;
    p.options = ATTN_OPTION_PAGED;
    p.page_size = PAGE;
    const struct attn_tensors t = {.size = sizeof t,
                                   .block_table = {.data = table, .dtype = ATTN_I32, .stride = {3}},
                                   .kv_lens = {.data = lens, .dtype = ATTN_I32}};
    /* 8 keys of the second sequence are the first's, and 4 of the third, whose page 2 is not looked for */
    assert_true(attn_work(&p, &t).bytes == ROWS * KEY + (30 - 8 - 4) * KEY);
    p.options |= ATTN_OPTION_RAGGED;
    assert_true(attn_work(&p, &t).bytes == ROWS * KEY + (10 + 1 + 3) * KEY);
    lens[1] = 8; /* of its second page each has all */
    assert_true(attn_work(&p, &t).bytes == ROWS * KEY + (10 + 0 + 3) * KEY);
    lens[1] = 7; /* now not */
    assert_true(attn_work(&p, &t).bytes == ROWS * KEY + (10 + 3 + 3) * KEY);
    /* The last query sees 3 keys before its own, the first one those before: of 10, keys 5 to 9; of 7, 2 to
     * 6, of which the others see none in a shared page. */
    lens[1] = 10;
    p.options |= ATTN_OPTION_WINDOW;
    p.window_left = 3;
    p.window_right = 0;
    assert_true(attn_work(&p, &t).bytes == ROWS * KEY + (5 + (5 - 3) + 5) * KEY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_what_counting_gives),
        cmocka_unit_test(plain_work_is_that_of_the_problem),
        cmocka_unit_test(long_rows_are_counted_across_borders),
        cmocka_unit_test(half_bytes_scales_and_zero_points_count_once),
        cmocka_unit_test(keys_of_shared_pages_count_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
