/*
 * worker_check: checks a kernel on several thread counts, and stores its O for comparison with other kernels.
 */

#include "check/check.h"
#include "base/clock.h"
#include "problem/capabilities.h"
#include "problem/outputs.h"
#include "problem/tensors.h"
#include "worker.h"
#include "backend.h"
#include "worker_plan.h"
#include "base/number.h"

/* Runs the kernel once on the case's own input and stores O for the parent to compare. */
static void leave_output(struct worker *worker, size_t slot)
{
    const struct protocol_request *r = &worker->request;
    struct worker_plan plan;
    struct tensor_set set;
    char message[256];
    if (!worker_plan_open(worker, &plan))
        return;
    worker_stage("computing the output to compare");
    if (tensors_map(&set, &r->c.problem, r->files[PROTOCOL_OPERANDS], 0, r->shift, false,
                    MESSAGE(message))) {
        attn_execute(&plan.plan, &set.tensors);
        if (!outputs_store(r->files[PROTOCOL_OUTPUTS], slot, &r->c.problem, &set.tensors))
            worker_end(worker, CELL_SKIPPED, "cannot store the output to compare");
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    worker_plan_close(&plan);
}

/* Thread counts that are checked together, by their indices in the request. */
struct counts {
    size_t count, number[CHECK_COUNTS];
    int threads[CHECK_COUNTS];
};

/* A thread count's part of the answer. */
static json_t *verdict(const struct worker *worker, const struct counts *counts,
                       const struct check_result *result)
{
    const struct protocol_request *r = &worker->request;
    json_t *check = worker_answer_check(result), *caps = capabilities_json(&worker->kernel->caps);
    json_object_set(check, "caveats", json_object_get(caps, "caveats"));
    json_decref(caps);
    json_object_set_new(check, "depth", json_string(protocol_depth_name(r->depth)));
    json_object_set_new(check, "threads", number_integers(counts->threads, counts->count));
    const enum cell_state state = result->ok           ? CELL_OK
                                  : result->unfinished ? CELL_SKIPPED
                                                       : CELL_FAILED;
    json_object_set_new(check, "failed",
                        state == CELL_FAILED ? json_string(result->phase) : json_null());
    return json_pack("{s:s, s:o, s:o}", "state", cell_state_name(state), "why",
                     result->ok ? json_null() : json_string(result->why), "check", check);
}

/* CELL_OK if the kernel takes the problem on so many threads.  The check watches the prepare of its own plan,
 * so a plan is made here only for a library or a program, which may refuse only then. */
static enum cell_state takes(const struct worker *worker, int threads, struct message why)
{
    struct worker_plan plan;
    if (worker->backend->here && !worker->kernel->library)
        return worker_plan_takes(worker, why);
    const enum cell_state state = worker_plan_make(worker, threads, &plan, why);
    if (state == CELL_OK)
        worker_plan_close(&plan);
    return state;
}

/* Selects the request's thread counts that the kernel takes; adds verdicts on the others, with the reason. */
static void supported_counts(const struct worker *worker, struct counts *counts, json_t *verdicts)
{
    const struct protocol_request *r = &worker->request;
    char why[320];
    for (size_t k = 0; k < r->count; k++) {
        const int threads = r->counts[k].threads;
        const enum cell_state state = takes(worker, threads, MESSAGE(why));
        if (state != CELL_OK) {
            json_array_append_new(
                verdicts, json_pack("{s:s, s:s}", "state", cell_state_name(state), "why", why));
            continue;
        }
        json_array_append_new(verdicts, json_null());
        counts->number[counts->count] = k;
        counts->threads[counts->count++] = threads;
    }
}

void worker_check(struct worker *worker)
{
    struct protocol_request *r = &worker->request;
    struct check_result results[CHECK_COUNTS];
    struct counts counts = {.count = 0};
    const double start = clock_now();
    json_t *verdicts = json_array();
    supported_counts(worker, &counts, verdicts);
    worker_stage("checking");
    stored_reference_use(r->files[PROTOCOL_REFERENCE], r->files[PROTOCOL_COMPUTED]);
    if (counts.count)
        check_counts(worker->kernel, &r->c, counts.threads, counts.count, r->depth, results);
    for (size_t k = 0; k < counts.count; k++) {
        const size_t number = counts.number[k];
        json_array_set_new(verdicts, number, verdict(worker, &counts, &results[k]));
        r->threads = counts.threads[k];
        if (results[k].ok && r->files[PROTOCOL_OUTPUTS] >= 0)
            leave_output(worker, r->counts[number].slot);
    }
    json_object_set_new(worker->answer, "verdicts", verdicts);
    json_object_set_new(worker->answer, "check_s", number_json(clock_now() - start));
}
