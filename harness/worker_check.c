/*
 * worker_check: the full check of one kernel, and its O for comparison with other kernels'.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "clock.h"
#include "outputs.h"
#include "worker.h"

/* Runs the kernel once on the case's own input and leaves O where the parent compares. */
static void leave_output(struct worker *worker)
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
        if (!outputs_store(r->files[PROTOCOL_OUTPUTS], r->slot, &r->c.problem, &set.tensors))
            worker_end(worker, CELL_SKIPPED, "cannot store the output to compare");
        tensors_free(&set);
    } else {
        worker_end(worker, CELL_SKIPPED, "%s", message);
    }
    worker_plan_close(&plan);
}

void worker_check(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    struct check_result result = {0};
    const double start = clock_now();
    worker_stage("checking");
    check_reference_use(r->files[PROTOCOL_REFERENCE]);
    if (!check_kernel(worker->kernel, &r->c, r->threads, r->depth, &result))
        worker_end(worker, CELL_FAILED, "%s", result.why);
    else if (r->files[PROTOCOL_OUTPUTS] >= 0)
        leave_output(worker);
    json_object_set_new(worker->answer, "check", worker_check_answer(&result));
    json_object_set_new(worker->answer, "check_s", journal_number(clock_now() - start));
}
