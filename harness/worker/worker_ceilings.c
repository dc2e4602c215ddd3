/*
 * worker_ceilings: bandwidths and arithmetic rates, for `attnbench machine`.
 */
#include <math.h>

#include "worker.h"
#include "base/number.h"
#include "isa.h"
#include "system/ceilings.h"

#define MACHINE_S 0.05 /* seconds for each ceiling */

/* Read bandwidth with a footprint of half of each cache, and with ceilings_footprint(), which exceeds the
 * last. */
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
        /* each thread has its own private caches */
        const size_t footprint = level < last ? bytes * (size_t)threads : bytes;
        json_array_append_new(levels,
                              json_pack("{s:i, s:b, s:I, s:o, s:o}", "level", level, "memory",
                                        (int)(level > last), "bytes", (json_int_t)footprint,
                                        "read_gbytes_per_s",
                                        number_json(ceilings_read(footprint, threads, MACHINE_S)),
                                        "copy_gbytes_per_s",
                                        number_json(ceilings_copy(footprint, threads, MACHINE_S))));
    }
    return levels;
}

/* Rates of an instruction set; null for data types without instructions. */
static json_t *arithmetic(enum attn_isa isa, int threads)
{
    static const struct {
        const char *key;
        double (*measure)(enum attn_isa isa, enum attn_dtype type, int threads, double seconds);
        enum attn_dtype type;
    } rates[] = {{"f64_gflops", ceilings_fma, ATTN_F64},
                 {"f32_gflops", ceilings_fma, ATTN_F32},
                 {"f32_from_l1_gflops", ceilings_fma_from_l1, ATTN_F32},
                 {"bf16_gflops", ceilings_fma, ATTN_BF16},
                 {"bf16_from_l1_gflops", ceilings_fma_from_l1, ATTN_BF16},
                 {"i8_gops", ceilings_fma, ATTN_I8}};
    json_t *answer = json_pack("{s:s}", "isa", attn_isa_name(isa));
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        const double rate = rates[i].measure(isa, rates[i].type, threads, MACHINE_S);
        json_object_set_new(answer, rates[i].key, number_json(rate > 0 ? rate : NAN));
    }
    json_object_set_new(answer, "exp_g_per_s", number_json(ceilings_exp(isa, threads, MACHINE_S)));
    return answer;
}

void worker_ceilings(struct worker *worker)
{
    const int threads = worker->request.threads;
    json_t *isas = json_array();
    worker_stage("measuring ceilings");
    for (int i = 0; i < ATTN_ISA_COUNT; i++) {
        const enum attn_isa isa = (enum attn_isa)i;
        if (attn_isa_available(isa) && attn_isa_built_as(isa) == isa &&
            attn_isa_instructions(isa) == isa && !ceilings_emulated(isa))
            json_array_append_new(isas, arithmetic(isa, threads));
    }
    json_object_set_new(worker->answer, "threads", json_integer(threads));
    json_object_set_new(worker->answer, "arithmetic", isas);
    json_object_set_new(worker->answer, "bandwidth", bandwidths(worker));
}
