/*
 * worker_experiment: one step of an experiment.
 */

#include "experiments/experiment.h"
#include "answer.h"

void worker_experiment(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    const struct experiment *experiment = experiment_find(r->experiment);
    const struct calculation *calculation = experiment ? experiment->calculation : NULL;
    struct experiment_work work = {.threads = r->threads, .message = "out of memory"};
    json_t *step = json_loads(r->step, 0, NULL), *rows = json_array();
    worker_stage("computing");
    if (!calculation || !step)
        worker_end(worker, CELL_SKIPPED, "no experiment %s with such a step", r->experiment);
    else if (calculation->compute(step, rows, &work))
        json_object_set(worker->answer, "rows", rows);
    else
        worker_end(worker, CELL_SKIPPED, "%s", work.message);
    experiment_free(&work);
    json_decref(rows);
    json_decref(step);
}
