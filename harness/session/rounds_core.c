/*
 * rounds_core: chooses the core type, which selects a BLAS library's code, for each variant of a case.
 *
 * The fastest core type depends on processor and problem; with a wrong one gemm would look slower than it
 * is.  So each is tried before the case is checked or timed, and the fastest is kept for every launch of the
 * variant, on any number of threads.  A try does not count as a launch.  `attnbench check`, which times
 * nothing, takes the first.
 */
#include <math.h>

#include "rounds_private.h"
#include "base/number.h"
#include "results/launches.h"

#define TRY_S 0.01   /* seconds of samples in a try */
#define AGAIN_S 0.25 /* shorter launches are tried twice, in the order A B B A */

/* The median of a try in seconds; infinity if it failed. */
static double try_core(struct rounds *rounds, const struct protocol_request *base,
                       const struct cell *cell, const char *core, struct launch *launch)
{
    struct protocol_request r = *base;
    r.action = PROTOCOL_MEASURE;
    rounds_launch_request(cell, &r);
    r.threads = r.team = cell->threads;
    r.blas_core = core;
    r.budget_s = TRY_S;
    r.warmup_s = TRY_S / 4;
    rounds_launch_say(rounds, cell, "trying a core type");
    *launch = rounds_launch(rounds, &r, rounds->deadline_s);
    const double median = launches_median_sample(launch->answer);
    launch_free(launch);
    return launch->state == CELL_OK && !isnan(median) ? median : INFINITY;
}

/* {"core": NAME, "tried_s": {NAME: seconds a call}}; NULL: interrupted. */
static json_t *choose(struct rounds *rounds, const struct protocol_request *base,
                      const struct cell *cell)
{
    const char *cores[ATTN_LIBRARY_CHOICES];
    const size_t known = cell->kernel->library->choices(&cell->c->problem, cell->isa, cores);
    const size_t count = rounds->action == PROTOCOL_CHECK ? 1 : known;
    double best[ATTN_LIBRARY_CHOICES] = {0}, wall_s = 0;
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
        if (launch.state == CELL_UNAVAILABLE) {
            json_decref(tried);
            return json_null();
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

/* The variant's core type, from an earlier cell or from a launch of the resumed session; NULL: none yet. */
static json_t *known(const struct rounds *rounds, const struct cell *like)
{
    for (size_t i = 0; i < rounds->count; i++) {
        const struct cell *cell = &rounds->cells[i];
        json_t *recorded = json_object_get(json_array_get(cell->launches, 0), "blas");
        if (!cell_same_variant(cell, like))
            continue;
        if (cell->blas)
            return json_incref(cell->blas);
        if (json_is_object(recorded))
            return json_incref(recorded);
    }
    return NULL;
}

/* Whether there is a choice: not if the user has made it. */
static bool has_choice(const struct cell *cell)
{
    const struct attn_library *library = cell->kernel ? cell->kernel->library : NULL;
    const char *chooser = library ? library->chooser : NULL;
    const bool chosen =
        chooser && (getenv(chooser) || setting_variable(cell->setting.variables, chooser));
    return library && library->choices && !chosen;
}

enum session_end rounds_core_choose(struct rounds *rounds, const struct protocol_request *base)
{
    for (size_t i = 0; i < rounds->count; i++) {
        struct cell *cell = &rounds->cells[i];
        if (cell->done || !has_choice(cell))
            continue;
        cell->blas = known(rounds, cell);
        if (!cell->blas && !(cell->blas = choose(rounds, base, cell)))
            return SESSION_INTERRUPTED;
    }
    return SESSION_DONE;
}
