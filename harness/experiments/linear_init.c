/*
 * linear_init: attention scores of a layer with its initial weights.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "experiments/shared/distribution.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/mt19937.h"
#include "experiments/shared/softmax_facts.h"
#include "parts.h"

#define STREAM_INIT 14200
#define SENTENCE 64 /* tokens */

/* Sums over rows of attention weights. */
struct seen {
    double squares; /* of the elements of Q */
    double spread;  /* variance of a row's scaled scores */
    double entropy, largest;
};

/* Adds row i of the attention weights of q and k, (SENTENCE, d). */
static void add_row(struct seen *seen, const float *q, const float *k, size_t i, size_t d)
{
    double x[SENTENCE], p[SENTENCE], sum = 0, squares = 0;
    for (size_t j = 0; j < SENTENCE; j++) {
        x[j] = kernel_call_dot(q + i * d, k + j * d, d) / sqrt((double)d);
        sum += x[j];
    }
    for (size_t j = 0; j < SENTENCE; j++)
        squares += (x[j] - sum / SENTENCE) * (x[j] - sum / SENTENCE);
    const struct softmax_facts facts = softmax_facts(x, SENTENCE, p);
    seen->spread += squares / (SENTENCE - 1);
    seen->entropy += facts.entropy;
    seen->largest += facts.largest;
    for (size_t e = 0; e < d; e++)
        seen->squares += (double)q[i * d + e] * (double)q[i * d + e];
}

/* Draws torch.rand(d, d), or the weight of nn.Linear(d, d), as (d_in, d_out). */
static void draw_weight(struct mt19937 *generator, const char *init, size_t d, float *w)
{
    if (strcmp(init, "linear") == 0)
        mt19937_linear(generator, d, d, w, NULL);
    else
        mt19937_uniform(generator, w, d * d, 0, 1);
}

bool linear_init(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t d = experiment_count(s, "d"), n = SENTENCE * d, seed = experiment_count(s, "seed");
    const struct linear_shape shape = {SENTENCE, d, d};
    const char *init = member_text(s, "init");
    struct mt19937 generator;
    struct seen seen = {0};
    float *x = experiment_alloc(work, 3 * n + d * d, sizeof *x);
    if (!x)
        return false;
    float *q = x + n, *k = q + n, *w = k + n;
    linear_one_thread();
    distribution_draw(distribution_find(member_text(s, "input")), x, n,
                      random_key(seed, STREAM_INIT), 0);
    mt19937_seed(&generator, (uint32_t)seed);
    draw_weight(&generator, init, d, w);
    linear_gemm(&shape, x, w, LINEAR_PARAMETER, q);
    draw_weight(&generator, init, d, w);
    linear_gemm(&shape, x, w, LINEAR_PARAMETER, k);
    for (size_t i = 0; i < SENTENCE; i++)
        add_row(&seen, q, k, i, d);
    experiment_add(rows, json_copy((json_t *)s),
                   experiment_values(
                       (struct experiment_value[]){{"q_squared", seen.squares / (double)n},
                                                   {"spread", sqrt(seen.spread / SENTENCE)},
                                                   {"effective_keys", exp(seen.entropy / SENTENCE)},
                                                   {"largest", seen.largest / SENTENCE},
                                                   {0}}));
    return true;
}
