/*
 * random: numbers that depend on a key and an index only, so that any thread can make any part.
 *
 * The generator is SplitMix64 used as a counter (Steele, Lea and Flood 2014): element `index` of
 * stream `key` is a hash of both.  Same numbers on every host and thread count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The key of stream number `stream` of a seed; streams are independent. */
uint64_t random_key(uint64_t seed, uint64_t stream);

/* Element `index` of a stream: 64 random bits; an integer in [0, n); a double in [0, 1). */
uint64_t random_bits(uint64_t key, uint64_t index);
uint64_t random_below(uint64_t key, uint64_t index, uint64_t n);
double random_unit(uint64_t key, uint64_t index);

/* Permutes n numbers in place; the order depends on the key alone. */
void random_shuffle(size_t *numbers, size_t n, uint64_t key);

/* Elements [first, first + n) of a stream of N(0, 1), and of U(-1, 1). */
void random_normal(float *x, size_t n, uint64_t key, uint64_t first);
void random_uniform(float *x, size_t n, uint64_t key, uint64_t first);

/* Makes doubles that hold floats use their low bits, too: multiplies x[0, n) by 1 + e with |e| < 2^-25, so
 * that rounding to float mostly gives the old values. */
void random_refine(double *x, size_t n, uint64_t key, uint64_t first);

/* A text that nobody can guess; false where the system gives no random numbers. */
#define RANDOM_TOKEN 33 /* bytes, with its end */
bool random_token(char token[RANDOM_TOKEN]);
