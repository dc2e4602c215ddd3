/*
 * tensors_fill: fills Q, K and V by the input of a case.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/message.h"
#include "operands_file.h"
#include "patterns.h"
#include "tensors_view.h"

#define NEEDLE_SCORE 40 /* other keys weigh e^-40: a million of them less than 1e-11 */
#define SORTED_RANGE 96 /* between the largest and the smallest of 4096 numbers N(0, 13^2) */
#define NOISE 0.25

enum { STREAM_SCORES = PATTERNS_V + 1, STREAMS }; /* after those of q, k and v */
#define STREAM_POISON UINT64_C(0x706f69736f6e)    /* of bytes that must not be read */

static bool is_needle(const void *context, struct kv_place at)
{
    return at.j == *(const size_t *)context;
}

static double needle_score(const void *context, struct kv_place at)
{
    return is_needle(context, at) ? NEEDLE_SCORE : 0;
}

static double ascending_score(const void *context, struct kv_place at)
{
    const struct attn_problem *p = context;
    return SORTED_RANGE * ((double)at.j / (double)p->kv_len - 0.5);
}

static double descending_score(const void *context, struct kv_place at)
{
    return -ascending_score(context, at);
}

/* Sets of inputs without random numbers differ by exact factors of V: 1, -1, 2, -2, 4... */
static double stream_factor(uint64_t stream)
{
    return ldexp(stream % 2 ? -1 : 1, (int)(stream / 2 % 4));
}

static bool fill_needle(struct tensor_set *set, const struct problem_case *c, uint64_t key,
                        struct message message)
{
    const size_t needle = c->input.needle;
    if (needle >= c->problem.kv_len)
        return refuse(message, "input=needle:%zu: there are only %zu keys", needle,
                      c->problem.kv_len);
    patterns_scores(set, &c->problem, key, needle_score, &needle, NOISE);
    patterns_one_hot(set, &c->problem, is_needle, &needle);
    return true;
}

static bool same_shape(const struct tensors_shape *a, const struct tensors_shape *b)
{
    return memcmp(a, b, offsetof(struct tensors_shape, bias_dtype)) == 0 &&
           a->bias_dtype == b->bias_dtype;
}

/* Fills all operands except q, k and v, and poisons memory beyond the ends of sequences; nothing for a
 * file. */
static bool fill_others(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                        struct message message)
{
    const uint64_t poison = random_key(c->input.seed ^ STREAM_POISON, stream);
    if (!tensors_fill_tables(set, c, stream, message) ||
        !tensors_poison_tails(set, &c->problem, poison, message))
        return false;
    tensors_fill_masks(set, c, stream);
    return !c->input.mask_file || operands_file_fill(set, c, message);
}

/* Fills Q, K and V by the kind of input. */
static bool fill_kind(struct tensor_set *set, const struct problem_case *c,
                      const uint64_t key[STREAMS], struct message message)
{
    const struct attn_problem *p = &c->problem;
    switch (c->input.kind) {
    case INPUT_NORMAL:
        for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
            patterns_normal(set, p, n, key[n], 0, 1);
        return true;
    case INPUT_UNIFORM:
        for (unsigned n = PATTERNS_Q; n <= PATTERNS_V; n++)
            patterns_uniform(set, p, n, key[n]);
        return true;
    case INPUT_NEEDLE:
        return fill_needle(set, c, key[STREAM_SCORES], message);
    case INPUT_NEGATIVE:
    case INPUT_SINK:
        patterns_scores(set, p, key[STREAM_SCORES],
                        c->input.kind == INPUT_SINK ? patterns_sink : patterns_negative, NULL,
                        NOISE);
        patterns_normal(set, p, PATTERNS_V, key[PATTERNS_V], 2, 1);
        return true;
    case INPUT_ASCENDING:
    case INPUT_DESCENDING:
        patterns_scores(set, p, key[STREAM_SCORES],
                        c->input.kind == INPUT_ASCENDING ? ascending_score : descending_score, p,
                        0);
        patterns_normal(set, p, PATTERNS_V, key[PATTERNS_V], 0, 1);
        return true;
    case INPUT_FILE:
        break;
    }
    return operands_file_fill(set, c, message);
}

bool tensors_fill(struct tensor_set *set, const struct problem_case *c, uint64_t stream,
                  struct message message)
{
    uint64_t key[STREAMS];
    struct tensors_shape shape;
    for (uint64_t n = 0; n < STREAMS; n++)
        key[n] = random_key(c->input.seed, stream * STREAMS + n);
    if (!tensors_shape_of(c, &shape, message))
        return false;
    if (!same_shape(&set->shape, &shape))
        return refuse(message, "the operands were made for another input");
    if (c->input.kind != INPUT_FILE && !fill_others(set, c, stream, message))
        return false;
    if (!fill_kind(set, c, key, message))
        return false;
    if (stream && (c->input.kind == INPUT_FILE || c->input.kind == INPUT_NEEDLE))
        patterns_scale_v(set, &c->problem, stream_factor(stream));
    tensors_seal(set, &c->problem);
    return true;
}

/* ---- a set of a case's operands in process memory -------------------------------------------- */

bool tensors_alloc_case(struct tensor_set *set, const struct problem_case *c,
                        const struct tensors_layout *layout, struct message message)
{
    struct tensors_shape shape;
    *set = (struct tensor_set){0};
    if (!tensors_shape_of(c, &shape, message) ||
        !tensors_alloc_shape(set, &c->problem, &shape, layout, message))
        return false;
    if (c->input.kind == INPUT_FILE)
        return true;
    if (!fill_others(set, c, 0, message)) {
        tensors_free(set);
        return false;
    }
    tensors_seal(set, &c->problem);
    return true;
}

bool tensors_alloc(struct tensor_set *set, const struct attn_problem *problem,
                   const struct tensors_layout *layout, struct message message)
{
    const struct problem_case c = {.problem = *problem, .input = {.kind = INPUT_NORMAL, .seed = 1}};
    return tensors_alloc_case(set, &c, layout, message);
}
