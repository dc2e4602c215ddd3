/*
 * worker_launch_ceilings: measures the rates of multiply-adds and of reads during a launch, and again if they
 * seem too low.
 */
#include "backend.h"

#include <math.h>
#include <stdlib.h>

#include "base/members.h"
#include "base/number.h"
#include "bench/disturbance.h"
#include "system/ceilings.h"

#define AGAIN_S 0.1 /* seconds for a rate that seems too low */

/* Flop per compulsory byte above which no processor is bound by memory: they do at most some ten
 * multiply-adds in the time of a byte (200 GFLOP/s over 20 GB/s per core). */
#define COMPUTE_BOUND_INTENSITY 64

static int threads_of(const struct worker *worker)
{
    return worker->kernel->caps.parallel ? worker->request.threads : 1;
}

/* Read bandwidth of K and V of `count` sets where they lie, or of as much of them as must come from memory; 0
 * if that is too little to measure. */
static double read_in_place(const struct worker *worker, const struct tensor_set *sets,
                            size_t count)
{
    const struct attn_problem *problem = &worker->request.c.problem;
    const size_t most = ceilings_footprint(worker->machine, SIZE_MAX) / 2 / count;
    struct ceilings_kv *kv = calloc(count, sizeof *kv);
    for (size_t i = 0; kv && i < count; i++) {
        kv[i] = tensors_kv(&sets[i], problem);
        kv[i].bytes = kv[i].bytes < most ? kv[i].bytes : most;
    }
    const double rate =
        kv ? ceilings_read_operands(kv, count, threads_of(worker), LAUNCH_CEILINGS_S) : 0;
    free(kv);
    return rate;
}

/* Bytes that the calls rotate through, or fewer if these are read at the same rate. */
static size_t rotation(const struct worker *worker, const struct tensor_set *set)
{
    return ceilings_footprint(worker->machine, (size_t)set->work.bytes * worker->request.sets);
}

/*
 * Read bandwidth over as much memory as the calls rotate through.  Touching so much for the first time takes
 * longer than the samples, so if arithmetic bounds the problem on any processor, the probe reads K and V of
 * one set, which have been touched.
 */
static double read_elsewhere(const struct worker *worker, const struct tensor_set *set)
{
    if (set->work.flops > COMPUTE_BOUND_INTENSITY * set->work.bytes) {
        const double rate = read_in_place(worker, set, 1);
        if (rate > 0)
            return rate;
    }
    return ceilings_read(rotation(worker, set), threads_of(worker), LAUNCH_CEILINGS_S);
}

/* The highest multiply-add rate of this host's instruction sets for the problem's types, without the
 * variant's own, which is known already. */
static double fma_of_host(const struct worker *worker, double seconds)
{
    const struct attn_problem *p = &worker->request.c.problem;
    const enum attn_dtype compute = attn_compute(worker->kernel, p),
                          types[] = {p->dtype, p->kv_dtype};
    double rate = 0;
    for (int i = 0; i < 1 + (types[1] != types[0]); i++)
        if (!ceilings_fma_is_host(worker->request.isa, compute, types[i]))
            rate = fmax(rate, ceilings_fma_host(types[i], threads_of(worker), seconds));
    return rate;
}

/* Measures ceilings that a launch exceeds again, and longer, before it is called implausible, as the probe
 * may have been disturbed.  Also over half the bytes: a cache of about the operands' size may hold a part of
 * them. */
static void look_again(const struct worker *worker, const struct tensor_set *set, double median_s,
                       json_t *ceilings)
{
    const int threads = threads_of(worker);
    if (ceilings_passed(set->work.flops / median_s, member_number(ceilings, "fma_gflops"))) {
        const enum attn_dtype compute = attn_compute(worker->kernel, &worker->request.c.problem);
        const double fma = ceilings_fma(worker->request.isa, compute, threads, AGAIN_S);
        json_object_set_new(ceilings, "fma_again_gflops", number_json(fma));
        json_object_set_new(ceilings, "fma_host_again_gflops",
                            number_json(fmax(fma, fma_of_host(worker, AGAIN_S))));
    }
    if (ceilings_passed(set->work.bytes / median_s, member_number(ceilings, "read_gbytes_per_s"))) {
        const size_t bytes = rotation(worker, set);
        json_object_set_new(ceilings, "read_again_gbytes_per_s",
                            number_json(fmax(ceilings_read(bytes, threads, AGAIN_S),
                                             ceilings_read(bytes / 2, threads, AGAIN_S))));
    }
}

json_t *worker_launch_ceilings(const struct worker *worker, const struct tensor_set *sets,
                               const struct bench_disturbance *d, double median_s)
{
    const double fma = (d->probe_before_gflops + d->probe_after_gflops) / 2;
    worker_stage("measuring ceilings");
    const double from_l1 = ceilings_fma_from_l1(
        worker->request.isa, attn_compute(worker->kernel, &worker->request.c.problem),
        threads_of(worker), LAUNCH_CEILINGS_S);
    const double in_place = read_in_place(worker, sets, worker->request.sets);
    const double read = read_elsewhere(worker, sets);
    json_t *ceilings =
        json_pack("{s:o, s:o, s:o, s:o, s:o}", "fma_gflops", number_json(fma), "fma_from_l1_gflops",
                  number_json(from_l1 > 0 ? from_l1 : NAN), "fma_host_gflops",
                  number_json(fmax(fma, fma_of_host(worker, LAUNCH_CEILINGS_S))),
                  "read_gbytes_per_s", number_json(read), "read_in_place_gbytes_per_s",
                  number_json(in_place > 0 ? in_place : NAN));
    look_again(worker, sets, median_s, ceilings);
    return ceilings;
}
