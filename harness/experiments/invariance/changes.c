/*
 * changes: the same call made in other ways, compared element by element.
 */
#include <math.h>
#include <string.h>

#include "problem/catalogue.h"
#include "invariance.h"

#define REPEATS 3
#define MOST_THREADS 4

/* ---- comparing ------------------------------------------------------------------------------- */

/* Where a smaller call's rows are in the whole one. */
struct place {
    size_t b, i;
};

static void copy_operand(const struct attn_tensor *to, const struct attn_tensor *from,
                         const size_t shape[4], struct place at)
{
    for (size_t b = 0; b < shape[0]; b++)
        for (size_t h = 0; h < shape[1]; h++)
            for (size_t i = 0; i < shape[2]; i++)
                memcpy(attn_row(to, b, h, i), attn_row(from, at.b + b, h, at.i + i),
                       shape[3] * attn_dtype_size(to->dtype));
}

static void compare(const struct kernel_call *part, const struct kernel_call *whole,
                    struct place at, struct invariance_change *change)
{
    const struct attn_problem *p = &part->plan.problem;
    change->tried = true;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                for (size_t d = 0; d < p->v_dim; d++) {
                    const double x = tensors_get(&part->set.tensors.o, b, h, i, d);
                    const double y = tensors_get(&whole->set.tensors.o, at.b + b, h, at.i + i, d);
                    change->elements++;
                    change->differing += !(x == y);
                    change->largest = fmax(change->largest, fabs(x - y));
                }
}

/* Runs a part of the whole problem by some kernel and compares; false fills work->message. */
static bool try_part(const struct kernel_call *whole, const struct attn_kernel *kernel,
                     const struct attn_problem *problem, struct place at, int threads,
                     struct invariance_change *change, struct experiment_work *work)
{
    struct kernel_call part;
    const struct attn_problem *p = problem;
    if (!kernel_call_open(&part, kernel, problem, threads, work))
        return false;
    const struct attn_tensors *to = &part.set.tensors, *from = &whole->set.tensors;
    const struct place keys = {at.b, 0};
    copy_operand(&to->q, &from->q, (size_t[]){p->batch, p->q_heads, p->q_len, p->qk_dim}, at);
    copy_operand(&to->k, &from->k, (size_t[]){p->batch, p->kv_heads, p->kv_len, p->qk_dim}, keys);
    copy_operand(&to->v, &from->v, (size_t[]){p->batch, p->kv_heads, p->kv_len, p->v_dim}, keys);
    kernel_call_run(&part);
    compare(&part, whole, at, change);
    kernel_call_close(&part);
    return true;
}

/* ---- the changes ----------------------------------------------------------------------------- */

typedef bool try_change(const struct kernel_call *whole, struct invariance_change *change,
                        struct experiment_work *work);

static bool try_threads(const struct kernel_call *whole, struct invariance_change *change,
                        struct experiment_work *work)
{
    for (int threads = 2; threads <= MOST_THREADS; threads++)
        if (!try_part(whole, whole->plan.kernel, &whole->plan.problem, (struct place){0}, threads,
                      change, work))
            return false;
    return true;
}

static bool try_repeats(const struct kernel_call *whole, struct invariance_change *change,
                        struct experiment_work *work)
{
    for (int i = 0; i < REPEATS; i++)
        if (!try_part(whole, whole->plan.kernel, &whole->plan.problem, (struct place){0},
                      work->threads, change, work))
            return false;
    return true;
}

/* Each sequence alone. */
static bool try_batch(const struct kernel_call *whole, struct invariance_change *change,
                      struct experiment_work *work)
{
    struct attn_problem alone = whole->plan.problem;
    alone.batch = 1;
    for (size_t b = 0; b < whole->plan.problem.batch; b++)
        if (!try_part(whole, whole->plan.kernel, &alone, (struct place){b, 0}, 1, change, work))
            return false;
    return true;
}

/* The last queries alone, as a prefill in chunks has them: as many as a tile, and fewer. */
static bool try_split(const struct kernel_call *whole, struct invariance_change *change,
                      struct experiment_work *work)
{
    static const size_t chunks[] = {1, 3, 64};
    struct attn_problem chunk = whole->plan.problem;
    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++) {
        chunk.q_len = chunks[c];
        if (chunk.q_len < whole->plan.problem.q_len &&
            !try_part(whole, whole->plan.kernel, &chunk,
                      (struct place){0, whole->plan.problem.q_len - chunk.q_len}, 1, change, work))
            return false;
    }
    return true;
}

static bool try_isa(const struct kernel_call *whole, struct invariance_change *change,
                    struct experiment_work *work)
{
    const struct attn_kernel *mine = whole->plan.kernel, *other;
    const char *why;
    for (size_t i = 0; (other = catalogue_at(i)); i++)
        if (other != mine && strcmp(other->name, mine->name) == 0 &&
            attn_isa_available(other->isa) && attn_supports(other, &whole->plan.problem, &why) &&
            !try_part(whole, other, &whole->plan.problem, (struct place){0}, 1, change, work))
            return false;
    return true;
}

static const struct {
    const char *name;
    try_change *run;
} changes[] = {
    {"threads", try_threads}, {"repeats", try_repeats}, {"batch position", try_batch},
    {"chunks", try_split},    {"ISA", try_isa},
};
_Static_assert(sizeof changes / sizeof *changes == INVARIANCE_CHANGES, "the header counts them");

const char *invariance_change_name(size_t index)
{
    return changes[index].name;
}

bool invariance_try(size_t index, const struct kernel_call *whole, struct invariance_change *change,
                    struct experiment_work *work)
{
    *change = (struct invariance_change){0};
    return changes[index].run(whole, change, work);
}
