/*
 * check: the full check of one kernel on several thread counts, and its O for comparison
 * with other kernels'.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/check.h"
#include "base/clock.h"
#include "problem/capabilities.h"
#include "problem/outputs.h"
#include "problem/tensors.h"
#include "actions.h"
#include "plan.h"
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
    if (tensors_map(&set, &r->c.problem, r->files[PROTOCOL_OPERANDS], 0, r->shift, message,
                    sizeof message)) {
        attn_execute(&plan.plan, &set.tensors);
        if (!outputs_store(r->files[PROTOCOL_OUTPUTS], slot, &r->c.problem, &set.tensors))
            worker_end(worker, CELL_SKIPPED, "cannot store the output to compare");
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    worker_plan_close(&plan);
}

/* The thread counts that were judged together. */
static json_t *together(const struct protocol_request *r)
{
    json_t *threads = json_array();
    for (size_t k = 0; k < r->count; k++)
        json_array_append_new(threads, json_integer(r->counts[k].threads));
    return threads;
}

/* One count's part of the answer. */
static json_t *verdict(const struct worker *worker, const struct check_result *result)
{
    const struct protocol_request *r = &worker->request;
    json_t *check = worker_check_answer(result), *caps = capabilities_json(&worker->kernel->caps);
    json_object_set(check, "caveats", json_object_get(caps, "caveats"));
    json_decref(caps);
    json_object_set_new(check, "depth", json_string(protocol_depth_name(r->depth)));
    json_object_set_new(check, "threads", together(r));
    const enum cell_state state = result->ok           ? CELL_OK
                                  : result->unfinished ? CELL_SKIPPED
                                                       : CELL_FAILED;
    json_object_set_new(check, "failed",
                        state == CELL_FAILED ? json_string(result->phase) : json_null());
    return json_pack("{s:s, s:o, s:o}", "state", cell_state_name(state), "why",
                     result->ok ? json_null() : json_string(result->why), "check", check);
}

/* Whether the library under the kernel takes the problem, which only a plan tells; false ends the
 * worker. */
static bool library_takes(struct worker *worker)
{
    struct worker_plan plan;
    if (!worker->kernel->library)
        return true;
    if (!worker_plan_open(worker, &plan))
        return false;
    worker_plan_close(&plan);
    return true;
}

void worker_check(struct worker *worker)
{
    struct protocol_request *r = &worker->request;
    struct check_result results[CHECK_COUNTS];
    int threads[CHECK_COUNTS];
    const double start = clock_now();
    /* the parent has asked a kernel of its own before; of a guest's it has no code to ask */
    if (!worker_takes(worker) || !library_takes(worker))
        return;
    for (size_t k = 0; k < r->count; k++)
        threads[k] = r->counts[k].threads;
    worker_stage("checking");
    check_reference_use(r->files[PROTOCOL_REFERENCE]);
    check_counts(worker->kernel, &r->c, threads, r->count, r->depth, results);
    json_t *verdicts = json_array();
    for (size_t k = 0; k < r->count; k++) {
        json_array_append_new(verdicts, verdict(worker, &results[k]));
        r->threads = threads[k];
        if (results[k].ok && r->files[PROTOCOL_OUTPUTS] >= 0)
            leave_output(worker, r->counts[k].slot);
    }
    json_object_set_new(worker->answer, "verdicts", verdicts);
    json_object_set_new(worker->answer, "check_s", number_json(clock_now() - start));
}
