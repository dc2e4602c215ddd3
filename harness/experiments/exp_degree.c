/*
 * exp_degree: how exact an exponential attention needs.
 *
 * Sums are in float64, so that the exponential's error, the rounding of the weights where a kernel
 * rounds them, and that of the output are all that is left.
 */
#include <math.h>

#include "base/clock.h"
#include "base/random.h"
#include "element.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/listing.h"
#include "list.h"
#include "parts.h"
#include "results/report_experiment.h"

#define STREAM 12000
#define LOG2_E 1.44269504f
#define PI 3.14159265358979323846
#define GRID 100000 /* points at which the error is looked at, a multiple of 16 */
#define TIMED 2048  /* elements: both arrays stay in the nearest cache */

static const char *const dtypes[] = {"f32", "bf16", "f16", NULL};

static const struct option parameters[] = {
    {"degrees", "LIST", "1,2,3,4,5,6,7,8", NULL, "degrees of the polynomial", .kind = OPTION_COUNTS,
     .lo = 1, .hi = EXP_DEGREES},
    {"s", "N", "1024", NULL, "keys of a row", .kind = OPTION_COUNT, .lo = 16, .hi = 1 << 20},
    {"rows", "N", "2000", "500", "rows", .kind = OPTION_COUNT, .lo = 1, .hi = 1e6},
    {"dtypes", "LIST", "f32,bf16,f16", NULL,
     "types of values and output; with bf16 also of the weights", .kind = OPTION_WORDS,
     .words = dtypes},
    {"rounds", "N", "40", "12", "timings of each degree, in turns", .kind = OPTION_COUNT, .lo = 6,
     .hi = 10000},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    json_t *base = json_copy((json_t *)asked);
    json_object_set_new(base, "part", json_string("error"));
    experiment_steps(
        steps, json_copy(base),
        (struct experiment_axis[]){{"dtype", json_object_get(asked, "dtypes"), NULL}, {0}});
    json_object_set_new(base, "part", json_string("time"));
    json_array_append_new(steps, base);
}

/* ---- polynomials ----------------------------------------------------------------------------- */

#define EXP_LANES(isa, ISA) extern const struct exp_lanes exp_##isa;
#include "exp_list.h"
#undef EXP_LANES

const struct exp_lanes *const exp_variants[] = {
#define EXP_LANES(isa, ISA) &exp_##isa,
#include "exp_list.h"
#undef EXP_LANES
};
const size_t exp_variant_count = sizeof exp_variants / sizeof *exp_variants;

static const struct exp_lanes *exp_best(void)
{
    size_t best = 0;
    for (size_t i = 0; i < exp_variant_count; i++)
        if (attn_isa_available(exp_variants[i]->isa))
            best = i;
    return exp_variants[best];
}

/* (2^r - 1) / r, which is smooth: what the coefficients behind the constant 1 approximate. */
static double slope_at(double r)
{
    return r == 0 ? log(2) : expm1(r * log(2)) / r;
}

/* Newton's divided differences at the Chebyshev points, multiplied out. */
void exp_degree_fit(size_t degree, float c[EXP_DEGREES])
{
    double at[EXP_DEGREES] = {0}, divided[EXP_DEGREES] = {0}, powers[EXP_DEGREES] = {0};
    for (size_t i = 0; i < degree; i++) {
        at[i] = 0.5 * cos(PI * ((double)i + 0.5) / (double)degree);
        divided[i] = slope_at(at[i]);
    }
    for (size_t order = 1; order < degree; order++)
        for (size_t i = degree - 1; i >= order; i--)
            divided[i] = (divided[i] - divided[i - 1]) / (at[i] - at[i - order]);
    for (size_t i = degree; i-- > 0;) { /* powers = powers * (r - at[i]) + divided[i] */
        for (size_t k = degree - 1; k > 0; k--)
            powers[k] = powers[k - 1] - at[i] * powers[k];
        powers[0] = divided[i] - at[i] * powers[0];
    }
    for (size_t k = 0; k < degree; k++)
        c[k] = (float)powers[k];
}

double exp_degree_error(size_t degree)
{
    float c[EXP_DEGREES], x[16], y[16];
    double worst = 0;
    exp_degree_fit(degree, c);
    for (int i = 0; i < GRID; i += 16) {
        for (int k = 0; k < 16; k++)
            x[k] = (float)(-10.5 + (double)(i + k) / GRID);
        exp_best()->run(degree, c, x, y, 16);
        for (int k = 0; k < 16; k++)
            worst = fmax(worst, fabs((double)y[k] / exp2((double)x[k]) - 1));
    }
    return worst;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* One row of keys: scratch for n of each. */
struct row {
    size_t n;
    float *x, *p, *v;
};

/* The error of the output of one row; *exact receives the output. */
static double row_error(const struct row *row, size_t degree, const float *c, enum attn_dtype dtype,
                        double *exact)
{
    double sum = 0, o = 0, exact_sum = 0, exact_o = 0;
    exp_best()->run(degree, c, row->x, row->p, row->n);
    for (size_t j = 0; j < row->n; j++) {
        const double p = exp2((double)row->x[j]), v = (double)row->v[j];
        const float weight = dtype == ATTN_BF16 ? kernel_round(row->p[j], dtype) : row->p[j];
        sum += (double)row->p[j];
        o += (double)weight * v;
        exact_sum += p;
        exact_o += p * v;
    }
    *exact = exact_o / exact_sum;
    return (double)kernel_round((float)(o / sum), dtype) - *exact;
}

/* Random logits below their maximum, as powers of 2, and random values. */
static void draw(const struct row *row, uint64_t key, size_t index, enum attn_dtype dtype)
{
    float m = -INFINITY;
    random_normal(row->x, row->n, key, 2 * index * row->n);
    random_normal(row->v, row->n, key, (2 * index + 1) * row->n);
    for (size_t j = 0; j < row->n; j++)
        m = fmaxf(m, row->x[j]);
    for (size_t j = 0; j < row->n; j++) {
        row->x[j] = (row->x[j] - m) * LOG2_E;
        row->v[j] = kernel_round(row->v[j], dtype);
    }
}

static json_t *error_values(const json_t *s, const struct row *row, size_t degree)
{
    const size_t rows = experiment_count(s, "rows");
    const uint64_t key = random_key(experiment_count(s, "seed"), STREAM);
    enum attn_dtype dtype = ATTN_F32;
    float c[EXP_DEGREES];
    double errors = 0, outputs = 0, exact;
    attn_dtype_parse(experiment_text(s, "dtype"), &dtype);
    exp_degree_fit(degree, c);
    for (size_t i = 0; i < rows; i++) {
        draw(row, key, i, dtype);
        const double e = row_error(row, degree, c, dtype, &exact);
        errors += e * e;
        outputs += exact * exact;
    }
    return experiment_values((struct experiment_value[]){{"exp_error", exp_degree_error(degree)},
                                                         {"rms", sqrt(errors / (double)rows)},
                                                         {"relative", sqrt(errors / outputs)},
                                                         {0}});
}

static bool compute_errors(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t n = experiment_count(s, "s") / 16 * 16;
    float *memory = experiment_alloc(work, 3 * n, sizeof *memory);
    size_t degrees[EXP_DEGREES];
    const size_t count = experiment_counts(s, "degrees", degrees, EXP_DEGREES);
    if (!memory)
        return false;
    const struct row row = {n, memory, memory + n, memory + 2 * n};
    for (size_t i = 0; i < count; i++)
        experiment_add(rows,
                       experiment_pick(json_pack("{s:I}", "degree", (json_int_t)degrees[i]), s,
                                       "part dtype s rows seed"),
                       error_values(s, &row, degrees[i]));
    return true;
}

/* ---- time ------------------------------------------------------------------------------------ */

static double time_of(size_t degree, const float *c, const float *x, float *y)
{
    enum { REPEATS = 200 };
    const double start = clock_now();
    for (int i = 0; i < REPEATS; i++) {
        exp_best()->run(degree, c, x, y, TIMED);
        __asm__ volatile("" : : "g"(y) : "memory"); /* no repeat is optimised away */
    }
    return (clock_now() - start) / (REPEATS * (double)TIMED);
}

/* Seconds per element of each degree in turns, into times[degree * rounds + round]. */
static void measure(const size_t *degrees, size_t count, size_t rounds, double *times)
{
    static float x[TIMED], y[TIMED];
    float c[EXP_DEGREES];
    for (size_t j = 0; j < TIMED; j++)
        x[j] = -(float)j / 64;
    for (size_t r = 0; r < rounds + 1; r++) /* the first, not kept, warms caches and clocks */
        for (size_t turn = 0; turn < count; turn++) {
            const size_t i = (turn + r) % count;
            exp_degree_fit(degrees[i], c);
            times[i * rounds + (r ? r - 1 : 0)] = time_of(degrees[i], c, x, y);
        }
}

static bool compute_times(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t rounds = experiment_count(s, "rounds");
    size_t degrees[EXP_DEGREES];
    const size_t count = experiment_counts(s, "degrees", degrees, EXP_DEGREES);
    double *times = experiment_alloc(work, count * rounds, sizeof *times);
    if (!times)
        return false;
    measure(degrees, count, rounds, times);
    for (size_t i = 0; i < count; i++)
        experiment_add(
            rows,
            experiment_pick(json_pack("{s:I, s:s}", "degree", (json_int_t)degrees[i], "isa",
                                      attn_isa_name(exp_best()->isa)),
                            s, "part rounds"),
            experiment_ratio("seconds", times + (count - 1) * rounds, times + i * rounds, rounds));
    return true;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const bool time = experiment_is(s, "part", "time");
    return time ? compute_times(s, rows, work) : compute_errors(s, rows, work);
}

/* ---- the report ------------------------------------------------------------------------------ */

/* The first degree whose output error is within a tenth of the best of its type; NaN without rows. */
static double enough(const json_t *rows, const char *dtype)
{
    double best = INFINITY;
    for (int pass = 0; pass < 2; pass++) {
        struct experiment_part part = {.rows = rows};
        while (experiment_part_next(&part)) {
            const double error = experiment_number(part.values, "rms");
            if (!experiment_is(part.params, "dtype", dtype))
                continue;
            if (pass == 0)
                best = fmin(best, error);
            else if (error <= 1.1 * best)
                return experiment_number(part.params, "degree");
        }
    }
    return NAN;
}

static bool report(const json_t *rows)
{
    listing_print(rows, "error", "dtype degree exp_error rms relative",
                  "error of attention by the degree of its exponential");
    listing_print(rows, "time", "degree seconds ratio ci95",
                  "time of an exponential alone, one thread, against the highest degree");
    const double f32 = enough(rows, "f32"), bf16 = enough(rows, "bf16"), f16 = enough(rows, "f16");
    if (isfinite(f32) && isfinite(bf16) && isfinite(f16))
        report_sentence("Degree %.0f is enough in f32, %.0f in f16 and %.0f in bf16: "
                        "no higher degree lowers the output's error by a tenth.",
                        f32, f16, bf16);
    return true;
}

const struct calculation calculation_exp_degree = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
