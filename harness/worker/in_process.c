/*
 * in_process: loads a variant's code, and times it by this process's clock.
 */
#include "backend.h"

#include "base/number.h"
#include "base/message.h"
#include "plugin.h"
#include "problem/catalogue.h"

static const struct attn_plan *measured;
static struct tensor_set *operands;

/* ---- the kernel ------------------------------------------------------------------------------ */

static bool describe(struct worker *worker, enum cell_state *state, struct message why)
{
    const struct protocol_request *r = &worker->request;
    const struct attn_kernel *kernel = catalogue_find(r->kernel, r->isa);
    const char *missing = "there is no such kernel";
    *state = CELL_UNAVAILABLE;
    if (*r->plugin)
        return plugin_describe(r->plugin, worker->answer, why);
    if (kernel && attn_load(kernel, &missing))
        return true;
    return refuse(why, "%s", missing);
}

static const struct attn_kernel *open_kernel(struct worker *worker, struct message why)
{
    const struct protocol_request *r = &worker->request;
    const struct attn_kernel *kernel = catalogue_find(r->kernel, r->isa);
    if (*r->plugin)
        return plugin_load(r, why);
    message_print(why, "no kernel %s/%s", r->kernel, attn_isa_name(r->isa));
    return kernel;
}

/* ---- a measurement --------------------------------------------------------------------------- */

static void begin(struct worker *worker, const struct attn_plan *plan, struct tensor_set *sets,
                  size_t count)
{
    (void)worker, (void)count;
    measured = plan;
    operands = sets;
}

static void call(size_t set)
{
    attn_execute(measured, &operands[set].tensors);
}

/* "library": the one loaded into this process. */
static void note_preparation(struct worker *worker, double prepare_s)
{
    const struct attn_library *library = worker->kernel->library;
    json_object_set_new(worker->answer, "prepare_s", number_json(prepare_s));
    json_object_set_new(worker->answer, "library",
                        library ? json_string(library->description()) : json_null());
}

static void note_samples(struct worker *worker)
{
    struct machine_usage usage;
    machine_usage(worker->machine, &usage);
    json_object_set_new(worker->answer, "peak_rss_bytes", number_size(usage.peak_rss_bytes));
}

/* Without transfers and with bench's own clock. */
const struct backend in_process_backend = {
    .here = true,
    .describe = describe,
    .open = open_kernel,
    .begin = begin,
    .call = call,
    .note_preparation = note_preparation,
    .note_samples = note_samples,
    .ceilings = worker_launch_ceilings,
};
