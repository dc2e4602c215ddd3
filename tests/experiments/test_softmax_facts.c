/*
 * softmax_facts and softmax_facts_rows against matrices written out.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>

#include "experiments/shared/distribution.h"
#include "experiments/shared/moments.h"
#include "experiments/shared/softmax_facts.h"
#include "base/random.h"

enum { KEYS = 12, DIM = 5, ROWS = 9 };

static void assert_ratio(double got, double expected, double tolerance)
{
    if (!(fabs(got / expected - 1) <= tolerance))
        fail_msg("got %.12g, expected %.12g", got, expected);
}

/* diag(p) - p p^T times v. */
static void times_jacobian(const double *p, const double *v, double *out)
{
    double dot = 0;
    for (int j = 0; j < KEYS; j++)
        dot += p[j] * v[j];
    for (int j = 0; j < KEYS; j++)
        out[j] = p[j] * (v[j] - dot);
}

/* By power iteration. */
static double largest_eigenvalue(const double *p)
{
    double v[KEYS], w[KEYS], norm = 0;
    for (int j = 0; j < KEYS; j++)
        v[j] = sin(j + 1.0);
    for (int i = 0; i < 20000; i++) {
        times_jacobian(p, v, w);
        norm = 0;
        for (int j = 0; j < KEYS; j++)
            norm += w[j] * w[j];
        norm = sqrt(norm);
        for (int j = 0; j < KEYS; j++)
            v[j] = w[j] / norm;
    }
    return norm;
}

static double frobenius_norm(const double *p)
{
    double sum = 0;
    for (int i = 0; i < KEYS; i++)
        for (int j = 0; j < KEYS; j++) {
            const double e = (i == j ? p[i] : 0) - p[i] * p[j];
            sum += e * e;
        }
    return sqrt(sum);
}

TEST(facts_are_those_of_the_matrix)
{
    for (int row = 0; row < 20; row++) {
        float z[KEYS];
        double x[KEYS], p[KEYS], entropy = 0;
        random_normal(z, KEYS, random_key(4, (uint64_t)row), 0);
        for (int j = 0; j < KEYS; j++)
            x[j] = (1 + row % 4) * (double)z[j] + 300;
        const struct softmax_facts facts = softmax_facts(x, KEYS, p);
        for (int j = 0; j < KEYS; j++) {
            entropy -= p[j] * log(p[j]);
            assert_true(p[j] <= facts.largest);
        }
        assert_ratio(facts.entropy, entropy, 1e-12);
        assert_ratio(facts.largest, p[facts.top], 0);
        assert_ratio(facts.frobenius, frobenius_norm(p), 1e-12);
        assert_ratio(facts.jacobian, largest_eigenvalue(p), 1e-9);
    }
}

/* Two keys 50 apart: q = e^-50 / (1 + e^-50) is lost in 1 - p, and J = p q (1, -1; -1, 1). */
TEST(saturated_rows_keep_their_digits)
{
    const double x[] = {50, 0}, small = exp(-50) / (1 + exp(-50));
    double p[2];
    const struct softmax_facts facts = softmax_facts(x, 2, p);
    assert_ratio(facts.jacobian, 2 * small, 1e-9);
    assert_ratio(facts.frobenius, 2 * small, 1e-9);
    assert_ratio(facts.entropy, small * 51, 1e-9);
}

TEST(equal_logits_are_known)
{
    const double x[] = {3, 3, 3, 3};
    double p[4];
    const struct softmax_facts facts = softmax_facts(x, 4, p);
    assert_ratio(facts.entropy, log(4), 1e-12);
    assert_ratio(facts.jacobian, 0.25, 1e-12);
    assert_ratio(facts.frobenius, sqrt(3) / 4, 1e-12);
}

/* scale ||K^T J||_F, entry by entry. */
static double gradient_norm(const struct softmax_head *head, size_t i, double scale)
{
    double x[KEYS], p[KEYS], sum = 0;
    for (size_t j = 0; j < KEYS; j++) {
        x[j] = 0;
        for (size_t d = 0; d < DIM; d++)
            x[j] += scale * (double)head->q[i * DIM + d] * (double)head->k[j * DIM + d];
    }
    softmax_facts(x, KEYS, p);
    for (size_t d = 0; d < DIM; d++) {
        double k[KEYS], out[KEYS];
        for (size_t j = 0; j < KEYS; j++)
            k[j] = (double)head->k[j * DIM + d];
        times_jacobian(p, k, out);
        for (size_t j = 0; j < KEYS; j++)
            sum += out[j] * out[j];
    }
    return scale * sqrt(sum);
}

TEST(gradients_are_those_of_the_matrix)
{
    float q[ROWS * DIM], k[KEYS * DIM];
    distribution_draw(DISTRIBUTION_HEAVY, q, ROWS * DIM, 1, 0);
    distribution_draw(DISTRIBUTION_NORMAL, k, KEYS * DIM, 2, 0);
    const struct softmax_head head = {.q = q, .k = k, .rows = ROWS, .keys = KEYS, .d = DIM};
    struct softmax_facts_row one[ROWS], three[ROWS];
    assert_true(softmax_facts_rows(&head, 0.75, 1, one));
    assert_true(softmax_facts_rows(&head, 0.75, 3, three));
    assert_memory_equal(one, three, sizeof one);
    for (size_t i = 0; i < ROWS; i++)
        assert_ratio(one[i].gradient, gradient_norm(&head, i, 0.75), 1e-10);
}

TEST(drawn_elements_have_their_moments)
{
    enum { N = 200000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int d = 0; d < DISTRIBUTION_COUNT; d++) {
        struct moments m = {0};
        distribution_draw((enum distribution)d, x, N, random_key(8, (uint64_t)d), 0);
        for (size_t i = 0; i < N; i++)
            moments_add(&m, (double)x[i]);
        assert_ratio(moments_variance(&m).variance, distributions[d].variance, 0.02);
        if (d != DISTRIBUTION_HEAVY)
            assert_ratio(m.sum[3] / m.n, distributions[d].fourth, 0.02);
        float part[10];
        distribution_draw((enum distribution)d, part, 10, random_key(8, (uint64_t)d), 77);
        assert_memory_equal(part, x + 77, sizeof part);
    }
    free(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_those_of_the_matrix),
        cmocka_unit_test(saturated_rows_keep_their_digits),
        cmocka_unit_test(equal_logits_are_known),
        cmocka_unit_test(gradients_are_those_of_the_matrix),
        cmocka_unit_test(drawn_elements_have_their_moments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
