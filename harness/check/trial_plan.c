/*
 * trial_plan: the plans of a trial, their workspace between inaccessible pages, and the state that calls must
 * not change.
 */
#include "trial.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "system/aftermath.h"
#include "system/fault.h"
#include "system/machine.h"

/* Maps a workspace filled with NaN.  It ends, up to alignment, where inaccessible pages begin. */
static bool map_workspace(struct trial_plan *p, size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t room = (bytes + page - 1) / page * page;
    p->mapping_bytes = room + 2 * FAULT_GUARD;
    char *map = mmap(NULL, p->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED)
        return false;
    p->mapping = map;
    map += FAULT_GUARD;
    if (room && mprotect(map, room, PROT_READ | PROT_WRITE) != 0)
        return false;
    machine_populate(map, room);
    memset(map, 0xff, room);
    p->workspace = map + (room - bytes) / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN;
    p->workspace_bytes = bytes;
    return true;
}

/* ---- what a kernel must leave alone in the threads that it runs on --------------------------- */

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
    const struct trial_plan *plan = &trial->plans[trial->at];
    fault_expect(NULL);
    call = (struct fault_call){
        .context = trial, .last_row = trial->problem.outputs & ATTN_OUTPUT_O ? last_row : NULL};
    static_assert(TENSORS_SPANS < FAULT_REGIONS, "operands, results and a workspace");
    call.count = tensors_spans(&trial->set, &trial->problem, call.regions);
    call.regions[call.count++] =
        (struct fault_region){"workspace", plan->workspace, plan->workspace_bytes, sizeof(float)};
    fault_expect(&call);
}

void trial_watch_begin(const struct trial *trial, int threads)
{
    expect(trial);
    aftermath_begin(threads);
}

bool trial_watch_end(struct trial *trial, int threads, const char *who)
{
    char what[AFTERMATH_TEXT];
    fault_expect(NULL);
    return aftermath_end(threads, what) || failure_found(trial, "%s %s", who, what);
}

/* ---- plans ----------------------------------------------------------------------------------- */

void trial_stage(const struct trial *trial, int threads)
{
    char what[112], detail[64];
    snprintf(what, sizeof what, CHECK_RUNNING "%s", threads, trial->phase);
    snprintf(detail, sizeof detail, ", guard page %s%s",
             trial->set.layout.guard == TENSORS_GUARD_FRONT ? "in front" : "behind",
             trial->set.layout.row_padding ? ", rows padded" : "");
    fault_stage(what, detail, trial->of_problem);
}

bool trial_add(struct trial *trial, int threads)
{
    const struct attn_kernel *kernel = trial->checker->kernel;
    const char *why;
    trial->at = trial->plan_count++;
    struct trial_plan *p = &trial->plans[trial->at];
    trial->checker->blamed = failure_blame(trial->checker, threads);
    trial_stage(trial, threads);
    const size_t bytes = attn_workspace_size(kernel, &trial->problem, threads);
    if (!map_workspace(p, bytes))
        return failure_give_up(trial, "no memory for a workspace of %zu bytes", bytes);
    /* Without prepare only this thread runs; waking the others would take most of a small trial's time. */
    const int watched = kernel->prepare ? threads : 1;
    trial_watch_begin(trial, watched);
    if (attn_plan_init(&p->plan, kernel, &trial->problem, threads, p->workspace, bytes, &why))
        return trial_watch_end(trial, watched, "the kernel's prepare");
    p->plan.kernel = NULL;
    return false;
}

void trial_call(struct trial *trial, size_t plan)
{
    tensors_poison(&trial->set, &trial->problem);
    attn_execute(&trial->plans[plan].plan, &trial->set.tensors);
    aftermath_settle();
}
