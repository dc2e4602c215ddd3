/*
 * tile.h: part of kernel split_kv: its operands, and a tile of up to eight query rows with the
 * state of its softmax.
 *
 * A step is VF_BYTES bytes of a row of K or V.  Its elements widen to one vector (f32) or two.
 * bf16 widens by a shift and a mask, so its two vectors hold the even and the odd elements; Q is
 * laid out to match and O is put in order again when it is stored.  widen() and narrow() are the
 * only places that know it.
 */
#ifndef ATTN_SPLIT_KV_TILE_H
#define ATTN_SPLIT_KV_TILE_H

#include <math.h>
#include <stdbool.h>

#include "shared/exp2.h"
#include "shared/simd16.h"
#ifdef __AVX512BF16__
#include "shared/simd_bf16.h"
#endif

#define LANE_ROWS 8 /* query rows of the highest tile where there are 16 lanes */
#define TILE_ROWS (VF_LANES == 2 * LANE_ROWS ? LANE_ROWS : 4)
#define GROUP_KEYS 16 /* keys whose scores are compared with the running maximum at once */

/* ---- elements ------------------------------------------------------------------------------- */

enum format { FORMAT_F32, FORMAT_BF16, FORMAT_F16 };

/* Vectors that a step widens to. */
#define FORMAT_VECTORS(format) ((format) == FORMAT_F32 ? 1 : 2)

/* Whether K and V are multiplied in pairs (simd_bf16.h). */
#ifdef __AVX512BF16__
#define FORMAT_PAIRS(format) ((format) == FORMAT_BF16)
#else
#define FORMAT_PAIRS(format) 0
#endif

/* Vectors of K and of Q in a step. */
#define FORMAT_K_VECTORS(format) (FORMAT_PAIRS(format) ? 1 : FORMAT_VECTORS(format))

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
static inline ptrdiff_t axis_floats(const struct axis *a, enum format format)
{
    return a->steps * FORMAT_VECTORS(format) * VF_LANES;
}

/* The even and the odd elements. */
VF_INLINE void widen_pairs(vi bf16, vf x[2])
{
    x[0] = (vf)(bf16 << 16);
    x[1] = (vf)(bf16 & (int32_t)0xffff0000);
}

VF_INLINE void widen(const enum format format, const char *p, vf x[2])
{
    if (format == FORMAT_F32) {
        memcpy(&x[0], p, sizeof x[0]);
    } else if (format == FORMAT_BF16) {
        vi pairs;
        memcpy(&pairs, p, sizeof pairs);
        widen_pairs(pairs, x);
    } else {
        x[0] = vf_load_f16((const uint16_t *)p);
        x[1] = vf_load_f16((const uint16_t *)p + VF_LANES);
    }
}

/* A step of a row from its vectors: what widen() undoes, rounded to nearest even. */
VF_INLINE void narrow(const enum format format, const vf x[2], char *p)
{
    if (format == FORMAT_F32) {
        memcpy(p, &x[0], sizeof x[0]);
    } else if (format == FORMAT_BF16) {
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
VF_INLINE void widen_step(const enum format format, int tail, const char *p, vf x[2])
{
    if (tail) {
        const vi raw = vi_load_bytes(p, (size_t)tail);
        char step[VF_BYTES];
        memcpy(step, &raw, sizeof step);
        widen(format, step, x);
    } else {
        widen(format, p, x);
    }
}

/* A step of K as it is multiplied. */
VF_INLINE void load_k(const enum format format, int tail, const char *p, vf x[2])
{
    if (!FORMAT_PAIRS(format))
        widen_step(format, tail, p, x);
    else if (tail)
        x[0] = (vf)vi_load_bytes(p, (size_t)tail);
    else
        memcpy(&x[0], p, sizeof x[0]);
}

VF_INLINE vf multiply(const enum format format, vf q, vf k, vf sum)
{
#ifdef __AVX512BF16__
    if (FORMAT_PAIRS(format))
        return bf16_dot((vi)q, (vi)k, sum);
#else
    (void)format;
#endif
    return vf_fma(q, k, sum);
}

/* ---- rows of K and V ------------------------------------------------------------------------ */

/*
 * What to fetch while a tile computes: cache lines of coming key rows, in the order of their
 * addresses whatever the order of the loads.  Each line is asked for twice, `far` bytes ahead
 * into L2 and here into L1: the first hides DRAM, where few L1 misses may be outstanding, the
 * second hides L2.
 */
struct cursor {
    const char *at, *row_end;
    ptrdiff_t bytes, stride, far;
    int rows; /* left */
};

VF_INLINE void fetch_next(struct cursor *c)
{
    if (c->rows <= 0)
        return;
    __builtin_prefetch(c->at, 0, 3);
    __builtin_prefetch(c->at + c->far, 0, 2);
    c->at += 64;
    if (c->at >= c->row_end) {
        c->row_end += c->stride;
        c->at = c->row_end - c->bytes;
        c->rows--;
    }
}

/* Key or value rows of one head. */
struct rows {
    const char *data;
    ptrdiff_t stride; /* bytes */
};

/* ---- a tile and its softmax ----------------------------------------------------------------- */

/* Query rows and what they have gathered so far in this split. */
struct tile {
    int rows;
    const float *q;     /* [step][row][vector] */
    float scale;        /* of the scores, log2(e) included */
    float *p;           /* [key][row] */
    float *o;           /* unnormalised */
    ptrdiff_t o_floats; /* of a row */
    /* By lane, lane % rows being the row.  Scores are in log2.  P is 2^(score - shift); shift is
     * a maximum of earlier scores and is raised only when a score exceeds limit = shift + 8, so
     * that P stays below 2^8 and most blocks rescale nothing.  No score yet: limit is -inf. */
    float shift[VF_LANES], limit[VF_LANES], sum[VF_LANES];
};

/* Raises the shift of rows of which a score in s[0, n) exceeds the limit, and rescales what was
 * gathered relative to the old one; `done` weights of this block are in P already. */
VF_NOINLINE void raise_shift(struct tile *t, const vf *s, int n, int done)
{
    for (int h = 0; h < t->rows; h++) {
        float m = t->limit[h];
        for (int i = 0; i < n; i++)
            for (int lane = h; lane < VF_LANES; lane += t->rows)
                m = s[i][lane] > m ? s[i][lane] : m;
        if (!(m > t->limit[h]))
            continue;
        const float factor = t->limit[h] == -INFINITY ? 0 : exp2f(t->shift[h] - m);
        for (int lane = h; lane < VF_LANES; lane += t->rows) {
            t->shift[lane] = m;
            t->limit[lane] = m + 8;
            t->sum[lane] *= factor;
        }
        for (int i = h; i < done; i += t->rows)
            t->p[i] *= factor;
        for (ptrdiff_t x = 0; x < t->o_floats; x++)
            t->o[h * t->o_floats + x] *= factor;
    }
}

/* Adds to P the weights of the unscaled scores s[0, n), behind the `done` weights that are there.
 * `hidden`, where not NULL, has an int for each: all ones where a mask hides the key. */
static void exponentials(struct tile *t, vf *s, int n, int done, const int32_t *hidden)
{
    const vf limit = vf_load(t->limit);
    vi over = {0};
    for (int i = 0; i < n; i++) {
        s[i] *= t->scale;
        if (hidden) {
            vi mask;
            memcpy(&mask, hidden + done + i * VF_LANES, sizeof mask);
            s[i] = vf_select(mask, vf_set1(-INFINITY), s[i]);
        }
        over |= ~(vi)(s[i] <= limit); /* NaN too */
    }
    if (__builtin_expect(vi_any(over), 0))
        raise_shift(t, s, n, done);
    const vf shift = vf_load(t->shift);
    vf sum = vf_load(t->sum);
    for (int i = 0; i < n; i++) {
        const vf e = exp2_precise(s[i] - shift);
        vf_store(t->p + done + i * VF_LANES, e);
        sum += e;
    }
    vf_store(t->sum, sum);
}

#endif
