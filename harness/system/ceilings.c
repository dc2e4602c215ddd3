/*
 * ceilings: runs the probes of arithmetic on all threads and turns their work into rates (rate.h).
 */
#include "ceilings.h"

#include <math.h>

#include "base/random.h"
#include "isa.h"
#include "probe.h"
#include "rate.h"

#define PROBE(isa, ISA) extern const struct probe probe_##isa;
#include "probe_list.h"
#undef PROBE

const struct probe *const probes[] = {
#define PROBE(isa, ISA) &probe_##isa,
#include "probe_list.h"
#undef PROBE
};
const size_t probe_count = sizeof probes / sizeof *probes;

/* The loop of a probe that the threads run. */
struct job {
    const struct probe *probe;
    enum { FMA_F32, FMA_F64, FMA_BF16, EXP2 } vectors;
    double (*tiles)(size_t rounds, const void *operands, void *results);
};

enum { TILE_WORDS = 256 }; /* of 32 bits: 16 x 16 results */

/* Operands: bf16 of magnitude 1 to 2, whose bytes are any int8; floats between -1 and 1.  Filled once, before
 * threads read them. */
static _Alignas(64) uint16_t halves[PROBE_TILE_DEPTH * 4 * 2 * TILE_WORDS];
static _Alignas(64) float singles[PROBE_DEPTH * (PROBE_COLUMNS + PROBE_ROWS)];

static void make_operands(void)
{
    if (halves[0])
        return;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        halves[i] = (uint16_t)(0x3f80 | (random_bits(1, i) & 0x807f));
    random_uniform(singles, sizeof singles / sizeof *singles, 2, 0);
}

static const struct probe *probe_for(enum attn_isa isa)
{
    for (size_t i = probe_count; i-- > 0;)
        if (probes[i]->isa == attn_isa_instructions(attn_isa_built_as(isa)))
            return attn_isa_available(isa) ? probes[i] : NULL;
    return NULL;
}

const struct probe *ceilings_widest(void)
{
    const struct probe *best = probes[0];
    for (size_t i = 0; i < probe_count; i++)
        if (attn_isa_available(probes[i]->isa) && probes[i]->vector_bytes >= best->vector_bytes)
            best = probes[i];
    return best;
}

static double run_vectors(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    const struct probe *probe = job->probe;
    const size_t rounds = amount * 256;
    (void)thread, (void)threads;
    float sink = 0;
    double sink_f64 = 0;
    const double work = job->vectors == FMA_F64    ? probe->fma_f64(rounds, 0.5, 1.0, &sink_f64)
                        : job->vectors == FMA_BF16 ? probe->fma_bf16(rounds, 0.5f, 0.125f, &sink)
                        : job->vectors == EXP2     ? probe->exp2_f32(rounds, -1.3f, &sink)
                                                   : probe->fma_f32(rounds, 0.5f, 1.0f, &sink);
    rate_consume((double)sink + sink_f64);
    return work;
}

static double run_tiles(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    _Alignas(64) float results[4 * TILE_WORDS];
    (void)thread, (void)threads;
    const double work = job->tiles(amount * 64, halves, results);
    rate_consume((double)results[0]);
    return work;
}

static double run_from_l1(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    float results[PROBE_ROWS * PROBE_COLUMNS];
    (void)thread, (void)threads;
    const double work = job->probe->fma_f32_from_l1(
        amount * 8, singles + PROBE_DEPTH * PROBE_COLUMNS, singles, results);
    rate_consume((double)results[0]);
    return work;
}

/* Whether the ISA has a matrix unit for operands of this type. */
static bool has_tiles(const struct probe *probe, enum attn_dtype type)
{
    return !probe->tiles_emulated &&
           ((type == ATTN_BF16 && probe->tiles_bf16) || (type == ATTN_I8 && probe->tiles_i8));
}

double ceilings_fma(enum attn_isa isa, enum attn_dtype compute, int threads, double seconds)
{
    struct job job = {.probe = probe_for(isa)};
    if (!job.probe || (compute == ATTN_I8 && !has_tiles(job.probe, compute)))
        return 0;
    const bool tiles = has_tiles(job.probe, compute);
    job.tiles = compute == ATTN_I8 ? job.probe->tiles_i8 : job.probe->tiles_bf16;
    job.vectors = compute == ATTN_BF16 && job.probe->fma_bf16 ? FMA_BF16
                  : compute == ATTN_F64                       ? FMA_F64
                                                              : FMA_F32;
    make_operands();
    return rate_apart(tiles ? run_tiles : run_vectors, &job, threads, seconds) * 1e-9;
}

bool ceilings_fma_is_best(const struct probe *probe, enum attn_dtype compute, enum attn_dtype dtype,
                          const struct probe *const *host, size_t count)
{
    const struct probe *first = NULL, *best = probe;
    for (size_t i = 0; i < count; i++) {
        if (has_tiles(host[i], dtype))
            return compute == dtype && has_tiles(probe, dtype);
        if (!first && !host[i]->tiles_emulated)
            first = host[i];
        if (host[i]->vector_bytes > best->vector_bytes)
            best = host[i];
    }
    const bool pairs_are_best = dtype == ATTN_BF16 && first && first->fma_bf16;
    return probe->vector_bytes == (pairs_are_best ? first : best)->vector_bytes &&
           (compute == ATTN_BF16 && probe->fma_bf16) == pairs_are_best;
}

bool ceilings_fma_is_host(enum attn_isa isa, enum attn_dtype compute, enum attn_dtype dtype)
{
    const enum attn_isa *order = attn_isa_preference();
    const struct probe *host[ATTN_ISA_COUNT], *probe = probe_for(isa);
    size_t count = 0;
    for (int i = 0; i < ATTN_ISA_COUNT; i++)
        if ((host[count] = probe_for(order[i])))
            count++;
    return probe && ceilings_fma_is_best(probe, compute, dtype, host, count);
}

double ceilings_fma_host(enum attn_dtype dtype, int threads, double seconds)
{
    double best = 0;
    int count = 0;
    for (size_t i = 0; i < probe_count; i++)
        count += ceilings_fma_is_host(probes[i]->isa, dtype, dtype);
    for (size_t i = 0; i < probe_count; i++)
        if (ceilings_fma_is_host(probes[i]->isa, dtype, dtype))
            best = fmax(best, ceilings_fma(probes[i]->isa, dtype, threads, seconds / count));
    return best;
}

bool ceilings_emulated(enum attn_isa isa)
{
    const struct probe *probe = probe_for(isa);
    return probe && probe->tiles_emulated;
}

double ceilings_fma_from_l1(enum attn_isa isa, enum attn_dtype compute, int threads, double seconds)
{
    struct job job = {.probe = probe_for(isa)};
    const bool tiles = job.probe && compute == ATTN_BF16 && has_tiles(job.probe, compute);
    if (!job.probe || (compute != ATTN_F32 && !tiles))
        return 0;
    job.tiles = job.probe->tiles_bf16_from_l1;
    rate_work *const work = tiles ? run_tiles : run_from_l1;
    make_operands();
    rate_apart(work, &job, threads,
               seconds / 2); /* until these loads have lowered the clock frequency */
    return rate_apart(work, &job, threads, seconds / 2) * 1e-9;
}

double ceilings_exp(enum attn_isa isa, int threads, double seconds)
{
    const struct job job = {.probe = probe_for(isa), .vectors = EXP2};
    return job.probe ? rate_apart(run_vectors, &job, threads, seconds) * 1e-9 : 0;
}

bool ceilings_compute_bound(double flops, double bytes, double fma_gflops, double read_gbytes_per_s)
{
    return flops / fma_gflops >= bytes / read_gbytes_per_s;
}
