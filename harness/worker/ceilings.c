/*
 * ceilings: what the machine can do, for `attnbench machine`.
 */
#include "system/ceilings.h"
#include "worker.h"
#include "base/number.h"
#include "isa.h"

#define PROBE_S 0.05

/* Footprints that lie in each cache and beyond the last: half a cache; all that ceilings_footprint() takes. */
static json_t *bandwidths(const struct worker *worker)
{
    const int threads = worker->request.threads;
    const int last = machine_last_level(worker->machine);
    json_t *levels = json_array();
    for (int level = 1; level <= last + 1; level++) {
        const size_t bytes = level <= last ? machine_cache_bytes(worker->machine, level) / 2
                                           : ceilings_footprint(worker->machine, SIZE_MAX);
        if (!bytes)
            continue;
        /* private caches: every thread has its own */
        const size_t footprint = level < last ? bytes * (size_t)threads : bytes;
        json_array_append_new(
            levels,
            json_pack("{s:i, s:b, s:I, s:o, s:o}", "level", level, "memory", (int)(level > last),
                      "bytes", (json_int_t)footprint, "read_gbytes_per_s",
                      number_json(ceilings_read(footprint, threads, PROBE_S)), "copy_gbytes_per_s",
                      number_json(ceilings_copy(footprint, threads, PROBE_S))));
    }
    return levels;
}

void worker_ceilings(struct worker *worker)
{
    const int threads = worker->request.threads;
    json_t *isas = json_array();
    worker_stage("measuring ceilings");
    for (int i = 0; i < ATTN_ISA_COUNT; i++) {
        const enum attn_isa isa = (enum attn_isa)i;
        if (!attn_isa_available(isa) || attn_isa_built_as(isa) != isa)
            continue;
        json_array_append_new(
            isas,
            json_pack("{s:s, s:o, s:o, s:o, s:o}", "isa", attn_isa_name(isa), "f32_gflops",
                      number_json(ceilings_fma(isa, ATTN_F32, threads, PROBE_S)), "f64_gflops",
                      number_json(ceilings_fma(isa, ATTN_F64, threads, PROBE_S)), "bf16_gflops",
                      number_json(ceilings_fma(isa, ATTN_BF16, threads, PROBE_S)), "exp_g_per_s",
                      number_json(ceilings_exp(isa, threads, PROBE_S))));
    }
    json_object_set_new(worker->answer, "threads", json_integer(threads));
    json_object_set_new(worker->answer, "arithmetic", isas);
    json_object_set_new(worker->answer, "bandwidth", bandwidths(worker));
}
