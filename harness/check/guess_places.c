/*
 * guess_places: K and V read from other places than those of the row: another head's or sequence's, or
 * rows that lie elsewhere than their strides say.
 */
#include <stdio.h>

#include "guess.h"

/* What is read elsewhere. */
enum { READS_BOTH, READS_V, READS_K, SIDES };
static const char *const sides[SIDES] = {"", "V of ", "K of "};

/* Number n: both operands of each KV head of each sequence, then V alone, then K alone.  Only of a
 * sequence that has as many keys. */
static bool other_head(size_t n, const struct sight *right, struct guess *guess, char *text,
                       size_t size)
{
    struct sight *s = &guess->sight;
    const struct attn_problem *p = &guess->problem;
    const size_t heads = p->batch * p->kv_heads, side = n / heads;
    const size_t b = n % heads / p->kv_heads, g = n % heads % p->kv_heads;
    const bool shared = p->options & ATTN_OPTION_SHARED_KV;
    if (side != READS_V) {
        s->b = b;
        s->g = g;
    }
    if (side != READS_K) {
        s->v_b = b;
        s->v_g = g;
    }
    snprintf(text, size, "as if it read %sKV head %zu of sequence %zu instead of %zu of %zu",
             sides[side], g, b, right->g, right->b);
    return (b != right->b || g != right->g) && !(shared && side != READS_BOTH) &&
           attn_sequence(p, &guess->tensors, b).kv_len >= s->sequence.kv_len;
}

bool guess_place(size_t n, const struct sight *right, struct guess *guess, bool *fits, char *text,
                 size_t size)
{
    const size_t heads = SIDES * right->problem->batch * right->problem->kv_heads;
    *fits = n < heads && other_head(n, right, guess, text, size);
    return n < heads;
}
