/*
 * sums: reasons that leave the ratios of weights as they are: a wrong sum of the weights, or a wrong LSE.
 *
 * If only the sum is wrong, all elements of O are the same multiple of the right ones.
 */
#include <math.h>
#include <stdio.h>

#include "evidence.h"

/* ---- the sum ------------------------------------------------------------------------------- */

static bool all_are(const struct evidence *e, double ratio)
{
    for (size_t d = 0; d < e->trial->problem.v_dim; d++)
        if (!evidence_is_output(e, d, ratio * e->row.reference.o[d]))
            return false;
    return true;
}

/* The factor between the kernel's row and the right one, from its largest element; NaN where elements
 * differ. */
static double common_ratio(const struct evidence *e)
{
    const size_t v_dim = e->trial->problem.v_dim;
    size_t largest = 0;
    for (size_t d = 1; d < v_dim; d++)
        if (fabs(e->row.reference.o[d]) > fabs(e->row.reference.o[largest]))
            largest = d;
    const double ratio = evidence_output(e, largest) / e->row.reference.o[largest];
    return v_dim > 1 && isfinite(ratio) && ratio != 0 && all_are(e, ratio) ? ratio : NAN;
}

/* Keys of zeros have score 0 and add e^0 = 1 each to the sum, nothing to O: O = r O_right with r = 1 / (1
 * + n e^-LSE).  If r gives a whole n, the kernel has read n keys of zeros. */
static bool zero_keys(const struct evidence *e, double ratio, char *text, size_t size)
{
    const double n = round((1 / ratio - 1) * exp(e->row.reference.lse));
    if (!(n >= 1 && n < 4096) || !all_are(e, 1 / (1 + n * exp(-e->row.reference.lse))))
        return false;
    snprintf(text, size, "as if %.0f key%s of zeros were seen as well", n, n > 1 ? "s" : "");
    return true;
}

/* The sum of the weights, rounded after each key, over the exact sum. */
static double gain_of(const struct evidence *e, enum attn_dtype dtype)
{
    double largest = 0, exact = 0;
    float sum = 0;
    for (size_t j = 0; j < e->single.problem.kv_len; j++)
        largest = fmax(largest, e->row.reference.weights[j]);
    for (size_t j = 0; j < e->single.problem.kv_len; j++) {
        const double p = e->row.reference.weights[j] / largest;
        exact += p;
        sum = (float)tensors_rounded(dtype, (double)(sum + (float)p));
    }
    return (double)sum / exact;
}

/* Relative tolerance for that explanation: the kernel may add keys in another order, or its exponentials
 * may differ in the last bit. */
#define OF_ROUNDING 0.1

/* A ratio nearer to 1 than this is not explained. */
#define TELLING 1e-4

static bool short_sum(const struct evidence *e, double ratio, char *text, size_t size)
{
    static const enum attn_dtype types[] = {ATTN_BF16, ATTN_F16};
    const double gain = 1 / ratio;
    if (!(fabs(gain - 1) > TELLING))
        return false;
    for (size_t n = 0; n < sizeof types / sizeof *types; n++)
        if (fabs(gain_of(e, types[n]) - gain) < OF_ROUNDING * fabs(gain - 1)) {
            snprintf(text, size, "as if weights were summed in %s", attn_dtype_name(types[n]));
            return true;
        }
    snprintf(text, size, "as if the sum of weights were %.4g times as large", gain);
    return true;
}

bool sums_reason(struct evidence *e, char *text, size_t size)
{
    if (e->wrong.tensor[0] != 'o' || !evidence_right(e, &e->view))
        return false;
    const double ratio = common_ratio(e);
    return ratio > 0 && (zero_keys(e, ratio, text, size) || short_sum(e, ratio, text, size));
}

/* ---- LSE ----------------------------------------------------------------------------------- */

/* Above this LSE the bound is so large that any explanation fits. */
#define LARGEST_LSE 1e4

/* A difference from the right LSE of fewer multiples of its bound is not explained. */
#define TELLING_LSE 16

/* LSE in another base, or only a part of it. */
bool sums_lse_reason(struct evidence *e, char *text, size_t size)
{
    if (e->wrong.tensor[0] != 'l' || !evidence_right(e, &e->view))
        return false;
    const double got = e->wrong.got, lse = e->row.reference.lse,
                 slack = 2 * e->row.reference.lse_bound;
    if (!(fabs(lse) < LARGEST_LSE))
        return false;
    double largest = 0;
    for (size_t j = 0; j < e->single.problem.kv_len; j++)
        largest = fmax(largest, e->row.reference.weights[j]);
    if (!(largest > 0))
        return false;
    const double sum = -log(largest), m = lse - sum; /* lse = m + log(sum of exponentials) */
    const struct {
        double value;
        const char *text;
    } table[] = {
        {lse / log(2), "as if it were in base 2"},
        {lse / log(10), "as if it were in base 10"},
        {m / log(2) + sum, "as if its maximum were in base 2, its sum natural"},
        {m + sum / log(2), "as if its sum were in base 2, its maximum natural"},
        {sum, "as if it were without its maximum"},
        {m, "as if it were without its sum"},
        {exp(lse), "as if the logarithm were not taken"},
        {m + exp(sum), "as if the logarithm of its sum were not taken"},
        {-lse, "as if its sign were changed"},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++)
        if (fabs(table[n].value - lse) > TELLING_LSE * slack &&
            fabs(got - table[n].value) <= slack * fmax(1, fabs(table[n].value / lse))) {
            snprintf(text, size, "%s", table[n].text);
            return true;
        }
    return false;
}
