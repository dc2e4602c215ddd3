/*
 * experiment: one step of an experiment.
 */
#include <stdio.h>

#include "experiments/experiment.h"
#include "actions.h"

static json_t *compute_rows(const struct experiment *experiment, const json_t *step,
                            struct experiment_work *work)
{
    json_t *rows = json_array();
    experiment_fail(work, "out of memory");
    const bool computed = experiment->compute_rows(step, rows, work);
    experiment_free(work);
    if (computed)
        return rows;
    json_decref(rows);
    return NULL;
}

void worker_experiment(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    const struct experiment *experiment = experiment_find(r->experiment);
    struct experiment_work work = {.threads = r->threads, .machine = worker->machine};
    json_t *step = json_loads(r->step, 0, NULL);
    json_t *rows = NULL;
    worker_stage("computing");
    if (!experiment || !step)
        experiment_fail(&work, "no experiment %s with such a step", r->experiment);
    else if (experiment->compute)
        rows = experiment->compute(step, &work);
    else
        rows = compute_rows(experiment, step, &work);
    if (rows)
        json_object_set_new(worker->answer, "rows", rows);
    else
        worker_end(worker, CELL_SKIPPED, "%s", work.message);
    json_decref(step);
}
