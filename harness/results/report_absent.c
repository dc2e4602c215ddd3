/*
 * report_absent: the cases of a check of which nothing was computed.
 */
#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "report.h"
#include "report_rows.h"

bool report_is_absent(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!cells[i].row || !report_absent(cells[i].row))
            return false;
    return count > 0;
}

static bool alike(const struct cell *a, const struct cell *b)
{
    return a->state == b->state && a->isa == b->isa &&
           strcmp(a->kernel_name, b->kernel_name) == 0 && strcmp(a->why, b->why) == 0;
}

/* Cases in which the variant is absent for the same reason. */
static size_t cases_like(const struct cell *cells, size_t count, const struct cell *cell)
{
    size_t n = 0;
    const struct problem_case *last = NULL;
    for (size_t i = 0; i < count; i++)
        if (cells[i].row && alike(&cells[i], cell) && cells[i].c != last) {
            last = cells[i].c;
            n++;
        }
    return n;
}

void report_absent_cases(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool said = !cells[i].row || !report_absent(cells[i].row);
        for (size_t k = 0; !said && k < i; k++)
            said = cells[k].row && alike(&cells[k], &cells[i]);
        if (said)
            continue;
        char variant[96], line[sizeof cells[i].why + 192];
        const size_t cases = cases_like(cells, count, &cells[i]);
        cell_variant(&cells[i], variant);
        snprintf(line, sizeof line, "  %s: %s in %zu case%s (%s)", cell_state_name(cells[i].state),
                 variant, cases, cases == 1 ? "" : "s", cells[i].why);
        table_wrap(report_output.out, line, report_output.width, 4);
    }
}
