/*
 * exp_degree: how accurate attention's exponential must be.
 *
 * Sums are in float64, so that the only errors are the exponential's, the rounding of the output, and that of
 * the weights where a kernel rounds them.
 */
#include <math.h>

#include "base/random.h"
#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "parts.h"
#include "results/report.h"

#define STREAM 12000
#define LOG2_E 1.44269504f
#define PI 3.14159265358979323846
#define GRID 100000 /* points at which the error is evaluated */

static const struct option parameters[] = {
    {"degrees", "LIST", "1,2,3,4,5,6,7,8", NULL, "degrees of the polynomial", .kind = OPTION_COUNTS,
     .lo = 1, .hi = EXP_DEGREES},
    {"s", "N", "1024", NULL, "keys of a row", .kind = OPTION_COUNT, .lo = 16, .hi = 1 << 20},
    {"rows", "N", "2000", "500", "rows", .kind = OPTION_COUNT, .lo = 1, .hi = 1e6},
    {"dtypes", "LIST", "f32,bf16,f16", NULL,
     "types of values and output; with bf16 also of the weights", .kind = OPTION_WORDS,
     .words = experiment_dtypes},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    experiment_steps(
        steps, experiment_pick(json_pack("{s:s}", "part", "error"), asked, "degrees s rows seed"),
        asked, "dtype=dtypes", NULL);
}

/* ---- polynomials ----------------------------------------------------------------------------- */

/* As exp2_precise() of kernels/shared/exp2.h: adding 1.5 * 2^23 rounds x to a whole number, which goes into
 * the exponent; the polynomial takes the rest. */
float exp_degree_power(size_t degree, const float *c, float x)
{
    const float shifted = x + 12582912.0f, r = x - (shifted - 12582912.0f);
    float p = c[degree - 1];
    for (size_t k = degree - 1; k > 0; k--)
        p = fmaf(p, r, c[k - 1]);
    return ldexpf(fmaf(p, r, 1), (int)(shifted - 12582912.0f));
}

/* (2^r - 1) / r, which is smooth, and which the coefficients c approximate. */
static double slope_at(double r)
{
    return r == 0 ? log(2) : expm1(r * log(2)) / r;
}

/* Interpolates by Newton's divided differences, then multiplies out. */
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
    float c[EXP_DEGREES] = {0};
    double worst = 0;
    exp_degree_fit(degree, c);
    for (int i = 0; i < GRID; i++) {
        const float x = (float)(-10.5 + (double)i / GRID);
        worst = fmax(worst, fabs((double)exp_degree_power(degree, c, x) / exp2((double)x) - 1));
    }
    return worst;
}

/* ---- errors ---------------------------------------------------------------------------------- */

/* The n logits and values of a row. */
struct row {
    size_t n;
    float *x, *v;
};

/* The error of the output of one row; *exact receives the output. */
static double row_error(const struct row *row, size_t degree, const float *c, enum attn_dtype dtype,
                        double *exact)
{
    double sum = 0, o = 0, exact_sum = 0, exact_o = 0;
    for (size_t j = 0; j < row->n; j++) {
        const double p = exp2((double)row->x[j]), v = (double)row->v[j];
        const float power = exp_degree_power(degree, c, row->x[j]);
        sum += (double)power;
        o += (double)(dtype == ATTN_BF16 ? kernel_call_round(power, dtype) : power) * v;
        exact_sum += p;
        exact_o += p * v;
    }
    *exact = exact_o / exact_sum;
    return (double)kernel_call_round((float)(o / sum), dtype) - *exact;
}

/* Draws random values, and random logits minus their maximum, as exponents of 2. */
static void draw(const struct row *row, uint64_t key, size_t index, enum attn_dtype dtype)
{
    float m = -INFINITY;
    random_normal(row->x, row->n, key, 2 * index * row->n);
    random_normal(row->v, row->n, key, (2 * index + 1) * row->n);
    for (size_t j = 0; j < row->n; j++)
        m = fmaxf(m, row->x[j]);
    for (size_t j = 0; j < row->n; j++) {
        row->x[j] = (row->x[j] - m) * LOG2_E;
        row->v[j] = kernel_call_round(row->v[j], dtype);
    }
}

static json_t *error_values(const json_t *s, const struct row *row, size_t degree)
{
    const size_t rows = experiment_count(s, "rows");
    const uint64_t key = random_key(experiment_count(s, "seed"), STREAM);
    const enum attn_dtype dtype = experiment_dtype(s);
    float c[EXP_DEGREES] = {0};
    double errors = 0, outputs = 0, exact;
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

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t n = experiment_count(s, "s") / 16 * 16;
    float *memory = experiment_alloc(work, 2 * n, sizeof *memory);
    size_t degrees[EXP_DEGREES];
    const size_t count = experiment_counts(s, "degrees", degrees, EXP_DEGREES);
    if (!memory)
        return false;
    const struct row row = {n, memory, memory + n};
    for (size_t i = 0; i < count; i++)
        experiment_add(rows,
                       experiment_pick(json_pack("{s:I}", "degree", (json_int_t)degrees[i]), s,
                                       "part dtype s rows seed"),
                       error_values(s, &row, degrees[i]));
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */

/* The first degree whose output error is within a tenth of the best of its type; NaN without rows. */
static double enough(const json_t *rows, const char *where)
{
    const double best = experiment_extent(rows, where, "rms").least;
    struct experiment_part part = {.rows = rows, .where = where};
    while (experiment_part_next(&part))
        if (member_number(part.values, "rms") <= 1.1 * best)
            return member_number(part.params, "degree");
    return NAN;
}

static bool report(const json_t *rows)
{
    experiment_list(rows, "part=error", "dtype degree exp_error rms relative",
                    "error of attention by the degree of its exponential");
    const double f32 = enough(rows, "dtype=f32"), bf16 = enough(rows, "dtype=bf16"),
                 f16 = enough(rows, "dtype=f16");
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
