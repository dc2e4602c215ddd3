/*
 * rank: a call, as one rank does its part of it.
 */
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "ring_private.h"

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whether sending partial results takes fewer bytes than sending keys: each of N ranks sends its keys N - 1
 * times, partial results are sent log2(N) times one after the other. */
static bool keys_stay(const struct attn_problem *p, int ranks)
{
    double levels = 0;
    for (int n = 1; n < ranks; n *= 2)
        levels++;
    const double sums = (double)p->q_heads * (double)p->q_len * (double)(p->v_dim + 1) * 4;
    const double keys = (double)p->kv_heads * (double)p->kv_len / ranks *
                        (double)(p->qk_dim + p->v_dim) * (double)attn_dtype_size(p->dtype);
    return p->q_len <= p->kv_len / (size_t)ranks && levels * sums < (ranks - 1) * keys;
}

/* Keys that no rank has more of. */
static size_t most_keys(const struct ring *ring)
{
    const size_t chunks = 2 * (size_t)ring->setting.ranks;
    return 2 * (ring->problem.kv_len / chunks + (ring->problem.kv_len % chunks > 0));
}

/* split_kv where that is the faster one for a rank's keys, which is where few queries keep them in their
 * places.  As for one thread: results do not depend on how many there are. */
static const struct attn_kernel *block_kernel(const struct ring *ring)
{
    struct attn_problem p = ring->problem;
    p.kv_len = most_keys(ring);
    const struct attn_kernel *best = ring->keys_stay ? attn_kernel_best(&p, 1) : NULL;
    const bool split = best && strcmp(best->name, "split_kv") == 0;
    return attn_find(split ? "split_kv" : "flash", ring->setting.isa);
}

/* Adds the bytes to those of the ring; NULL without memory. */
static void *allocate(struct ring *ring, size_t bytes)
{
    const size_t align = ATTN_WORKSPACE_ALIGN, rounded = (bytes / align + 1) * align;
    ring->bytes += rounded;
    return aligned_alloc(align, rounded);
}

static bool allocate_workspace(struct ring *ring, const char **why)
{
    const char *missing = ring_note_workspace(ring);
    *why = missing ? missing : "out of memory";
    if (missing)
        return false;
    ring->workspace = allocate(ring, ring->workspace_bytes);
    return ring->workspace;
}

static bool allocate_buffers(struct ring *ring, const char **why)
{
    const struct attn_problem *p = &ring->problem;
    const struct ring_part most = {.rows = {most_keys(ring), 0}};
    const size_t rows = ring_sum_rows(ring), floats = rows * p->v_dim;
    const bool travels = ring->setting.ranks > 1 && !ring->keys_stay;
    *why = "more than 64 GiB of keys and values a rank: take more ranks";
    if (travels && ring_kv_bytes(ring, &most) > RING_MESSAGES * RING_MESSAGE)
        return false;
    *why = "out of memory";
    const bool in_place = p->dtype == ATTN_F32 && !ring->keys_stay; /* adds up in the results */
    for (int n = 0; travels && n < 2; n++)
        if (!(ring->arriving[n] = allocate(ring, ring_kv_bytes(ring, &most))))
            return false;
    if (!in_place && !(ring->sums.o = allocate(ring, floats * sizeof(float))))
        return false;
    ring->piece.o = allocate(ring, floats * sizeof(float));
    ring->piece.lse = allocate(ring, rows * sizeof(float));
    return ring->piece.o && ring->piece.lse;
}

struct ring *ring_open(const struct ring_setting *setting, const char **why)
{
    struct ring *ring = calloc(1, sizeof *ring);
    *why = "out of memory";
    if (!ring)
        return NULL;
    const struct attn_problem *p = setting->problem;
    ring->setting = *setting;
    ring->problem = *p;
    ring->setting.problem = &ring->problem;
    ring->kv_elements = p->qk_dim + p->v_dim;
    ring->keys_stay = setting->ranks > 1 && keys_stay(p, setting->ranks);
    ring->parts = ring_parts(ring, setting->rank);
    ring->kernel = block_kernel(ring);
    if (allocate_workspace(ring, why) && allocate_buffers(ring, why))
        return ring;
    ring_close(ring);
    return NULL;
}

void ring_close(struct ring *ring)
{
    if (!ring)
        return;
    free(ring->arriving[0]);
    free(ring->arriving[1]);
    free(ring->sums.o);
    free(ring->piece.o);
    free(ring->piece.lse);
    free(ring->workspace);
    free(ring);
}

struct ring_parts ring_parts(const struct ring *ring, int rank)
{
    const struct attn_problem *p = &ring->problem;
    const struct ring_part nothing = {{0, 0}, {0, 0}};
    const struct ring_part all = {{0, p->q_len}, {p->q_len, 0}};
    struct ring_parts parts = {.kv = ring_part(p->kv_len, rank, ring->setting.ranks)};
    parts.q = ring->keys_stay ? all : ring_part(p->q_len, rank, ring->setting.ranks);
    parts.o = ring->keys_stay && rank > 0 ? nothing : parts.q;
    return parts;
}

const struct attn_kernel *ring_block_kernel(const struct ring *ring)
{
    return ring->kernel;
}

size_t ring_bytes(const struct ring *ring)
{
    return ring->bytes;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Around the ring: the keys of the rank before this one, of the one before that, ... */
static void travel(struct ring *ring, const struct ring_operands *x, bool computes)
{
    const struct ring_setting *s = &ring->setting;
    const void *here = x->kv;
    for (int step = 0; step < s->ranks; step++) {
        const int from = (s->rank - step + s->ranks) % s->ranks;
        const struct ring_part keys = ring_part(ring->problem.kv_len, from, s->ranks);
        const struct ring_part next =
            ring_part(ring->problem.kv_len, (from + s->ranks - 1) % s->ranks, s->ranks);
        struct ring_travel under_way = {.count = 0};
        void *coming = ring->arriving[step % 2];
        if (step + 1 < s->ranks)
            ring_depart(ring, here, ring_kv_bytes(ring, &keys), coming, ring_kv_bytes(ring, &next),
                        &under_way);
        if (computes)
            ring_compute(ring, x->q, here, &keys, step == 0, &under_way);
        ring_arrive(ring, &under_way);
        here = coming;
    }
}

/* Pairs of ranks become one, then pairs of those, until rank 0 has all. */
static void gather(struct ring *ring)
{
    const int rank = ring->setting.rank, ranks = ring->setting.ranks;
    for (int apart = 1; apart < ranks; apart *= 2) {
        if (rank & apart) {
            ring_send_sums(ring, &ring->sums, rank - apart);
            return;
        }
        if (rank + apart < ranks) {
            ring_receive_sums(ring, &ring->piece, rank + apart);
            ring_merge_all(ring, &ring->sums, &ring->piece);
        }
    }
}

/* The sums as elements of the result's type. */
static void store(struct ring *ring, void *o)
{
    const enum attn_dtype dtype = ring->problem.dtype;
    const size_t rows = ring_sum_rows(ring), dim = ring->problem.v_dim;
    const float *sums = ring->sums.o;
    const int threads = ring->setting.threads;
    if (dtype == ATTN_F32) {
        if (o != sums)
            memcpy(o, sums, rows * dim * sizeof *sums);
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (size_t i = 0; i < rows; i++)
        for (size_t d = i * dim; d < (i + 1) * dim; d++)
            ((uint16_t *)o)[d] =
                dtype == ATTN_BF16 ? attn_f32_to_bf16(sums[d]) : attn_f32_to_f16(sums[d]);
}

static void begin(struct ring *ring, struct ring_times *times)
{
    ring->times = times;
    ring->entered_s = ring->setting.clock();
}

static void end(struct ring *ring)
{
    ring->times->computing_s += ring->setting.clock() - ring->entered_s;
}

void ring_execute(struct ring *ring, const struct ring_operands *operands, struct ring_times *times)
{
    float *const own = ring->sums.o;
    struct ring_travel nothing = {.count = 0};
    begin(ring, times);
    ring->sums.lse = operands->lse;
    if (ring->problem.dtype == ATTN_F32 && !ring->keys_stay)
        ring->sums.o = operands->o;
    if (ring->keys_stay) {
        ring_compute(ring, operands->q, operands->kv, &ring->parts.kv, true, &nothing);
        gather(ring);
    } else {
        travel(ring, operands, true);
    }
    if (ring_part_rows(&ring->parts.o))
        store(ring, operands->o);
    ring->sums.o = own;
    end(ring);
}

void ring_exchange(struct ring *ring, const struct ring_operands *operands,
                   struct ring_times *times)
{
    begin(ring, times);
    ring->sums.lse = operands->lse;
    if (ring->keys_stay)
        gather(ring);
    else
        travel(ring, operands, false);
    end(ring);
}
