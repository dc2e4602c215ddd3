/*
 * init: what the weights that each version begins with do to the scores.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "experiments/shared/dots.h"
#include "experiments/shared/mt19937.h"
#include "experiments/shared/softmax_facts.h"
#include "linear.h"

#define STREAM 14200
#define TOKENS 64

/* Sums over the rows of weights. */
struct seen {
    double squares; /* of the elements of Q */
    double spread;  /* of a row's scaled scores: its variance */
    double entropy, largest;
};

/* Row i of attention of q and k, (TOKENS, d). */
static void add_row(struct seen *seen, const float *q, const float *k, size_t i, size_t d)
{
    double x[TOKENS], p[TOKENS], sum = 0, squares = 0;
    for (size_t j = 0; j < TOKENS; j++) {
        double score = 0;
        for (size_t e = 0; e < d; e++)
            score += (double)q[i * d + e] * (double)k[j * d + e];
        x[j] = score / sqrt((double)d);
        sum += x[j];
    }
    for (size_t j = 0; j < TOKENS; j++)
        squares += (x[j] - sum / TOKENS) * (x[j] - sum / TOKENS);
    const struct softmax_facts facts = softmax_facts(x, TOKENS, p);
    seen->spread += squares / (TOKENS - 1);
    seen->entropy += facts.entropy;
    seen->largest += facts.largest;
    for (size_t e = 0; e < d; e++)
        seen->squares += (double)q[i * d + e] * (double)q[i * d + e];
}

/* torch.rand(d, d), or the weight of nn.Linear(d, d), as (d_in, d_out). */
static void draw_weight(struct mt19937 *generator, const char *init, size_t d, float *w)
{
    if (strcmp(init, "linear") == 0)
        mt19937_linear(generator, d, d, w, NULL);
    else
        mt19937_uniform(generator, w, d * d, 0, 1);
}

json_t *linear_init(const json_t *s, struct experiment_work *work)
{
    const size_t d = (size_t)json_integer_value(json_object_get(s, "d")), n = TOKENS * d;
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    const struct linear_shape shape = {TOKENS, d, d};
    struct mt19937 generator;
    struct seen seen = {0};
    float *x = malloc((3 * n + d * d) * sizeof *x);
    if (!x) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return NULL;
    }
    float *q = x + n, *k = q + n, *w = k + n;
    linear_one_thread();
    distribution_draw(distribution_find(experiment_text(s, "input")), x, n,
                      random_key(seed, STREAM), 0);
    mt19937_seed(&generator, (uint32_t)seed);
    draw_weight(&generator, experiment_text(s, "init"), d, w);
    linear_ways[0].run(&shape, x, w, LINEAR_PARAMETER, q);
    draw_weight(&generator, experiment_text(s, "init"), d, w);
    linear_ways[0].run(&shape, x, w, LINEAR_PARAMETER, k);
    for (size_t i = 0; i < TOKENS; i++)
        add_row(&seen, q, k, i, d);
    free(x);
    return json_pack(
        "[o]",
        experiment_row(json_copy((json_t *)s),
                       json_pack("{s:f, s:f, s:f, s:f}", "q_squared", seen.squares / (double)n,
                                 "spread", sqrt(seen.spread / TOKENS), "effective_keys",
                                 exp(seen.entropy / TOKENS), "largest", seen.largest / TOKENS)));
}
