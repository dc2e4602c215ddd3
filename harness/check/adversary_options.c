/*
 * adversary_options: masks, biases, sinks, lengths, pages and scales.
 */
#include "adversary_options.h"

#include <math.h>

#include "base/random.h"
#include "sight.h"
#include "problem/lengths.h"

/* ---- shapes -------------------------------------------------------------------------------- */

/* One pattern for each sequence and head. */
bool shape_mask(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BOOL;
    c->input.mask_full = true;
    return true;
}

/* Three blocks of 64 queries and five of 64 keys, and a part of another one. */
bool shape_mask_blocks(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BOOL;
    c->problem.q_len = c->problem.q_len < 128 ? 3 * 64 + 9 : c->problem.q_len;
    c->problem.kv_len = c->problem.kv_len < 256 ? 5 * 64 + 9 : c->problem.kv_len;
    return true;
}

bool shape_bias(struct problem_case *c)
{
    c->problem.mask |= ATTN_MASK_BIAS;
    c->input.bias = INPUT_BIAS_FULL;
    return true;
}

static bool cap(struct problem_case *c, float softcap)
{
    c->problem.options |= ATTN_OPTION_SOFTCAP;
    c->problem.softcap = softcap;
    return true;
}

/* Scores of 1000 are 200 times as large: tanh is 1 but for what f32 can say. */
bool shape_softcap(struct problem_case *c)
{
    return cap(c, 5);
}

bool shape_softcap_small(struct problem_case *c)
{
    return cap(c, 50);
}

/* N(0, 1) is so small beside it that tanh(x) must be x: where it is right to a rounding of 1 only,
 * scores are wrong by 1e-3. */
bool shape_softcap_far(struct problem_case *c)
{
    return cap(c, 1e4F);
}

bool shape_sinks(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_SINKS;
    return true;
}

bool shape_sinks_and_masked_rows(struct problem_case *c)
{
    if (!(c->problem.mask & ATTN_MASK_CAUSAL_TOP_LEFT))
        c->problem.mask |= ATTN_MASK_CAUSAL;
    c->problem.q_len = c->problem.kv_len + 13;
    return shape_sinks(c) && c->problem.mask & ATTN_MASK_CAUSAL;
}

static const struct input_lengths none_to_two = {true, 0, 2, 1};

bool shape_short(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_RAGGED;
    c->problem.batch = 4;
    c->input.lens = none_to_two;
    return c->problem.kv_len >= 2;
}

bool shape_short_packed(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_PACKED;
    c->problem.batch = 6;
    c->problem.q_len = c->problem.q_len < 2 ? 2 : c->problem.q_len;
    c->input.decode = 0;
    c->input.lens = c->input.qlens = none_to_two;
    return c->problem.kv_len >= 2;
}

/* Several pages a sequence, the last one not full. */
bool shape_pages(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_PAGED;
    c->problem.batch = c->problem.batch < 3 ? 3 : c->problem.batch;
    if (!c->problem.page_size || c->problem.page_size * 3 > c->problem.kv_len)
        c->problem.page_size = 16;
    c->problem.kv_len = c->problem.kv_len < 50 ? 50 : c->problem.kv_len;
    return true;
}

bool shape_pages_and_lengths(struct problem_case *c)
{
    c->problem.options |= ATTN_OPTION_RAGGED;
    return shape_pages(c);
}

bool shape_int8(struct problem_case *c)
{
    c->problem.kv_dtype = ATTN_I8;
    return true;
}

bool shape_int8_channels(struct problem_case *c)
{
    c->input.channel_scales = true;
    return shape_int8(c);
}

/* No query sees the first keys. */
bool shape_window(struct problem_case *c)
{
    c->problem.q_len = c->problem.kv_len / 3 + 1;
    c->problem.options |= ATTN_OPTION_WINDOW;
    c->problem.window_left = (ptrdiff_t)(c->problem.kv_len / 5);
    c->problem.window_right = -1;
    return true;
}

/* No query sees the last keys. */
bool shape_top_left(struct problem_case *c)
{
    c->problem.q_len = c->problem.kv_len / 3 + 1;
    c->problem.mask &= ~(unsigned)ATTN_MASK_CAUSAL;
    c->problem.mask |= ATTN_MASK_CAUSAL_TOP_LEFT;
    return true;
}

/* ---- masks --------------------------------------------------------------------------------- */

/* Whether an element of a mask or a bias hides its key, by its place in memory. */
typedef bool hides(const struct trial *trial, const size_t at[4]);

static void mark(struct trial *trial, hides *hide)
{
    const struct attn_tensor *t = &trial->set.tensors.mask;
    const size_t *dims = trial->set.shape.mask;
    size_t at[4];
    for (at[0] = 0; at[0] < dims[0]; at[0]++)
        for (at[1] = 0; at[1] < dims[1]; at[1]++)
            for (at[2] = 0; at[2] < dims[2]; at[2]++)
                for (at[3] = 0; at[3] < dims[3]; at[3]++)
                    tensors_set(t, at[0], at[1], at[2], at[3], !hide(trial, at));
}

static bool is_hidden_needle(const struct trial *trial, const size_t at[4])
{
    return at[2] % 2 && at[3] == check_needle(trial, at[0], attn_kv_head(&trial->problem, at[1]));
}

/* From every other query. */
void hide_needles(struct trial *trial, uint64_t key)
{
    (void)key;
    mark(trial, is_hidden_needle);
}

static bool is_not_last(const struct trial *trial, const size_t at[4])
{
    return at[3] + 1 != attn_sequence(&trial->problem, &trial->set.tensors, at[0]).kv_len;
}

void show_last_key(struct trial *trial, uint64_t key)
{
    (void)key;
    mark(trial, is_not_last);
}

/* Of every three rows one whole, and of one the first tile. */
static bool is_row_masked(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    const size_t turn = (at[2] + at[1]) % 3;
    return turn == 1 || (turn == 2 && at[3] < 64);
}

void mask_rows(struct trial *trial, uint64_t key)
{
    (void)key;
    mark(trial, is_row_masked);
}

/* Blocks are full or empty, or so but for the element at one of their corners. */
static bool is_block_hidden(size_t side, const size_t at[4])
{
    const size_t number = at[2] / side * 5 + at[3] / side, corner = number / 4 % 4;
    const bool top = at[2] % side == 0, left = at[3] % side == 0;
    const bool bottom = at[2] % side == side - 1, right = at[3] % side == side - 1;
    const bool odd = number % 4 >= 2 && (corner & 1 ? bottom : top) && (corner & 2 ? right : left);
    return number % 2 != odd;
}

static bool is_block_of_64_hidden(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    return is_block_hidden(64, at);
}

static bool is_block_of_128_hidden(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    return is_block_hidden(128, at);
}

void mark_blocks_of_64(struct trial *trial, uint64_t key)
{
    (void)key;
    mark(trial, is_block_of_64_hidden);
}

void mark_blocks_of_128(struct trial *trial, uint64_t key)
{
    (void)key;
    mark(trial, is_block_of_128_hidden);
}

static bool is_column_hidden(const struct trial *trial, const size_t at[4])
{
    (void)trial;
    return at[3] % 5 == 2 || at[3] / 64 == 1;
}

/* From all queries, by the mask or by the bias. */
void hide_columns(struct trial *trial, uint64_t key)
{
    const struct attn_tensor *t = &trial->set.tensors.bias;
    const size_t *dims = trial->set.shape.bias;
    const bool biased = !(trial->problem.mask & ATTN_MASK_BOOL);
    if (!biased)
        mark(trial, is_column_hidden);
    for (size_t b = 0; biased && b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++)
                for (size_t j = 0; j < dims[3]; j++)
                    if (is_column_hidden(trial, (size_t[]){b, h, i, j}))
                        tensors_set(t, b, h, i, j, -INFINITY);
    poison_hidden(trial, key);
}

/* ---- hidden keys --------------------------------------------------------------------------- */

/* Whether a query of the heads of KV head g sees the key. */
static bool is_seen(const struct trial *trial, size_t b, size_t g, size_t j)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const size_t group = p->q_heads / p->kv_heads, queries = attn_sequence(p, t, b).q_len;
    for (size_t h = g * group; h < (g + 1) * group; h++)
        for (size_t i = 0; i < queries; i++) {
            const struct sight s = sight_of(p, t, (struct tensors_place){b, h, i, 0});
            if (!sight_hider(&s, j))
                return true;
        }
    return false;
}

static void poison_key(const struct attn_problem *p, const struct attn_tensors *t,
                       struct patterns_key at, double x)
{
    const bool channels = p->kv_dtype == ATTN_I8 && t->k_scale.stride[3];
    for (size_t d = 0; !channels && d < p->qk_dim; d++) /* a scale of all keys stays */
        keys_set(p, t, KEYS_K, at, d, x);
    for (size_t d = 0; d < p->v_dim; d++)
        keys_set(p, t, KEYS_V, at, d, x);
}

/* Keys of a sequence that nobody else has: of packed ones, those behind its end are the next one's. */
static size_t own_keys(const struct trial *trial, size_t b)
{
    const struct attn_problem *p = &trial->problem;
    const struct sight s = sight_of(p, &trial->set.tensors, (struct tensors_place){b, 0, 0, 0});
    return lengths_pack_keys(p) ? s.sequence.kv_len : sight_reach(&s);
}

/* NaN, infinity and -infinity in K and V of the keys that no query sees. */
void poison_hidden(struct trial *trial, uint64_t key)
{
    static const double poison[] = {NAN, INFINITY, -INFINITY};
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    (void)key;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < own_keys(trial, b); j++)
                if (!is_seen(trial, b, g, j))
                    poison_key(p, t, (struct patterns_key){b, g, j}, poison[(b + g + j) % 3]);
}

/* ---- biases -------------------------------------------------------------------------------- */

/* What the bias of a row is at its key j; the random one where it stays. */
typedef double bias_at(const struct trial *trial, size_t i, size_t j, double random);

static void set_bias(struct trial *trial, bias_at *at)
{
    const struct attn_tensor *t = &trial->set.tensors.bias;
    const size_t *dims = trial->set.shape.bias;
    for (size_t b = 0; b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++)
                for (size_t j = 0; j < dims[3]; j++)
                    tensors_set(t, b, h, i, j, at(trial, h + i, j, tensors_get(t, b, h, i, j)));
}

static double hole(const struct trial *trial, size_t i, size_t j, double random)
{
    (void)trial;
    return i % 5 == 3 || (i * 7 + j) % 3 == 1 ? -INFINITY : random;
}

/* -inf at a third of all keys, and in every fifth row. */
void bias_holes(struct trial *trial, uint64_t key)
{
    (void)key;
    set_bias(trial, hole);
}

/* x, or the largest number of its sign that is finite in the bias's type. */
static double held(const struct trial *trial, double x)
{
    return trial->set.tensors.bias.dtype == ATTN_F16 ? copysign(fmin(fabs(x), 60000), x) : x;
}

/* Rows in turn: half of the keys, all but one, or all keys that are not hidden. */
static double far_below(const struct trial *trial, size_t i, size_t j, double random)
{
    const double low = held(trial, -1e30);
    const bool odd = (i + j) % 2;
    return i % 3 == 0 ? (odd ? low : random) : i % 3 == 1 ? (j ? low : 0) : odd ? -INFINITY : low;
}

void bias_far_below(struct trial *trial, uint64_t key)
{
    (void)key;
    set_bias(trial, far_below);
}

/* One key takes all, or two share. */
static double far_above(const struct trial *trial, size_t i, size_t j, double random)
{
    const size_t keys = trial->problem.kv_len, one = i * 7 % keys,
                 other = i % 4 ? one : i * 5 % keys;
    return j == one || j == other ? held(trial, 3e38) : random;
}

void bias_far_above(struct trial *trial, uint64_t key)
{
    (void)key;
    set_bias(trial, far_above);
}

/* ---- sinks --------------------------------------------------------------------------------- */

static void set_sink(struct trial *trial, size_t h, float sink)
{
    ((float *)trial->set.tensors.sinks.data)[h] = sink;
}

void raise_sinks(struct trial *trial, uint64_t key)
{
    (void)key;
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        set_sink(trial, h, 100 + (float)h);
}

void vary_sinks(struct trial *trial, uint64_t key)
{
    static const float sinks[] = {-INFINITY, 15, -1e30F, 0};
    (void)key;
    for (size_t h = 0; h < trial->problem.q_heads; h++)
        set_sink(trial, h, sinks[h % 4]);
}

/* ---- pages --------------------------------------------------------------------------------- */

/* Full pages that two sequences begin with. */
static size_t pages_of_both(const struct trial *trial, size_t a, size_t b)
{
    const struct attn_problem *p = &trial->problem;
    const size_t x = attn_sequence(p, &trial->set.tensors, a).kv_len;
    const size_t y = attn_sequence(p, &trial->set.tensors, b).kv_len;
    return (x < y ? x : y) / p->page_size;
}

/* NaN into a page of K and V that is named no more. */
static void poison_page(const struct trial *trial, size_t page)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    for (size_t g = 0; p->kv_dtype != ATTN_I8 && g < p->kv_heads; g++)
        for (size_t r = 0; r < p->page_size; r++) {
            for (size_t d = 0; d < p->qk_dim; d++)
                tensors_set(&t->k, page, g, r, d, NAN);
            for (size_t d = 0; d < p->v_dim; d++)
                tensors_set(&t->v, page, g, r, d, NAN);
        }
}

/* All sequences begin with pages of the first one, in another order in every other sequence. */
void share_pages(struct trial *trial, uint64_t key)
{
    const struct attn_tensor *t = &trial->set.tensors.block_table;
    int32_t *first = t->data;
    (void)key;
    for (size_t b = 1; b < trial->problem.batch; b++) {
        int32_t *own = first + (ptrdiff_t)b * t->stride[0];
        const size_t n = pages_of_both(trial, 0, b);
        for (size_t k = 0; k < n; k++) {
            poison_page(trial, (size_t)own[k]);
            own[k] = first[b % 2 ? k : n - 1 - k];
        }
    }
}

/* ---- int8 ---------------------------------------------------------------------------------- */

/* Scales of 0: of K's first key, or dimension, and every third one; of V's first and every other. */
void clear_scales(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    const bool channels = t->k_scale.stride[3];
    (void)key;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct patterns_key at = {b, g, j};
                for (size_t d = 0; d < (channels ? p->qk_dim : 1); d++)
                    if ((channels ? d : j) % 3 == 0)
                        *keys_scale(p, t, KEYS_K, at, d) = 0;
                if (j % 2 == 0)
                    *keys_scale(p, t, KEYS_V, at, 0) = 0;
            }
}

/* Every integer is -128 or 127. */
void take_extremes(struct trial *trial, uint64_t key)
{
    const struct attn_problem *p = &trial->problem;
    const struct attn_tensors *t = &trial->set.tensors;
    uint64_t number = 0;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t g = 0; g < p->kv_heads; g++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct attn_sequence s = attn_sequence(p, t, b);
                int8_t *k = attn_kv_row(p, t, &t->k, &s, b, g, j);
                int8_t *v = attn_kv_row(p, t, &t->v, &s, b, g, j);
                for (size_t d = 0; d < p->qk_dim; d++)
                    k[d] = random_bits(key, number++) & 1 ? -128 : 127;
                for (size_t d = 0; v != k && d < p->v_dim; d++)
                    v[d] = random_bits(key, number++) & 1 ? -128 : 127;
            }
}
