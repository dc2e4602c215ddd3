/*
 * ceilings: runs the probes of arithmetic on all threads and turns their work into rates (rate.h).
 */
#include "ceilings.h"

#include <math.h>

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

/* What the threads do: the loops of a probe. */
struct job {
    const struct probe *probe;
};

static const struct probe *probe_for(enum attn_isa isa)
{
    for (size_t i = probe_count; i-- > 0;)
        if (probes[i]->isa == attn_isa_built_as(isa))
            return attn_isa_available(isa) ? probes[i] : NULL;
    return NULL;
}

const struct probe *probe_widest(void)
{
    const struct probe *best = probes[0];
    for (size_t i = 0; i < probe_count; i++)
        if (attn_isa_available(probes[i]->isa) && probes[i]->vector_bytes >= best->vector_bytes)
            best = probes[i];
    return best;
}

static double run_fma_f32(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    (void)thread, (void)threads;
    float sink;
    const double work = job->probe->fma_f32(amount * 256, 0.5f, 1.0f, &sink);
    rate_consume(sink);
    return work;
}

static double run_fma_f64(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    (void)thread, (void)threads;
    double sink;
    const double work = job->probe->fma_f64(amount * 256, 0.5, 1.0, &sink);
    rate_consume(sink);
    return work;
}

static double run_fma_bf16(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    (void)thread, (void)threads;
    float sink;
    const double work = job->probe->fma_bf16(amount * 256, 0.5f, 0.125f, &sink);
    rate_consume(sink);
    return work;
}

static double run_exp2(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    (void)thread, (void)threads;
    float sink;
    const double work = job->probe->exp2_f32(amount * 256, -1.3f, &sink);
    rate_consume(sink);
    return work;
}

double ceilings_fma(enum attn_isa isa, enum attn_dtype compute, int threads, double seconds)
{
    const struct job job = {.probe = probe_for(isa)};
    if (!job.probe)
        return 0;
    const bool bf16 = compute == ATTN_BF16 && job.probe->fma_bf16;
    return rate_apart(bf16                  ? run_fma_bf16
                      : compute == ATTN_F64 ? run_fma_f64
                                            : run_fma_f32,
                      &job, threads, seconds) *
           1e-9;
}

double ceilings_fma_host(enum attn_dtype dtype, int threads, double seconds)
{
    double best = 0;
    for (size_t i = 0; i < probe_count; i++)
        if (attn_isa_available(probes[i]->isa))
            best = fmax(
                best, ceilings_fma(probes[i]->isa, dtype, threads, seconds / (double)probe_count));
    return best;
}

bool ceilings_fma_is_host(enum attn_isa isa, enum attn_dtype compute, enum attn_dtype dtype)
{
    const struct probe *probe = probe_for(isa), *first = probe_for(attn_isa_preferred());
    const bool pairs_are_best = dtype == ATTN_BF16 && first && first->fma_bf16;
    const struct probe *best = pairs_are_best ? first : probe_widest();
    return probe && probe->vector_bytes == best->vector_bytes &&
           (compute == ATTN_BF16 && probe->fma_bf16) == pairs_are_best;
}

double ceilings_exp(enum attn_isa isa, int threads, double seconds)
{
    const struct job job = {.probe = probe_for(isa)};
    return job.probe ? rate_apart(run_exp2, &job, threads, seconds) * 1e-9 : 0;
}

struct roofline ceilings_roofline(double flops, double bytes, double fma_gflops,
                                  double read_gbytes_per_s)
{
    const double compute_s = flops / (fma_gflops * 1e9);
    const double memory_s = bytes / (read_gbytes_per_s * 1e9);
    return (struct roofline){
        .compute_bound = compute_s >= memory_s,
        .seconds = fmax(compute_s, memory_s),
        .intensity = flops / bytes,
    };
}
