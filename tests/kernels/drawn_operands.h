/*
 * drawn_operands: operands of any problem, drawn from a seed: numbers, lengths, offsets, pages, and
 * which dimensions share a bias, mask or scale.  What no row may look at is NaN: padding, unnamed
 * pages, the rest of a last page, keys behind a length, keys that masks hide from every query.  For
 * tests; include behind cmocka.h.
 *
 * The rule of masks and the place of an element are written here a second time, apart from those of
 * attention.h.
 */
#pragma once

#include "attention.h"

struct drawn_operands {
    struct attn_problem problem;
    struct attn_tensors tensors;
    uint64_t key, drawn; /* stream of random numbers, and how many were taken */
    bool pages_shared;
    void *blocks[32];
    size_t count;
};

/* A problem of at most these lengths, of some of the masks and options and one of the types that are
 * given as sets. */
struct drawn_limits {
    size_t q_len, kv_len, dim;
    unsigned masks, options;
    unsigned must_masks, must_options; /* what every problem has */
    unsigned dtypes, kv_dtypes;        /* bits 1u << dtype; kv_dtypes beyond the same */
    bool quantised;                    /* one of kv_dtypes, always */
};

/* Small problems with every mask, option and type that there is. */
extern const struct drawn_limits drawn_everything;

struct attn_problem drawn_problem(const struct drawn_limits *limits, uint64_t seed);

/* Operands and results of the problem; results are not filled.  poison: keys that no query sees are
 * NaN, which some libraries cannot bear. */
void drawn_open(struct drawn_operands *d, const struct attn_problem *problem, bool poison,
                uint64_t seed);
void drawn_close(struct drawn_operands *d);

/* Rows and keys of a sequence. */
size_t drawn_q_len(const struct drawn_operands *d, size_t b);
size_t drawn_kv_len(const struct drawn_operands *d, size_t b);

/* Whether query i of head h of sequence b sees key j; whether any query does for which KV head g has it. */
bool drawn_sees(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t j);
bool drawn_group_sees(const struct drawn_operands *d, size_t b, size_t g, size_t j);

/* Elements: of Q; of K and V of a KV head, scales multiplied in; of the bias. */
double drawn_q(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t e);
double drawn_k(const struct drawn_operands *d, size_t b, size_t g, size_t j, size_t e);
double drawn_v(const struct drawn_operands *d, size_t b, size_t g, size_t j, size_t e);
double drawn_bias(const struct drawn_operands *d, size_t b, size_t h, size_t i, size_t j);
