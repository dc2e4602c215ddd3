/*
 * The reference with every option: numbers computed by hand, and rows and bounds of random problems
 * against the definitions of attention.h and of reference.c's head in long double.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "drawn_operands.h"
#include "problem/parse.h"
#include "reference.h"

#define PROBLEMS 4000
enum { MOST = 64 };

/* Unit roundoff of what kernels compute in. */
static long double unit(const struct attn_problem *p)
{
    return p->dtype == ATTN_F64 ? 0x1p-53L : 0x1p-24L;
}

/* How often what is returned of f64 is rounded to double beyond what kernels do: the reference itself
 * computes in more. */
static long double own_rounding(const struct attn_problem *p)
{
    return p->dtype == ATTN_F64 ? unit(p) : 0;
}

/* What the definition says of a row. */
struct definition {
    size_t n, key[MOST];                   /* keys seen */
    long double x[MOST], p[MOST];          /* and of the sink, last */
    long double product[MOST], term[MOST]; /* s_rj; what options may be off by */
    bool sink;
    long double m, l, mean_off, delta[MOST], growth;
};

static long double alibi(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t j)
{
    const long at = (long)i + (d->problem.mask & ATTN_MASK_CAUSAL_TOP_LEFT
                                   ? 0
                                   : (long)drawn_kv_len(d, b) - (long)drawn_q_len(d, b));
    return (long double)((const float *)d->tensors.slopes.data)[h] * (long double)((long)j - at);
}

/* Score of key number n of the row, and what its bound begins with. */
static void score(const struct drawn_operands *d, size_t b, size_t h, size_t i,
                  struct definition *def, size_t n)
{
    const struct attn_problem *p = &d->problem;
    const size_t j = def->key[n], g = h / (p->q_heads / p->kv_heads);
    const long double u = unit(p);
    const long double scale = p->dtype == ATTN_F64 ? (long double)attn_problem_scale_f64(p)
                                                   : (long double)attn_problem_scale(p);
    long double x = 0, size = 0, off = 0, added = 0;
    for (size_t e = 0; e < p->qk_dim; e++) {
        const long double product =
            (long double)drawn_q(d, b, h, i, e) * (long double)drawn_k(d, b, g, j, e);
        x += scale * product;
        size += fabsl(scale * product);
    }
    if (p->options & ATTN_OPTION_SOFTCAP) {
        const long double c = (long double)p->softcap;
        const long double nearest = fabsl(x) - (long double)(p->qk_dim + 6) * u * size;
        size *= 1 - powl(tanhl(fmaxl(nearest, 0) / c), 2);
        x = c * tanhl(x / c);
        off += 4 * c;
    }
    if (p->options & ATTN_OPTION_ALIBI) {
        added = alibi(d, b, h, i, j);
        off += 4 * fabsl(added);
    }
    if (p->mask & ATTN_MASK_BIAS) {
        added += (long double)drawn_bias(d, b, h, i, j);
        off += 3 * fabsl((long double)drawn_bias(d, b, h, i, j));
    }
    x += added;
    if (p->options & ATTN_OPTION_ALIBI || p->mask & ATTN_MASK_BIAS)
        off += 2 * fabsl(x);
    def->x[n] = x;
    def->product[n] = size;
    def->term[n] = off * u;
}

/* Weights, and whether roundings may align: over the keys, and over the dimensions. */
static void weigh(struct definition *def, long double u, bool *keys_align, bool *dims_align)
{
    const size_t n = def->n + def->sink;
    const long double near = (long double)n * u;
    long double tied = 0, top = 0, largest = 0;
    size_t rivals = 0;
    def->m = -INFINITY;
    def->l = 0;
    for (size_t k = 0; k < n; k++)
        def->m = fmaxl(def->m, def->x[k]);
    for (size_t k = 0; k < n; k++)
        def->l += expl(def->x[k] - def->m);
    for (size_t k = 0; k < n; k++) {
        const bool below = k > 0 && k < def->n && fabsl(def->x[k] - def->x[k - 1]) <= near;
        const bool above = k + 1 < def->n && fabsl(def->x[k] - def->x[k + 1]) <= near;
        def->p[k] = expl(def->x[k] - def->m) / def->l;
        largest = fmaxl(largest, def->p[k]);
        rivals += def->m - def->x[k] <= near;
        if (def->m - def->x[k] <= near)
            top += def->p[k];
        else if (below || above)
            tied += def->p[k];
    }
    *dims_align = tied + (rivals > 1 ? top : 0) >= 0.5L;
    *keys_align = *dims_align || largest > 0.5L;
}

static long double growth_of(size_t n, bool aligned, long double u)
{
    const long double count = (long double)n;
    return u * (aligned ? count : fminl(count, 6 * sqrtl(2 * count)));
}

static void define(const struct drawn_operands *d, size_t b, size_t h, size_t i,
                   struct definition *def)
{
    const struct attn_problem *p = &d->problem;
    const long double u = unit(p);
    bool keys_align, dims_align;
    *def = (struct definition){0};
    for (size_t j = 0; j < drawn_kv_len(d, b); j++)
        if (drawn_sees(d, b, h, i, j)) {
            def->key[def->n++] = j;
            score(d, b, h, i, def, def->n - 1);
        }
    if (p->options & ATTN_OPTION_SINKS) {
        def->x[def->n] = (long double)((const float *)d->tensors.sinks.data)[h];
        def->sink = def->x[def->n] != -INFINITY;
    }
    weigh(def, u, &keys_align, &dims_align);
    def->growth = growth_of(def->n + def->sink, keys_align, u);
    const long double each =
        growth_of(p->qk_dim, dims_align, u) + (attn_dtype_scaled(p->kv_dtype) ? 6 : 4) * u;
    for (size_t k = 0; k < def->n; k++)
        def->delta[k] = each * (def->product[k] + def->m - def->x[k]) + def->term[k];
    if (def->sink)
        def->delta[def->n] = 4 * u * (fabsl(def->x[def->n]) + def->m - def->x[def->n]);
    for (size_t k = 0; k < def->n + def->sink; k++)
        def->mean_off += def->p[k] * def->delta[k];
}

/* How far what is returned may be from x in 80 bits: in f64 a few roundings to double, else `f32`. */
static double near(const struct drawn_operands *d, long double x, double f32)
{
    return d->problem.dtype == ATTN_F64 ? 0x1p-51 * fmax(1, fabs((double)x)) : f32;
}

static void assert_close(const struct drawn_operands *d, const char *what, double got,
                         long double expected, double tolerance)
{
    if (fabsl((long double)got - expected) <= (long double)tolerance ||
        (long double)got == expected)
        return;
    char text[PARSE_TEXT];
    parse_print_problem(&d->problem, text);
    fail_msg("%s is %.17g, not %.17Lg: %s", what, got, expected, text);
}

/* Element e of O, and its bound. */
static void assert_element(const struct drawn_operands *d, size_t b, size_t g, size_t e,
                           const struct definition *def, const struct attn_reference_row *row)
{
    static const long double u_out[] = {
        [ATTN_F32] = 0x1p-24L, [ATTN_BF16] = 0x1p-8L, [ATTN_F16] = 0x1p-11L, [ATTN_F64] = 0x1p-53L};
    const struct attn_problem *p = &d->problem;
    const long double u = unit(p), u_all = u_out[p->dtype] + own_rounding(p);
    const bool scaled = attn_dtype_scaled(p->kv_dtype);
    long double o = 0, size = 0, off = 0;
    for (size_t k = 0; k < def->n; k++) {
        const long double v = (long double)drawn_v(d, b, g, def->key[k], e);
        o += def->p[k] * v;
        size += def->p[k] * fabsl(v);
    }
    for (size_t k = 0; k < def->n; k++)
        off += def->p[k] * def->delta[k] * fabsl((long double)drawn_v(d, b, g, def->key[k], e) - o);
    if (def->sink)
        off += def->p[def->n] * def->delta[def->n] * fabsl(o);
    const long double bound =
        off + (2 * def->growth + 16 * u + (scaled ? 2 * u : 0)) * size + u_all * fabsl(o);
    const double smallest =
        p->dtype == ATTN_F64 ? 0x1p-1000 : 0x1p-24; /* those of f16 count, too */
    assert_close(d, "O", row->o[e], o, near(d, o, 1e-12));
    assert_close(d, "the magnitude", row->magnitude[e], size, near(d, size, 1e-12));
    if (def->n)
        assert_close(d, "the bound of O", row->bound[e], bound, 1e-6 * (double)bound + smallest);
    else
        assert_true(row->o[e] == 0 && row->bound[e] == 0);
}

typedef void build(const struct attn_problem *, const struct attn_tensors *, size_t, size_t, size_t,
                   enum attn_dtype, double, void *, struct attn_reference_row *);

#define ATTN_REFERENCE(isa, ISA) build attn_reference_##isa;
#include "reference_list.h"
#undef ATTN_REFERENCE

/* The reference as it is compiled for each instruction set. */
static const struct {
    enum attn_isa isa;
    build *run;
} builds[] = {
#define ATTN_REFERENCE(isa, ISA) {ATTN_ISA_##ISA, attn_reference_##isa},
#include "reference_list.h"
#undef ATTN_REFERENCE
};

static void assert_row(const struct drawn_operands *d, size_t b, size_t h, size_t i, build *run,
                       void *workspace)
{
    const struct attn_problem *p = &d->problem;
    double o[MOST], bound[MOST], magnitude[MOST], weights[MOST], weights_bound[MOST];
    struct attn_reference_row row = {.size = sizeof row,
                                     .o = o,
                                     .bound = bound,
                                     .magnitude = magnitude,
                                     .weights = weights,
                                     .weights_bound = weights_bound};
    struct definition def;
    const long double u = unit(p), own = own_rounding(p);
    define(d, b, h, i, &def);
    run(p, &d->tensors, b, h, i, ATTN_F32, 0, workspace, &row);
    for (size_t e = 0; e < p->v_dim; e++)
        assert_element(d, b, h / (p->q_heads / p->kv_heads), e, &def, &row);
    size_t k = 0;
    for (size_t j = 0; j < p->kv_len; j++) {
        const bool seen = k < def.n && def.key[k] == j;
        const long double off = def.delta[k] + def.mean_off + def.growth + 18 * u + own;
        assert_close(d, "a weight", weights[j], seen ? def.p[k] : 0, near(d, 0, 1e-13));
        assert_close(d, "the bound of a weight", weights_bound[j], seen ? def.p[k] * off : 0,
                     seen ? 1e-9 * (double)off + 0x1p-125 : 0);
        k += seen;
    }
    if (def.n + def.sink == 0) {
        assert_true(row.lse == -INFINITY && row.lse_bound == 0);
        return;
    }
    const long double lse = def.m + logl(def.l);
    assert_close(d, "LSE", row.lse, lse, near(d, lse, 1e-12));
    const long double lse_bound = def.mean_off + def.growth + 8 * u +
                                  4 * u * (fabsl(def.m) + logl(def.l)) + (u + own) * fabsl(lse);
    assert_close(d, "the bound of LSE", row.lse_bound, lse_bound, 1e-9 * (double)lse_bound);
}

static void assert_rows(const struct drawn_operands *d, build *run, void *workspace)
{
    for (size_t b = 0; b < d->problem.batch; b++)
        for (size_t h = 0; h < d->problem.q_heads; h++)
            for (size_t i = 0; i < drawn_q_len(d, b); i++)
                assert_row(d, b, h, i, run, workspace);
}

/* By every build that there is of f32; there is one of f64. */
static void assert_builds(const struct drawn_operands *d, void *workspace)
{
    if (d->problem.dtype == ATTN_F64) {
        assert_rows(d, attn_reference, workspace);
        return;
    }
    for (size_t n = 0; n < sizeof builds / sizeof *builds; n++)
        if (attn_isa_available(builds[n].isa))
            assert_rows(d, builds[n].run, workspace);
}

/* Every option, alone and with others; hidden keys are NaN. */
static void rows_and_bounds_are_their_definition(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < PROBLEMS; seed++) {
        const struct attn_problem p = drawn_problem(&drawn_everything, seed);
        struct drawn_operands d;
        drawn_open(&d, &p, true, seed);
        void *workspace = malloc(attn_reference_workspace(&p));
        assert_non_null(workspace);
        assert_builds(&d, workspace);
        free(workspace);
        drawn_close(&d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_and_bounds_are_their_definition),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
