/*
 * worker_measure: one launch of a cell: warm up, take samples, probe ceilings.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "system/aftermath.h"
#include "check/timed.h"
#include "base/clock.h"
#include "base/stats.h"
#include "bench/disturbance.h"
#include "base/number.h"
#include "worker.h"
#include "backend.h"
#include "worker_plan.h"

/* Seconds of the multiply-add probe beside the samples: short enough to run at the kernel's clock frequency.
 * Loads between AVX-512 multiply-adds lower it by up to 15 % on Intel's cores, and it recovers 2 to 4 ms
 * after the last of them (docs/measuring.md); calibrating the probe takes at most another 0.8 ms. */
#define PROBE_S 0.0015

/* ---- timed calls are verified too ------------------------------------------------------------ */

struct verifier {
    struct timed timed;
    const struct backend *backend;
};

static void call_once(void *context, size_t set)
{
    const struct verifier *v = context;
    v->backend->call(set);
}

static bool verify(void *context, size_t first, size_t count)
{
    struct verifier *v = context;
    aftermath_settle();
    return timed_sample(&v->timed, first, count);
}

static void renew(void *context, size_t first, size_t count)
{
    struct verifier *v = context;
    timed_renew(&v->timed, first, count);
    if (v->backend->renew)
        v->backend->renew(first, count);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* How many samples were taken, verified, and found wrong. */
static json_t *timed_answer(const struct timed *timed)
{
    json_t *answer = worker_answer_check(&timed->result);
    json_t *samples =
        json_pack("{s:I, s:I, s:I}", "samples", (json_int_t)timed->samples, "verified_samples",
                  (json_int_t)(timed->samples - timed->mismatches), "mismatches",
                  (json_int_t)timed->mismatches);
    json_object_update_new(answer, samples);
    return answer;
}

static json_t *numbers_answer(const double *x, size_t n)
{
    return x ? number_array(x, n) : json_null();
}

static void bench_answer(const struct bench_result *result, json_t *answer)
{
    const size_t threads = (size_t)result->threads;
    json_object_set_new(answer, "samples_s", numbers_answer(result->samples_s, result->samples));
    json_object_set_new(answer, "calls_per_sample",
                        json_integer((json_int_t)result->calls_per_sample));
    json_object_set_new(answer, "overhead_s", number_json(result->overhead_s));
    json_object_set_new(answer, "overhead_again_s", number_json(result->overhead_again_s));
    json_object_set_new(answer, "clock_resolution_s", number_json(result->clock_resolution_s));
    json_object_set_new(answer, "busy_s", number_json(result->busy_s));
    json_object_set_new(answer, "barrier_s", number_json(result->barrier_s));
    json_object_set_new(answer, "thread_busy_s", numbers_answer(result->thread_busy_s, threads));
    json_object_set_new(answer, "thread_barrier_s",
                        numbers_answer(result->thread_barrier_s, threads));
    /* Seconds to read K and V at a set's turn, and again at once. */
    if (!isnan(result->cold_first_s))
        json_object_set_new(answer, "cold",
                            json_pack("{s:o, s:o}", "first_s", number_json(result->cold_first_s),
                                      "again_s", number_json(result->cold_again_s)));
    json_object_set_new(
        answer, "counters",
        counters_json(&result->counters, (double)(result->samples * result->calls_per_sample)));
    json_object_set_new(answer, "disturbance", disturbance_json(&result->disturbance));
}

/* ---- the launch ------------------------------------------------------------------------------ */

/* Maps the operands, which another process has filled, and fresh results. */
static struct tensor_set *map_sets(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char message[256] = "out of memory";
    struct tensor_set *sets = calloc(r->sets, sizeof *sets);
    worker_stage("mapping operands");
    for (size_t i = 0; i < r->sets; i++)
        if (!sets || !tensors_map(&sets[i], &r->c.problem, r->files[PROTOCOL_OPERANDS], i, r->shift,
                                  r->setting.huge_pages, MESSAGE(message))) {
            worker_end(worker, CELL_SKIPPED, "%s", message);
            for (; sets && i > 0; i--)
                tensors_free(&sets[i - 1]);
            free(sets);
            return NULL;
        }
    return sets;
}

static struct bench_options options_of(const struct worker *worker, struct verifier *verifier)
{
    const struct protocol_request *r = &worker->request;
    const struct backend *backend = worker->backend;
    return (struct bench_options){
        .warmup_s = r->warmup_s,
        .sample_s = fmax(r->sample_s, backend->least_sample_s ? backend->least_sample_s() : 0),
        .budget_s = r->budget_s,
        .max_samples = r->max_samples,
        .cold = r->setting.cold,
        .seed = r->seed,
        .probe_s = PROBE_S,
        .counters = backend->here, /* they count this process's threads */
        .machine = worker->machine,
        .verify = verify,
        .verify_context = verifier,
        .renew = renew,
        .timed = backend->timed,
        .probe = backend->probe,
    };
}

/* Takes samples, by the backend's clock, and adds them to the answer. */
static void sample(struct worker *worker, const struct worker_plan *plan, struct verifier *verifier,
                   struct tensor_set *sets)
{
    const struct bench_options options = options_of(worker, verifier);
    struct check_result *checked = &verifier->timed.result;
    const struct backend *backend = worker->backend;
    struct bench_result result = {0};
    worker_stage("sampling");
    const double start = clock_now();
    const bool ran = bench_run(&plan->plan, sets, verifier->timed.count, &options, &result);
    json_object_set_new(worker->answer, "sampled_s",
                        number_json(clock_now() - start - result.probing_s));
    json_object_set_new(worker->answer, "verifying_s", number_json(result.verifying_s));
    if (ran) {
        const double median_s = stats_median_of(result.samples_s, result.samples);
        if (backend->judge)
            backend->judge(result.calls_per_sample, median_s, checked);
        backend->note_samples(worker); /* before the ceilings allocate memory */
        bench_answer(&result, worker->answer);
        const double probing = clock_now();
        json_object_set_new(worker->answer, "ceiling",
                            backend->ceilings(worker, sets, &result.disturbance, median_s));
        json_object_set_new(worker->answer, "probed_s",
                            number_json(clock_now() - probing + result.probing_s));
    } else if (!result.samples) {
        worker_end(worker, CELL_SKIPPED, "no memory for samples");
    } else {
        worker_end(worker, checked->unfinished ? CELL_SKIPPED : CELL_FAILED, "in a timed call: %s",
                   checked->why);
    }
    bench_free(&result);
}

/* Allocates memory to verify samples, and lets operands change between them; false: worker_end() was
 * called. */
static bool verifier_open(struct verifier *verifier, struct worker *worker, struct tensor_set *sets)
{
    const struct protocol_request *r = &worker->request;
    char message[256] = "no memory to verify samples";
    *verifier = (struct verifier){.backend = worker->backend};
    verifier->timed = (struct timed){.kernel = worker->kernel,
                                     .problem = &r->c.problem,
                                     .sets = sets,
                                     .count = r->sets,
                                     .launch = r->launch,
                                     .seed = r->seed,
                                     .call = call_once,
                                     .call_context = verifier,
                                     .result = {.ok = true}};
    if (timed_open(&verifier->timed) && timed_own(&verifier->timed, MESSAGE(message)))
        return true;
    worker_end(worker, CELL_SKIPPED, "%s", message);
    return false;
}

/* Places the operands and opens the verifier; false: worker_end() was called. */
static bool place(struct worker *worker, const struct worker_plan *plan, struct verifier *verifier,
                  struct tensor_set **sets)
{
    const double start = clock_now();
    const bool placed = (*sets = map_sets(worker)) && verifier_open(verifier, worker, *sets) &&
                        worker_memory_place(worker, plan, *sets);
    json_object_set_new(worker->answer, "placed_s", number_json(clock_now() - start));
    return placed;
}

void worker_measure(struct worker *worker)
{
    struct worker_plan plan;
    struct tensor_set *sets = NULL;
    struct verifier verifier = {0};
    char left[AFTERMATH_TEXT];
    if (!worker_memory_policy(worker))
        return;
    aftermath_begin(worker->request.threads);
    if (!worker_plan_open(worker, &plan))
        return;
    json_object_set_new(worker->answer, "workspace_bytes",
                        json_integer((json_int_t)plan.workspace_bytes));
    const bool placed = place(worker, &plan, &verifier, &sets);
    if (placed)
        worker->backend->begin(worker, &plan.plan, sets, worker->request.sets);
    worker->backend->note_preparation(worker, plan.prepare_s);
    if (placed) {
        sample(worker, &plan, &verifier, sets);
        json_object_set_new(worker->answer, "check", timed_answer(&verifier.timed));
    }
    if (!aftermath_end(worker->request.threads, left) && (!placed || verifier.timed.result.ok))
        worker_end(worker, CELL_FAILED, "in the timed calls: the kernel %s", left);
    timed_close(&verifier.timed);
    for (size_t i = 0; sets && i < worker->request.sets; i++)
        tensors_free(&sets[i]);
    free(sets);
    worker_plan_close(&plan);
}
