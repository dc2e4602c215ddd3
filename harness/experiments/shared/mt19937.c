/*
 * mt19937: the recurrence, the tempering, and PyTorch's float32.
 */
#include "mt19937.h"

#include <math.h>

#define DISTANCE 397

void mt19937_seed(struct mt19937 *g, uint32_t seed)
{
    g->state[0] = seed;
    for (uint32_t i = 1; i < MT19937_WORDS; i++)
        g->state[i] = 1812433253u * (g->state[i - 1] ^ g->state[i - 1] >> 30) + i;
    g->at = MT19937_WORDS;
}

/* The next 624 words. */
static void refill(struct mt19937 *g)
{
    for (size_t i = 0; i < MT19937_WORDS; i++) {
        const uint32_t next = g->state[(i + 1) % MT19937_WORDS];
        const uint32_t y = (g->state[i] & 0x80000000u) | (next & 0x7fffffffu);
        g->state[i] = g->state[(i + DISTANCE) % MT19937_WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    g->at = 0;
}

uint32_t mt19937_next(struct mt19937 *g)
{
    if (g->at == MT19937_WORDS)
        refill(g);
    uint32_t y = g->state[g->at++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

void mt19937_uniform(struct mt19937 *g, float *x, size_t n, float from, float to)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(mt19937_next(g) & 0xffffff) * 0x1p-24f * (to - from) + from;
}

void mt19937_linear(struct mt19937 *g, size_t d_in, size_t d_out, float *w, float *bias)
{
    const float bound = (float)(1 / sqrt((double)d_in));
    for (size_t o = 0; o < d_out; o++)
        for (size_t i = 0; i < d_in; i++)
            mt19937_uniform(g, &w[i * d_out + o], 1, -bound, bound);
    if (bias)
        mt19937_uniform(g, bias, d_out, -bound, bound);
}
