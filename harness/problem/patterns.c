/*
 * patterns: fills operands.
 *
 * Element (b, h, s, d) gets number ((b H + h) S + s) D + d of its stream, whatever the layout, padding and
 * thread count.
 */
#include "patterns.h"

#include <math.h>

#include "base/random.h"
#include "tensors_view.h"

/* ---- random numbers ------------------------------------------------------------------------ */

#define STREAM_FINE UINT64_C(0x66696e65)

typedef void numbers(float *x, size_t n, uint64_t key, uint64_t first);

struct normal {
    numbers *generate;
    uint64_t key;
    bool fine; /* with all bits of f64 */
    double mean, size;
    size_t heads, rows, cols;
};

/* Draws n <= KV_CHUNK numbers of the stream, from number `first` on. */
static void draw(numbers *generate, bool fine, double *x, size_t n, uint64_t key, uint64_t first)
{
    float floats[KV_CHUNK];
    generate(floats, n, key, first);
    for (size_t k = 0; k < n; k++)
        x[k] = (double)floats[k];
    if (fine)
        random_refine(x, n, random_key(key, STREAM_FINE), first);
}

/* Generates elements [first, first + n) of row (b, h, r). */
static void generate_at(const struct normal *c, size_t b, size_t h, size_t r, size_t first,
                        size_t n, double *x)
{
    const uint64_t row = (b * c->heads + h) * c->rows + r;
    draw(c->generate, c->fine, x, n, c->key, row * c->cols + first);
    for (size_t k = 0; k < n; k++)
        x[k] = c->mean + c->size * x[k];
}

static void generate_key(const void *context, struct kv_place at, size_t first, size_t n, double *x)
{
    generate_at(context, at.b, at.g, at.j, first, n, x);
}

static void fill_queries(struct tensor_set *set, const struct attn_problem *p,
                         const struct normal *c)
{
    const size_t elements = p->batch * p->q_heads * p->q_len * p->qk_dim;
#pragma omp parallel for collapse(3) if (elements > TENSORS_PARALLEL)
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                const struct attn_sequence s = attn_sequence(p, &set->tensors, b);
                double x[KV_CHUNK];
                for (size_t d = 0; i < s.q_len && d < p->qk_dim; d += KV_CHUNK) {
                    const size_t n = p->qk_dim - d < KV_CHUNK ? p->qk_dim - d : KV_CHUNK;
                    generate_at(c, b, h, i, d, n, x);
                    tensors_set_row(&set->tensors.q, b, h, s.q_first + i, d, x, n);
                }
            }
}

static void fill(struct tensor_set *set, const struct attn_problem *p,
                 enum patterns_operand operand, uint64_t key, numbers *generate, double mean,
                 double size)
{
    const bool q = operand == PATTERNS_Q;
    const struct normal c = {.generate = generate,
                             .key = key,
                             .fine = p->dtype == ATTN_F64,
                             .mean = mean,
                             .size = size,
                             .heads = q ? p->q_heads : p->kv_heads,
                             .rows = q ? p->q_len : p->kv_len,
                             .cols = operand == PATTERNS_V ? p->v_dim : p->qk_dim};
    if (q)
        fill_queries(set, p, &c);
    else
        kv_fill(set, p, operand == PATTERNS_K ? KV_K : KV_V, generate_key, &c);
}

void patterns_normal(struct tensor_set *set, const struct attn_problem *problem,
                     enum patterns_operand operand, uint64_t key, double mean, double size)
{
    fill(set, problem, operand, key, random_normal, mean, size);
}

void patterns_uniform(struct tensor_set *set, const struct attn_problem *problem,
                      enum patterns_operand operand, uint64_t key)
{
    fill(set, problem, operand, key, random_uniform, 0, 1);
}

/* ---- prescribed scores --------------------------------------------------------------------- */

/* Element d of the vector w of KV head (b, g), rounded to Q's type: a random sign and a magnitude in [0.5,
 * 1.5) times `size`, so that every dimension counts and another head's keys give unrelated scores. */
static double direction(const struct attn_problem *p, uint64_t key, size_t b, size_t g, size_t d,
                        double size)
{
    const uint64_t bits = random_bits(random_key(key, b), ((uint64_t)g << 32) + d);
    const double x = (double)(bits >> 12) * 0x1p-52 + 0.5;
    return tensors_rounded(p->dtype, bits & 1 ? size * x : -size * x);
}

/* A magnitude for the elements of w with which K's are as large as Q's for scores near 1. */
static double balanced_size(const struct attn_problem *problem)
{
    const double scale = fabs((double)attn_problem_scale(problem));
    return 1 / sqrt(scale * sqrt((double)problem->qk_dim));
}

static void fill_q(struct tensor_set *set, const struct attn_problem *p, uint64_t key)
{
    const double size = balanced_size(p);
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, &set->tensors, b);
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t d = 0; d < p->qk_dim; d++) {
                const double w = direction(p, key, b, attn_kv_head(p, h), d, size);
                for (size_t i = 0; i < s.q_len; i++)
                    tensors_set(&set->tensors.q, b, h, s.q_first + i, d, w);
            }
    }
}

struct scores {
    const struct attn_problem *p;
    const struct attn_tensors *tensors;
    uint64_t key;
    patterns_score *score;
    const void *context;
    double noise;
};

/* Loads elements [first, first + n) of w, from the first query if there is one. */
static void load_w(const struct scores *c, size_t b, size_t g, size_t first, size_t n, double *w)
{
    const struct attn_problem *p = c->p;
    const struct attn_sequence s = attn_sequence(p, c->tensors, b);
    const size_t h = g * (p->q_heads / p->kv_heads);
    if (s.q_len)
        tensors_get_row(&c->tensors->q, b, h, s.q_first, first, w, n);
    else
        for (size_t d = 0; d < n; d++)
            w[d] = direction(p, c->key, b, g, first + d, balanced_size(p));
}

/* The score of a key w: a key w / unit_of() scores 1. */
static double unit_of(const struct scores *c, size_t b, size_t g)
{
    double w[KV_CHUNK], norm2 = 0;
    for (size_t first = 0; first < c->p->qk_dim; first += KV_CHUNK) {
        const size_t rest = c->p->qk_dim - first, n = rest < KV_CHUNK ? rest : KV_CHUNK;
        load_w(c, b, g, first, n, w);
        for (size_t d = 0; d < n; d++)
            norm2 += w[d] * w[d];
    }
    return (double)attn_problem_scale(c->p) * norm2;
}

/* Generates a row of K: the multiple of w that gives the score, plus noise. */
static void generate_scored(const void *context, struct kv_place at, size_t first, size_t n,
                            double *x)
{
    const struct scores *c = context;
    const struct attn_problem *p = c->p;
    const double unit = unit_of(c, at.b, at.g);
    const double along = c->score(c->context, at) / unit;
    const double across = c->noise / sqrt(fabs(unit) * fabs((double)attn_problem_scale(p)));
    const uint64_t row = (at.b * p->kv_heads + at.g) * p->kv_len + at.j;
    double w[KV_CHUNK];
    load_w(c, at.b, at.g, first, n, w);
    draw(random_normal, false, x, n, random_key(c->key, UINT64_MAX), row * p->qk_dim + first);
    for (size_t d = 0; d < n; d++)
        x[d] = along * w[d] + across * x[d];
}

double patterns_negative(const void *context, struct kv_place at)
{
    (void)context;
    (void)at;
    return -30;
}

double patterns_sink(const void *context, struct kv_place at)
{
    (void)context;
    return at.j == 0 ? PATTERNS_SINK : 0;
}

void patterns_scores(struct tensor_set *set, const struct attn_problem *p, uint64_t key,
                     patterns_score *score, const void *context, double noise)
{
    const struct scores c = {p, &set->tensors, key, score, context, noise};
    fill_q(set, p, key);
    kv_fill(set, p, KV_K, generate_scored, &c);
}

/* ---- values -------------------------------------------------------------------------------- */

struct one_hot {
    size_t v_dim;
    patterns_needle *is_needle;
    const void *context;
};

static void generate_one_hot(const void *context, struct kv_place at, size_t first, size_t n,
                             double *x)
{
    const struct one_hot *c = context;
    const double hot = c->is_needle(c->context, at) ? 1 : -1;
    for (size_t d = 0; d < n; d++)
        x[d] = first + d == at.j % c->v_dim ? hot : 0;
}

void patterns_one_hot(struct tensor_set *set, const struct attn_problem *p,
                      patterns_needle *is_needle, const void *context)
{
    const struct one_hot c = {p->v_dim, is_needle, context};
    kv_fill(set, p, KV_V, generate_one_hot, &c);
}

/* Multiplies every element in memory once, since pages may belong to several sequences. */
static void multiply(const struct tensors_view *view, double factor)
{
    for (size_t b = 0; b < view->batch; b++)
        for (size_t h = 0; h < view->heads; h++)
            for (size_t r = 0; r < view->rows; r++)
                for (size_t d = 0; d < view->cols; d++)
                    tensors_set(view->t, b, h, r, d, factor * tensors_get(view->t, b, h, r, d));
}

void patterns_scale_v(struct tensor_set *set, const struct attn_problem *p, double factor)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, p, &set->shape, views);
    const bool scaled = attn_dtype_scaled(p->kv_dtype), shared = p->options & ATTN_OPTION_SHARED_KV;
    for (size_t n = 0; n < count; n++) {
        const struct attn_tensor *t = views[n].t;
        if (t == &set->tensors.v_scale ||
            (!scaled && t == (shared ? &set->tensors.k : &set->tensors.v)))
            multiply(&views[n], factor);
        else if (!scaled && shared && t == &set->tensors.q)
            multiply(&views[n], 1 / factor);
    }
}
