/*
 * watch: what a kernel must leave alone in the threads that it runs on.
 */
#include "watch.h"

#include "system/aftermath.h"
#include "system/fault.h"

/* For a signal handler. */
static bool last_row(const void *context, size_t place[3])
{
    const struct trial *trial = context;
    struct tensors_spot spot;
    if (!tensors_last_written(&trial->set, &trial->problem, &spot))
        return false;
    place[0] = spot.b;
    place[1] = spot.h;
    place[2] = spot.i;
    return true;
}

static void expect(const struct trial *trial)
{
    static struct fault_call call;
    struct tensors_span spans[TENSORS_SPANS];
    const struct trial_plan *plan = &trial->plans[trial->at];
    fault_expect(NULL);
    call = (struct fault_call){
        .context = trial, .last_row = trial->problem.outputs & ATTN_OUTPUT_O ? last_row : NULL};
    const size_t count = tensors_spans(&trial->set, &trial->problem, spans);
    for (size_t n = 0; n < count; n++)
        call.regions[call.count++] =
            (struct fault_region){spans[n].name, spans[n].data, spans[n].bytes, spans[n].element};
    call.regions[call.count++] =
        (struct fault_region){"workspace", plan->workspace, plan->workspace_bytes, sizeof(float)};
    fault_expect(&call);
}

void check_watch_begin(const struct trial *trial, int threads)
{
    expect(trial);
    aftermath_begin(threads);
}

bool check_watch_end(struct trial *trial, int threads, const char *who)
{
    char what[AFTERMATH_TEXT];
    fault_expect(NULL);
    return aftermath_end(threads, what) || check_fail(trial, "%s %s", who, what);
}
