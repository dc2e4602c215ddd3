/*
 * overflow: the first logit at which a softmax fails.
 *
 * Upwards: three keys with logits x, x and -x, whose weights are 1/2, 1/2 and 0, up to e^-2x.
 * Downwards: logits -x, -x and -x, whose weights are 1/3 each.  A softmax fails where a weight is
 * not finite or is off by more than a hundredth, more than any storage type rounds.
 */
#include <math.h>
#include <string.h>

#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/kernel_weights.h"
#include "results/report.h"

#define KEYS 3
#define WRONG 0.01
#define TURNS 60 /* steps of the bisection, down to the last bit of a float32 */

static const struct option parameters[] = {
    {"dtypes", "LIST", "f32,bf16,f16", NULL, "types of operands, results, and the plain softmax",
     .kind = OPTION_WORDS, .words = experiment_dtypes},
    {0},
};

/* Names of softmaxes that are no kernels. */
#define PLAIN "exp without maximum"
#define SAFE "exp with maximum"

static void plan(const json_t *asked, json_t *steps)
{
    static const char *const plain[] = {PLAIN, SAFE, NULL};
    const json_t *dtype;
    size_t i;
    json_array_foreach (json_object_get(asked, "dtypes"), i, dtype) {
        json_t *base = json_pack("{s:O}", "dtype", dtype);
        experiment_steps(steps, json_copy(base), NULL, "by", plain);
        experiment_steps(steps, base, NULL, "by", kernel_call_names());
    }
}

/* ---- one softmax ----------------------------------------------------------------------------- */

/* The definition, every step rounded to the type. */
static void plain_softmax(const float *x, enum attn_dtype dtype, bool safe, double *p)
{
    float e[KEYS], sum = 0, m = 0;
    for (int j = 0; safe && j < KEYS; j++)
        m = j == 0 || x[j] > m ? x[j] : m;
    for (int j = 0; j < KEYS; j++) {
        e[j] = kernel_call_round(expf(kernel_call_round(x[j] - m, dtype)), dtype);
        sum = kernel_call_round(sum + e[j], dtype);
    }
    for (int j = 0; j < KEYS; j++)
        p[j] = (double)kernel_call_round(e[j] / sum, dtype);
}

/* One softmax under test. */
struct trial {
    const char *by;
    enum attn_dtype dtype;
    bool down;
    struct experiment_work *work;
    bool impossible; /* the kernel does not take the type */
};

/* Largest power of two of which the type can hold the double, too. */
static float half_range(enum attn_dtype dtype)
{
    return dtype == ATTN_F16 ? 0x1p14f : 0x1p126f;
}

/* The logit q k nearest to x, with q in the type and *k a power of two. */
static float representable(float x, enum attn_dtype dtype, float *k)
{
    *k = x > half_range(dtype) ? x / half_range(dtype) : 1;
    *k = exp2f(ceilf(log2f(*k)));
    return kernel_call_round(x / *k, dtype) * *k;
}

static bool weights(struct trial *t, float x, double *p)
{
    float k;
    const float logit = representable(x, t->dtype, &k);
    const float signs[] = {t->down ? -1 : 1, t->down ? -1 : 1, -1};
    float keys[KEYS], logits[KEYS];
    const float q = logit / k;
    for (int j = 0; j < KEYS; j++) {
        keys[j] = signs[j] * k;
        logits[j] = signs[j] * logit;
    }
    if (strcmp(t->by, PLAIN) == 0 || strcmp(t->by, SAFE) == 0) {
        plain_softmax(logits, t->dtype, strcmp(t->by, SAFE) == 0, p);
        return true;
    }
    const struct kernel_weights_head head = {.q = &q,
                                             .k = keys,
                                             .rows = 1,
                                             .keys = KEYS,
                                             .dim = 1,
                                             .stride = 1,
                                             .scale = 1,
                                             .dtype = t->dtype};
    return kernel_weights(t->by, &head, p, t->work);
}

static bool fails(struct trial *t, float x)
{
    double p[KEYS];
    const double third = 1.0 / 3, small = exp(-2 * (double)x), half = 1 / (2 + small);
    const double up[KEYS] = {half, half, small * half}, down[KEYS] = {third, third, third};
    bool wrong = false;
    if (!weights(t, x, p)) {
        t->impossible = true;
        return false;
    }
    for (int j = 0; j < KEYS; j++)
        wrong |= !(fabs(p[j] - (t->down ? down : up)[j]) <= WRONG);
    return wrong;
}

/* Largest logit of operands of the type. */
static float most(enum attn_dtype dtype)
{
    return dtype == ATTN_F16 ? 0x1p28f : 0x1.fep127f;
}

/* The smallest logit that fails; infinite if none does. */
static double first_failure(struct trial *t)
{
    float lo = 1, hi = 1;
    while (!fails(t, hi) && !t->impossible && hi < most(t->dtype)) {
        lo = hi;
        hi = hi < most(t->dtype) / 2 ? 2 * hi : most(t->dtype);
    }
    if (t->impossible || !fails(t, hi))
        return INFINITY;
    for (int i = 0; i < TURNS; i++) {
        const float middle = lo + (hi - lo) / 2;
        if (middle == lo || middle == hi)
            break;
        *(fails(t, middle) ? &hi : &lo) = middle;
    }
    float k;
    return (double)representable(hi, t->dtype, &k);
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct trial t = {.by = member_text(s, "by"), .dtype = experiment_dtype(s), .work = work};
    const double up = first_failure(&t);
    t.down = true;
    const double down = first_failure(&t);
    if (!t.impossible)
        experiment_add(rows, json_copy((json_t *)s),
                       experiment_values((struct experiment_value[]){
                           {"up", up}, {"down", down}, {"most", (double)most(t.dtype)}, {0}}));
    return true;
}

/* ---- the report ------------------------------------------------------------------------------ */

static bool report(const json_t *rows)
{
    struct experiment_part part = {.rows = rows};
    double plain = NAN, kernel = INFINITY;
    while (experiment_part_next(&part)) {
        const double up = member_number(part.values, "up");
        if (!experiment_is(part.params, "dtype", "f32"))
            continue;
        if (experiment_is(part.params, "by", PLAIN))
            plain = up;
        else if (!experiment_is(part.params, "by", SAFE))
            kernel = fmin(kernel, fmin(up, member_number(part.values, "down")));
    }
    experiment_list(
        rows, NULL, "dtype by up down most",
        "the first logit at which a softmax fails, up and down, of the most that it can be "
        "given");
    if (isfinite(plain))
        report_sentence("Without subtracting the maximum a float32 softmax fails at a logit of "
                        "%.4g; no kernel fails below %.3g.",
                        plain, kernel);
    return true;
}

const struct calculation calculation_overflow = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
