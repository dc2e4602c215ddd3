/*
 * session_needs: estimates the cost of cells, and divides time among them.
 */
#include "session_needs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "guests.h"
#include "problem/tensors.h"

/* Whether another program computes the cell. */
static bool is_program(const struct cell *cell)
{
    return cell->guest && cell->guest->program;
}

/*
 * Additional seconds of a launch if a program computes it: it starts and loads its library; operands are
 * copied to its file, and by some libraries to a layout of their own, in prepare and whenever they have
 * changed.  20 s for 268 MB (vLLM on a busy Zen 3, 2026-11-28).
 */
static double program_need(const struct cell *cell)
{
    return is_program(cell) ? guests_start_s(cell) + 75e-9 * cell->estimate.bytes : 0;
}

/*
 * Estimated seconds of a cell's launch and check.  Cases divide the time by these, so that none has too few
 * launches for an interval.  Roughly the mean over kernels on the default suite (Zen 4, 2026-11-21): a launch
 * takes 60 ms, some two calls at 20 GFLOP/s, and 2 ns a byte; a check 0.2 s and 12 ns a byte.
 */
static double launch_need(const struct cell *cell)
{
    return 0.06 + 2 * cell->estimate.flops / 20e9 + 2e-9 * cell->estimate.bytes +
           program_need(cell);
}

static double cell_need(const struct cell *cell)
{
    return STATS_CI_MIN * launch_need(cell) + 0.2 + 12e-9 * cell->estimate.bytes +
           program_need(cell);
}

/* Seconds of launches in built-in suites: with checks quick takes 65, default 231 (Zen 3, two cores, idle,
 * 2026-11-28).  Other selections get what their cells need. */
static const struct {
    const char *suite;
    double seconds;
} sized[] = {{"quick", 18}, {"default", 115}};
#define SECONDS_PER_CELL 1.0 /* at least */

/* Most seconds for a cell of a model's layer, check included, without --seconds: two passes with a kernel and
 * its rival on one and two threads take about a minute. */
#define SECONDS_PER_LAYER 5.5

/* Launches of a slow kernel, or beside other work, may take up to so many times their estimate. */
#define SLOWER 4

/* Additional seconds if a program computes, which prepares some hundred problems: 12 with vLLM, 13 to 30 with
 * ONNX Runtime (the same machine, busy). */
#define SECONDS_PER_PROGRAM_CHECK 12.0

bool session_needs_counts_checks(const struct session *session, const struct problem_case *c)
{
    return session->options->seconds > 0 || c->passes[0].pass;
}

double session_needs_check_s(double flops, enum check_depth depth)
{
    const bool thorough = depth == CHECK_THOROUGH;
    const double large = thorough ? 2e8 : 4e7;
    return depth == CHECK_CASE ? 0 : 0.25 + (thorough ? 30 : 3.5) * fmin(1, flops / large);
}

/* Default seconds for a cell: six launches, and the check if it counts. */
static double granted(const struct cell *cell)
{
    return cell->c->passes[0].pass
               ? fmin(fmax(SECONDS_PER_CELL, cell_need(cell)), SECONDS_PER_LAYER)
               : fmax(SECONDS_PER_CELL, STATS_CI_MIN * launch_need(cell));
}

double session_needs_allowance(const struct session *session, const struct cell *cell)
{
    return session_needs_counts_checks(session, cell->c) ? 0 : SLOWER * granted(cell);
}

double session_needs_seconds(const struct session *session, const char *suite)
{
    const struct options *o = session->options;
    double needed = 0;
    for (size_t i = 0; i < session->cell_count; i++)
        if (!session->cells[i].done)
            needed += granted(&session->cells[i]);
    for (size_t i = 0; suite && i < sizeof sized / sizeof *sized; i++)
        if (strcmp(suite, sized[i].suite) == 0 && !o->kernel && !o->isa && !o->cases &&
            !o->problem_count)
            return sized[i].seconds;
    return needed;
}

/* Whether an earlier cell of the case has the same variant, so that one check judges both. */
static bool is_checked_before(const struct session *session, size_t i)
{
    const struct cell *cell = &session->cells[i];
    for (size_t k = i; k-- > 0 && session->cells[k].c == cell->c;) {
        const struct cell *other = &session->cells[k];
        if (!other->done && !other->check && cell_same_variant(other, cell))
            return true;
    }
    return false;
}

/* Bytes of V. */
static double v_bytes(const struct attn_problem *p)
{
    return (double)p->batch * (double)p->kv_heads * (double)p->kv_len *
           (double)attn_elements_bytes(p->kv_dtype, (ptrdiff_t)p->v_dim);
}

double session_needs_bytes(const struct cell *cell)
{
    return 2 * tensors_case_bytes(cell->c) +
           2 * v_bytes(&cell->c->problem) + /* copies, which workers change */
           (double)attn_workspace_size(cell->kernel, &cell->c->problem, cell->threads);
}

struct session_needs session_needs(const struct session *session)
{
    const bool timed = session->options->command != COMMAND_CHECK;
    struct session_needs needs = {0};
    const struct cell *before = NULL;
    double spared_s = 0; /* of checks that do not count towards the session's length */
    for (size_t i = 0; i < session->cell_count; i++) {
        const struct cell *cell = &session->cells[i];
        if (cell->done)
            continue;
        needs.cells++;
        needs.cases += !before || cell->c != before->c;
        before = cell;
        needs.memory_bytes = fmax(needs.memory_bytes, session_needs_bytes(cell));
        const bool checked = !cell->check && !is_checked_before(session, i);
        const bool full =
            session->options->checked == CHECKED_FULL && !session_drew(session, cell->c);
        needs.checks += checked && full;
        const double full_s =
            session_needs_check_s(cell->estimate.flops, timed ? CHECK_FULL : CHECK_THOROUGH) +
            (is_program(cell) ? SECONDS_PER_PROGRAM_CHECK : 0);
        const double check_s = (full ? full_s : 0) + launch_need(cell);
        needs.checks_s += checked ? check_s : 0;
        spared_s += checked && !session_needs_counts_checks(session, cell->c) ? check_s : 0;
        if (timed && !json_array_size(cell->launches))
            needs.launches_s += launch_need(cell);
    }
    const double launches = fmax(1, (double)session->options->launches);
    needs.seconds = needs.checks_s + needs.launches_s;
    if (timed && needs.cells)
        needs.seconds =
            fmax(needs.seconds, session->limited ? session->seconds + spared_s
                                                 : needs.checks_s + launches * needs.launches_s);
    return needs;
}

/* ---- sharing the time ------------------------------------------------------------------------ */

double session_needs_level(double *needs, size_t count, double total)
{
    double level = 0;
    stats_sort(needs, count);
    for (size_t i = 0; i < count; i++) {
        level = total / (double)(count - i);
        if (needs[i] > level)
            break;
        total -= needs[i];
    }
    return level;
}

double session_needs_share(const struct session *session, size_t first, size_t count, double left)
{
    double *needs = alloc_bytes((session->cell_count + 1) * sizeof *needs), share = 0, all = 0;
    size_t live = 0;
    for (size_t i = first; needs && i < session->cell_count; i++)
        if (!session->cells[i].done)
            all += needs[live++] = cell_need(&session->cells[i]);
    const double level = session_needs_level(needs, live, left);
    free(needs);
    for (size_t i = first; i < first + count; i++)
        if (!session->cells[i].done)
            share += fmin(cell_need(&session->cells[i]), level);
    return left > all && all > 0 ? share / all * left : share;
}
