/*
 * worker_memory: where the memory of a launch lies, and on what pages.
 *
 * The memory policy is set before the process's first allocation.  Operands, which another process has
 * filled, and results are moved; then the location of everything is read back.  With first touch on one
 * NUMA node there is nothing to move.
 */
#include "backend.h"
#include "worker_plan.h"

bool worker_memory_policy(struct worker *worker)
{
    const struct setting *how = &worker->request.setting;
    char message[256];
    if (how->huge_pages && worker->backend->no_huge_pages) {
        worker_end(worker, CELL_UNSUPPORTED, "huge pages: %s", worker->backend->no_huge_pages);
        return false;
    }
    if (how->memory == MEMORY_FIRST_TOUCH ||
        machine_memory_set(worker->machine, how->memory, MESSAGE(message)))
        return true;
    worker_end(worker, CELL_SKIPPED, "%s", message);
    return false;
}

static void ask_for_huge(void *data, size_t bytes)
{
    if (data) {
        machine_huge_pages(data, bytes);
        machine_huge_collapse(data, bytes);
    }
}

/* Moves one mapping of a set; false fills message. */
static bool place(struct worker *worker, void *data, size_t bytes, struct message message)
{
    const struct setting *how = &worker->request.setting;
    const int threads = worker->request.threads;
    const bool moves = how->memory != MEMORY_FIRST_TOUCH || machine_numa_nodes(worker->machine) > 1;
    if (moves && !machine_memory_place(worker->machine, data, bytes, how->memory, threads, message))
        return false;
    if (how->huge_pages)
        ask_for_huge(data, bytes);
    return true;
}

bool worker_memory_place(struct worker *worker, const struct worker_plan *plan,
                         const struct tensor_set *sets)
{
    const struct protocol_request *r = &worker->request;
    const struct setting *how = &r->setting;
    char message[256];
    bool holds = true;
    size_t huge = 0;
    worker_stage("placing memory");
    for (size_t i = 0; i < 2 * r->sets; i++) {
        void *data = sets[i / 2].mapping[i % 2];
        const size_t bytes = sets[i / 2].mapping_bytes[i % 2];
        if (!place(worker, data, bytes, MESSAGE(message))) {
            worker_end(worker, CELL_SKIPPED, "%s", message);
            return false;
        }
        holds =
            holds && machine_memory_holds(worker->machine, data, bytes, how->memory, r->threads);
        if (how->huge_pages)
            huge += machine_huge_bytes(data, bytes);
    }
    if (how->huge_pages && plan->workspace) {
        ask_for_huge(plan->workspace, plan->workspace_bytes);
        huge += machine_huge_bytes(plan->workspace, plan->workspace_bytes);
    }
    json_object_set_new(worker->answer, "memory_in_place", json_boolean(holds));
    if (how->huge_pages)
        json_object_set_new(worker->answer, "huge_bytes", json_integer((json_int_t)huge));
    return true;
}
