/*
 * report_absent: sums up many cases of a check in a line: those that a kernel does not compute, and drawn
 * ones.
 */
#include <string.h>

#include "report.h"
#include "report_rows.h"

bool report_absent_all(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!report_row_is_absent(&cells[i]))
            return false;
    return count > 0;
}

static bool alike(const struct cell *a, const struct cell *b)
{
    return a->state == b->state && cell_same_variant(a, b) && strcmp(a->why, b->why) == 0;
}

/* Whether the table of the cell's case names it: there is one if any kernel computes the case. */
static bool is_told(const struct cell *cells, size_t count, const struct cell *cell)
{
    for (size_t i = 0; i < count; i++)
        if (cells[i].c == cell->c && !report_absent_all(&cells[i], 1))
            return true;
    return false;
}

/* How many cases the variant is absent in for the same reason, without those that have a table. */
static size_t cases_like(const struct cell *cells, size_t count, const struct cell *cell)
{
    size_t n = 0;
    const struct problem_case *last = NULL;
    for (size_t i = 0; i < count; i++)
        if (cells[i].row && alike(&cells[i], cell) && cells[i].c != last &&
            !is_told(cells, count, &cells[i])) {
            last = cells[i].c;
            n++;
        }
    return n;
}

void report_absent_cases(const struct cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool said = !report_row_is_absent(&cells[i]);
        for (size_t k = 0; !said && k < i; k++)
            said = cells[k].row && alike(&cells[k], &cells[i]) && !is_told(cells, count, &cells[k]);
        if (said || is_told(cells, count, &cells[i]))
            continue;
        char variant[96];
        const size_t cases = cases_like(cells, count, &cells[i]);
        cell_variant(&cells[i], variant);
        report_wrapped(4, "  %s: %s in %zu case%s (%s)", cell_state_name(cells[i].state), variant,
                       cases, cases == 1 ? "" : "s", cells[i].why);
    }
}

void report_absent_drawn(size_t count, uint64_t seed)
{
    report_wrapped(4, "%zu problem%s drawn from --seed %llu", count, count == 1 ? " was" : "s were",
                   (unsigned long long)seed);
}

void report_absent_simplest(const struct cell *cell, const struct problem_case *simplest)
{
    char problem[PARSE_TEXT], input[PARSE_TEXT];
    parse_print_problem(&simplest->problem, problem);
    parse_print_input(&simplest->input, input);
    report_wrapped(
        4,
        "  simpler, and fails as well: attnbench check --problem '%s input=%s' --kernel %s "
        "--isa %s --threads %d",
        problem, input, cell->kernel_name, attn_isa_name(cell->isa), cell->threads);
}
