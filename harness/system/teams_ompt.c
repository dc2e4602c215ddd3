/*
 * teams_ompt: an OMPT tool (OpenMP 5.0, chapter 4), which the runtime looks for at its start.
 *
 * A thread works from the beginning of its implicit task to the barrier that ends the region, except for
 * barriers in between.  Only outermost regions count: an inner one is work of its thread.
 */
#include <omp-tools.h>
#include <stddef.h>

#include "base/clock.h"
#include "teams.h"

static _Thread_local struct {
    int depth;      /* implicit tasks that the thread is in */
    int number;     /* in its outermost team */
    double since_s; /* when it began to work */
} me;

static _Thread_local double region_since_s;

static void parallel_begin(ompt_data_t *task, const ompt_frame_t *frame, ompt_data_t *parallel,
                           unsigned threads, int flags, const void *address)
{
    (void)task, (void)frame, (void)parallel, (void)threads, (void)flags, (void)address;
    if (me.depth == 0 && teams_recording())
        region_since_s = clock_now();
}

static void parallel_end(ompt_data_t *parallel, ompt_data_t *task, int flags, const void *address)
{
    (void)parallel, (void)task, (void)flags, (void)address;
    if (me.depth == 0 && teams_recording())
        teams_region(clock_now() - region_since_s);
}

static void implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t *parallel, ompt_data_t *task,
                          unsigned threads, unsigned number, int flags)
{
    (void)parallel, (void)task, (void)threads;
    if (flags & ompt_task_initial)
        return;
    me.depth += endpoint == ompt_scope_begin ? 1 : -1;
    if (endpoint == ompt_scope_begin && me.depth == 1 && teams_recording()) {
        me.number = (int)number;
        me.since_s = clock_now();
    }
}

static void sync_region(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint,
                        ompt_data_t *parallel, ompt_data_t *task, const void *address)
{
    (void)parallel, (void)task, (void)address;
    if (me.depth != 1 || !teams_recording() || kind == ompt_sync_region_taskwait ||
        kind == ompt_sync_region_taskgroup || kind == ompt_sync_region_reduction)
        return;
    const double now = clock_now();
    if (endpoint == ompt_scope_begin)
        teams_worked(me.number, now - me.since_s);
    me.since_s = now;
}

static int initialize(ompt_function_lookup_t lookup, int device, ompt_data_t *data)
{
    (void)device, (void)data;
    const ompt_set_callback_t set = (ompt_set_callback_t)lookup("ompt_set_callback");
    const struct {
        ompt_callbacks_t event;
        ompt_callback_t function;
    } callbacks[] = {
        {ompt_callback_parallel_begin, (ompt_callback_t)parallel_begin},
        {ompt_callback_parallel_end, (ompt_callback_t)parallel_end},
        {ompt_callback_implicit_task, (ompt_callback_t)implicit_task},
        {ompt_callback_sync_region, (ompt_callback_t)sync_region},
    };
    for (size_t i = 0; i < sizeof callbacks / sizeof *callbacks; i++)
        if (!set || set(callbacks[i].event, callbacks[i].function) != ompt_set_always)
            return 0;
    teams_heard();
    return 1;
}

static void finalize(ompt_data_t *data)
{
    (void)data;
}

/* The runtime looks for this name in the program. */
ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime);

ompt_start_tool_result_t *ompt_start_tool(unsigned version, const char *runtime)
{
    (void)version, (void)runtime;
    static ompt_start_tool_result_t result = {initialize, finalize, {0}};
    return &result;
}
