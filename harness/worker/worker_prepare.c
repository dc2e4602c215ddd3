/*
 * worker_prepare: fills a case's operands and computes their reference, once for all workers.
 */

#include "check/check.h"
#include "base/clock.h"
#include "answer.h"
#include "base/number.h"
#include "problem/tensors.h"

void worker_prepare(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char message[256] = "";
    struct attn_work work;
    const double start = clock_now();
    worker_stage("filling operands");
    if (!tensors_fill_file(&r->c, r->sets, r->files[PROTOCOL_OPERANDS], message, sizeof message)) {
        worker_end(worker, CELL_SKIPPED, "operands: %s", message);
        return;
    }
    if (tensors_file_work(r->files[PROTOCOL_OPERANDS], &work))
        json_object_set_new(
            worker->answer, "work",
            json_pack("{s:f, s:f}", "useful_flops", work.flops, "compulsory_bytes", work.bytes));
    worker_stage("computing the reference");
    if (r->files[PROTOCOL_REFERENCE] >= 0 &&
        !check_reference_create(&r->c, r->files[PROTOCOL_REFERENCE], message, sizeof message))
        worker_end(worker, CELL_SKIPPED, "reference: %s", message);
    json_object_set_new(worker->answer, "filled_s", number_json(clock_now() - start));
}
