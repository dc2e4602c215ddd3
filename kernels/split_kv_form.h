/*
 * split_kv_form.h: rows of K and V of each element type in vectors of floats, for split_kv.c.
 *
 * The elements of a step widen to one vector (f32) or two.  bf16 widens by a shift and a mask, so
 * its two vectors hold the even and the odd elements; Q is laid out to match and O is put in order
 * again when it is stored.  widen() and narrow() are the only places that know it.
 */
#ifndef ATTN_SPLIT_KV_FORM_H
#define ATTN_SPLIT_KV_FORM_H

#include "shared/simd16.h"
#ifdef __AVX512BF16__
#include "shared/simd_bf16.h"
#endif

enum form { FORM_F32, FORM_BF16, FORM_F16 };

/* Vectors that a step widens to. */
#define FORM_VECTORS(form) ((form) == FORM_F32 ? 1 : 2)

/* Whether K and V are multiplied in pairs (simd_bf16.h). */
#ifdef __AVX512BF16__
#define FORM_PAIRS(form) ((form) == FORM_BF16)
#else
#define FORM_PAIRS(form) 0
#endif

/* Vectors of K and of Q in a step. */
#define FORM_DOTS(form) (FORM_PAIRS(form) ? 1 : FORM_VECTORS(form))

/* A row of K or V: `full` whole steps and, where `tail` is not 0, one of `tail` bytes. */
struct axis {
    ptrdiff_t dim, bytes; /* of the row */
    ptrdiff_t full, steps;
    int tail;
};

static inline struct axis axis_of(size_t dim, size_t element_bytes)
{
    struct axis a = {.dim = (ptrdiff_t)dim, .bytes = (ptrdiff_t)(dim * element_bytes)};
    a.full = a.bytes / VF_BYTES;
    a.tail = (int)(a.bytes % VF_BYTES);
    a.steps = a.full + (a.tail > 0);
    return a;
}

/* Floats of a row's widened vectors. */
static inline ptrdiff_t axis_floats(const struct axis *a, enum form form)
{
    return a->steps * FORM_VECTORS(form) * VF_LANES;
}

/* The even and the odd elements. */
VF_INLINE void widen_pairs(vi bf16, vf x[2])
{
    x[0] = (vf)(bf16 << 16);
    x[1] = (vf)(bf16 & (int32_t)0xffff0000);
}

VF_INLINE void widen(const enum form form, const char *p, vf x[2])
{
    if (form == FORM_F32) {
        memcpy(&x[0], p, sizeof x[0]);
    } else if (form == FORM_BF16) {
        vi pairs;
        memcpy(&pairs, p, sizeof pairs);
        widen_pairs(pairs, x);
    } else {
        x[0] = vf_load_f16((const uint16_t *)p);
        x[1] = vf_load_f16((const uint16_t *)p + VF_LANES);
    }
}

/* A step of a row from its vectors: what widen() undoes, rounded to nearest even. */
VF_INLINE void narrow(const enum form form, const vf x[2], char *p)
{
    if (form == FORM_F32) {
        memcpy(p, &x[0], sizeof x[0]);
    } else if (form == FORM_BF16) {
        const vi even = __builtin_convertvector(vh_of_bf16(x[0]), vi);
        const vi odd = __builtin_convertvector(vh_of_bf16(x[1]), vi);
        const vi pairs = even | odd << 16;
        memcpy(p, &pairs, sizeof pairs);
    } else {
        vf_store_elements(ATTN_F16, p, x[0], VF_LANES);
        vf_store_elements(ATTN_F16, p + VF_BYTES / 2, x[1], VF_LANES);
    }
}

/* A step of which only the first `tail` bytes exist, where tail is not 0. */
VF_INLINE void widen_step(const enum form form, int tail, const char *p, vf x[2])
{
    if (tail) {
        const vi raw = vi_load_bytes(p, (size_t)tail);
        char step[VF_BYTES];
        memcpy(step, &raw, sizeof step);
        widen(form, step, x);
    } else {
        widen(form, p, x);
    }
}

/* A step of K as it is multiplied. */
VF_INLINE void load_k(const enum form form, int tail, const char *p, vf x[2])
{
    if (!FORM_PAIRS(form))
        widen_step(form, tail, p, x);
    else if (tail)
        x[0] = (vf)vi_load_bytes(p, (size_t)tail);
    else
        memcpy(&x[0], p, sizeof x[0]);
}

VF_INLINE vf multiply(const enum form form, vf q, vf k, vf sum)
{
#ifdef __AVX512BF16__
    if (FORM_PAIRS(form))
        return bf16_dot((vi)q, (vi)k, sum);
#else
    (void)form;
#endif
    return vf_fma(q, k, sum);
}

#endif
