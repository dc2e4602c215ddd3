/*
 * tokens: the parts of a layer of the experiment worked-examples that no notebook printed: its tokens as
 * queries, keys, values and outputs, and its mask.
 */
#ifndef HARNESS_EXPERIMENTS_EXAMPLES_TOKENS_H
#define HARNESS_EXPERIMENTS_EXAMPLES_TOKENS_H

#include <stdint.h>

#include "experiments/experiment.h"

/* Of any shape. */
enum { MOST_LEN = 10, MOST_DIM = 512, MOST_INPUT = 2 * 10 * 64, MOST_WEIGHTS = 64 * 64 };

/* An example; d_in of 0: attention of given q, k, v without a layer. */
struct shape {
    const char *name;
    size_t batch, len, heads, d_in, d_out;
    bool causal, bias, scale_by_v_dim;
    bool added;   /* a mask of (batch, heads, len, len) is added to the scores */
    size_t v_dim; /* 0: d_out */
};

/* One sequence after another: (batch, len, heads, dim), and the layer's output where there is a layer. */
struct tokens {
    size_t batch, len, heads, dim, v_dim;
    float *q, *k, *v, *y, *mask; /* one allocation, at q; mask (batch, heads, len, len) */
};

/* False without memory.  Queries, keys, values and outputs are zero; the mask is drawn where there is one:
 * 0 and -inf, another matrix for each sequence and head.  No query sees later keys, nor the last 3 of the
 * second sequence, which are padding; heads look back 2, 5, 8 and 11 tokens.  The last query of head 0 in
 * the second sequence sees nothing. */
bool tokens_open(struct tokens *t, const struct shape *s);
void tokens_close(struct tokens *t);

/* The mask as the attention's problem has it, an enum attn_mask. */
unsigned tokens_mask(const struct shape *s);

/* q, k and v as NumPy has them, in float64, rounded: N(0, 1), or uniform in [-1, 1); returns the largest
 * relative rounding. */
double tokens_draw(struct tokens *t, bool normal, uint64_t seed);

/* q, k, v and y of a layer with random weights, whose x is N(0, 1), or uniform in [0, 1).  False fills
 * work->message. */
bool tokens_layer(struct tokens *t, const struct shape *s, bool normal, uint64_t seed,
                  const char *kernel, struct experiment_work *work);

#endif
