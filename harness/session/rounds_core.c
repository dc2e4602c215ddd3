/*
 * rounds_core: chooses the core type of the BLAS library, the code that kernel gemm runs in a case.
 *
 * Which core type is the fastest depends on processor and problem; with a wrong guess gemm would
 * look slower than it is.  So each is tried before anything of the case is checked or timed, and
 * the fastest is kept for every launch of the variant, at any thread count.  A try does not count
 * as a launch of a cell.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "blas.h"
#include "rounds_private.h"
#include "base/stats.h"
#include "base/number.h"

#define TRY_S 0.01   /* of samples */
#define AGAIN_S 0.25 /* a launch that takes less is tried twice, in the order A B B A */

/* The median of a try; infinity where it failed. */
static double try_core(struct rounds *rounds, const struct protocol_request *base,
                       const struct cell *cell, const char *core, struct launch *launch)
{
    struct protocol_request r = *base;
    r.action = PROTOCOL_MEASURE;
    protocol_kernel(&r, cell->kernel_name, cell->isa, cell->guest);
    r.threads = r.team = cell->threads;
    r.blas_core = core;
    r.budget_s = TRY_S;
    r.warmup_s = TRY_S / 4;
    rounds->events->launching(rounds->events->context, cell, "trying a BLAS core");
    *launch = rounds_launch(rounds, &r, rounds->deadline_s);
    const json_t *samples = json_object_get(launch->answer, "samples_s");
    const size_t n = json_array_size(samples);
    double *x = calloc(n + 1, sizeof *x), median = INFINITY;
    for (size_t i = 0; x && i < n; i++)
        x[i] = json_number_value(json_array_get(samples, i));
    if (x && n && launch->state == CELL_OK)
        median = stats_median_of(x, n);
    free(x);
    launch_free(launch);
    return median;
}

/* {"core": NAME, "tried_s": {NAME: seconds a call}}; NULL where the user interrupted. */
static json_t *choose(struct rounds *rounds, const struct protocol_request *base,
                      const struct cell *cell)
{
    const char *cores[ATTN_BLAS_CORES];
    const size_t count = attn_blas_cores(&cell->c->problem, cell->isa, cores);
    double best[ATTN_BLAS_CORES] = {0}, wall_s = 0;
    json_t *tried = json_object();
    size_t chosen = 0;
    for (size_t turn = 0; count > 1 && turn < 2 * count; turn++) {
        const size_t c = turn < count ? turn : 2 * count - 1 - turn;
        struct launch launch;
        if (turn >= count && wall_s > AGAIN_S * (double)count)
            break;
        const double median = try_core(rounds, base, cell, cores[c], &launch);
        if (launch.interrupted) {
            json_decref(tried);
            return NULL;
        }
        wall_s += launch.wall_s;
        best[c] = turn < count ? median : fmin(best[c], median);
    }
    for (size_t c = 0; count > 1 && c < count; c++) {
        json_object_set_new(tried, cores[c], number_json(best[c]));
        if (best[c] < best[chosen])
            chosen = c;
    }
    return json_pack("{s:s, s:o}", "core", cores[chosen], "tried_s", tried);
}

/* The core type recorded by a launch of an interrupted session; NULL where there is none. */
static json_t *recorded(const struct rounds *rounds, enum attn_isa isa)
{
    for (size_t i = 0; i < rounds->count; i++) {
        const struct cell *cell = &rounds->cells[i];
        json_t *blas = json_object_get(json_array_get(cell->launches, 0), "blas");
        if (cell->isa == isa && json_is_object(blas))
            return json_incref(blas);
    }
    return NULL;
}

static bool calls_blas(const struct cell *cell)
{
    return strcmp(cell->kernel_name, "gemm") == 0;
}

enum rounds_end rounds_choose_cores(struct rounds *rounds, const struct protocol_request *base)
{
    const char *set = getenv("OPENBLAS_CORETYPE"); /* the user's choice stays */
    json_t *blas[ATTN_ISA_COUNT] = {NULL};
    enum rounds_end end = ROUNDS_DONE;
    for (size_t i = 0; !set && end == ROUNDS_DONE && i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        if (cell->done || !calls_blas(cell))
            continue;
        if (!blas[cell->isa] && !(blas[cell->isa] = recorded(rounds, cell->isa)) &&
            !(blas[cell->isa] = choose(rounds, base, cell)))
            end = ROUNDS_INTERRUPTED;
        cell->blas = json_incref(blas[cell->isa]);
    }
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        json_decref(blas[isa]);
    return end;
}
