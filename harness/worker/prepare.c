/*
 * prepare: the operands of a case and their reference, once for all its workers.
 */
#include <sys/mman.h>

#include "check/check.h"
#include "base/clock.h"
#include "worker.h"
#include "base/number.h"

void worker_prepare(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char message[256] = "";
    const double start = clock_now();
    worker_stage("filling operands");
    if (!tensors_fill_file(&r->c, r->sets, r->files[PROTOCOL_OPERANDS], message, sizeof message)) {
        worker_end(worker, CELL_SKIPPED, "operands: %s", message);
        return;
    }
    worker_stage("computing the reference");
    if (r->files[PROTOCOL_REFERENCE] >= 0 &&
        !check_reference_create(&r->c, r->files[PROTOCOL_REFERENCE], message, sizeof message))
        worker_end(worker, CELL_SKIPPED, "reference: %s", message);
    json_object_set_new(worker->answer, "filled_s", number_json(clock_now() - start));
}
