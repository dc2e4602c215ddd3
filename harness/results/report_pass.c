/*
 * report_pass: the time of all attention in a forward pass or for a token: over the pass's cases, the sum of
 * layers times the fastest kernel's median.
 *
 * If cases have no time, they are named, and the sum of the others is printed as a lower bound.
 */

#include <math.h>
#include <string.h>

#include "base/message.h"
#include "base/scan.h"
#include "base/units.h"
#include "report.h"
#include "report_rows.h"

/* A pass on one number of threads. */
struct sum {
    double seconds, half_s; /* half the interval, at most; NaN if a part has none */
    size_t timed;           /* layers */
    char parts[768];
    char missing[512];
};

/* How many layers of the pass the cell's case stands for. */
static size_t layers_in(const struct cell *cell, const struct pass *pass)
{
    const struct pass_share *shares = cell->c->passes;
    for (size_t i = 0; i < CASE_PASSES && shares[i].pass; i++)
        if (shares[i].pass == pass)
            return shares[i].layers;
    return 0;
}

/* Whether a cell before this one has the same case and thread count. */
static bool is_seen(const struct cell *cells, const struct cell *cell)
{
    for (const struct cell *other = cells; other < cell; other++)
        if (other->c == cell->c && other->threads == cell->threads)
            return true;
    return false;
}

/* The kind of a case's layers, "window", from its name, MODEL-KIND-SIZES; "" if the model has one kind.  The
 * whole name if another model's pass named the case. */
static struct piece kind_of(const struct problem_case *c, const struct pass *pass)
{
    const char *const sizes = pass->name + strlen(pass->model), *name = c->name;
    const size_t model = strlen(pass->model), all = strlen(name), end = strlen(sizes);
    if (all < model + end || strncmp(name, pass->model, model) != 0 ||
        strcmp(name + all - end, sizes) != 0)
        return piece_from(name, name + all);
    name += model + (all > model + end); /* and the - */
    return piece_from(name, c->name + all - end);
}

/* "146 ms +-1.2 %", or "(n=1)" with too few launches for an interval. */
static void add_time(const struct cell *cell, char *text, size_t size)
{
    struct table_row whole = {0};
    char time[UNITS_TEXT];
    const double median = report_row_median(cell), half = report_row_half_width(cell->row);
    report_column_fill(cell, NAN, &whole);
    units_seconds_known(median, half / median, time);
    message_add(text, size, isfinite(half) ? "%s +-%s %%" : "%s (%s)", time,
                whole.text[COLUMN_INTERVAL]);
}

static void add(struct sum *sum, const struct cell *cells, size_t count, const struct cell *cell,
                const struct pass *pass)
{
    const size_t layers = layers_in(cell, pass);
    const struct piece kind = kind_of(cell->c, pass);
    char variant[96];
    const struct cell *best = cell->row ? report_row_fastest(cells, count, cell) : NULL;
    if (!best) {
        message_add(sum->missing, sizeof sum->missing, "%s%s", *sum->missing ? ", " : "",
                    cell->c->name);
        return;
    }
    sum->seconds += (double)layers * report_row_median(best);
    sum->half_s += (double)layers * report_row_half_width(best->row);
    sum->timed += layers;
    cell_variant(best, variant);
    message_add(sum->parts, sizeof sum->parts, "%s%zu %.*s%sx ", *sum->parts ? " + " : "", layers,
                (int)kind.length, kind.at, kind.length ? " " : "");
    add_time(best, sum->parts, sizeof sum->parts);
    message_add(sum->parts, sizeof sum->parts, " by %s", variant);
}

static void print(const struct pass *pass, int threads, const struct sum *sum)
{
    char total[UNITS_TEXT], text[2048];
    const size_t left = pass->layers - sum->timed;
    units_seconds_known(sum->seconds, sum->half_s / sum->seconds, total);
    snprintf(text, sizeof text, "%s, %s, %d thread%s: attention ", pass->model, pass->what, threads,
             threads > 1 ? "s" : "");
    if (sum->timed)
        message_add(text, sizeof text, "takes %s%s in %zu layers (%s)", left ? "more than " : "",
                    total, sum->timed, sum->parts);
    if (sum->timed && isnan(sum->half_s))
        message_add(text, sizeof text, "; n= counts launches that are too few for an interval");
    if (left)
        message_add(text, sizeof text, "%shas no time in %zu of %zu layers (%s)",
                    sum->timed ? "; it " : "", left, pass->layers,
                    *sum->missing ? sum->missing : "not selected");
    if (*pass->without)
        message_add(text, sizeof text, "; without %s, which compute no softmax over keys",
                    pass->without);
    report_wrapped(2, "%s", text);
}

static void report_pass(const struct pass *pass, const struct cell *cells, size_t count,
                        int threads)
{
    struct sum sum = {0};
    for (size_t i = 0; i < count; i++)
        if (layers_in(&cells[i], pass) && cells[i].threads == threads && !is_seen(cells, &cells[i]))
            add(&sum, cells, count, &cells[i], pass);
    print(pass, threads, &sum);
}

void report_passes(const struct case_list *cases, const struct cell *cells, size_t count)
{
    for (size_t p = 0; p < cases->pass_count; p++)
        for (size_t i = 0; i < count; i++) {
            bool first = layers_in(&cells[i], cases->passes[p]);
            for (size_t k = 0; first && k < i; k++)
                first =
                    cells[k].threads != cells[i].threads || !layers_in(&cells[k], cases->passes[p]);
            if (first)
                report_pass(cases->passes[p], cells, count, cells[i].threads);
        }
    report_flush();
}
