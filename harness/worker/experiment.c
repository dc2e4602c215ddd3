/*
 * experiment: one step of an experiment.
 */
#include <stdio.h>

#include "experiments/experiment.h"
#include "worker.h"

void worker_experiment(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    const struct experiment *experiment = experiment_find(r->experiment);
    struct experiment_work work = {.threads = r->threads, .machine = worker->machine};
    json_t *step = json_loads(r->step, 0, NULL);
    json_t *rows = NULL;
    snprintf(work.message, sizeof work.message, "no experiment %s with such a step", r->experiment);
    worker_stage("computing");
    if (experiment && step)
        rows = experiment->compute(step, &work);
    if (rows)
        json_object_set_new(worker->answer, "rows", rows);
    else
        worker_end(worker, CELL_SKIPPED, "%s", work.message);
    json_decref(step);
}
