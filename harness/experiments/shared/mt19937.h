/*
 * mt19937: the generator behind torch.manual_seed() and nn.Linear's weights.
 *
 * Matsumoto and Nishimura 1998, seeded by one word with the recurrence of 2002.  As in PyTorch 2 on a CPU,
 * a uniform float32 is the low 24 bits of a word times 2^-24, scaled to [from, to) in float32
 * (aten/src/ATen/core/MT19937RNGEngine.h and TransformationHelper.h); nn.Linear(in, out) draws its
 * weight, (out, in) row-major, and then its bias from [-1/sqrt(in), 1/sqrt(in)).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MT19937_WORDS 624

struct mt19937 {
    uint32_t state[MT19937_WORDS];
    size_t at; /* index of the next word */
};

void mt19937_seed(struct mt19937 *generator, uint32_t seed);
uint32_t mt19937_next(struct mt19937 *generator);

/* Draws n numbers as torch.empty(n).uniform_(from, to) does. */
void mt19937_uniform(struct mt19937 *generator, float *x, size_t n, float from, float to);

/* Draws the weight of an nn.Linear(d_in, d_out), as (d_in, d_out), so that y = x w; and its bias if not
 * NULL. */
void mt19937_linear(struct mt19937 *generator, size_t d_in, size_t d_out, float *w, float *bias);
