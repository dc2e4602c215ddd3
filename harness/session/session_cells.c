/*
 * session_cells: lists a session's cells: each variant with each case, thread count and setting.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "bench/bench.h"
#include "guests.h"
#include "isa.h"
#include "problem/lengths.h"
#include "problem/select.h"
#include "session_needs.h"

/* Ends a cell that needs more memory than is available. */
static void refuse_memory(struct cell *cell)
{
    const double needed = session_needs_bytes(cell);
    const double available = (double)machine_memory_available();
    if (needed > available)
        cell_end(cell, CELL_SKIPPED, "needs %.3g GB of memory, %.3g GB are available", needed / 1e9,
                 available / 1e9);
}

/* Ends a cell whose variant this build does not have, even if the host could run it. */
static void refuse_unbuilt(struct cell *cell)
{
    const char *isa = attn_isa_name(cell->isa);
    if (attn_isa_available(cell->isa))
        cell_end(cell, CELL_UNAVAILABLE, "no variant for %s yet, though this host has it", isa);
    else
        cell_end(cell, CELL_UNAVAILABLE, "no variant for %s, and this host lacks %s", isa,
                 attn_isa_needs(cell->isa));
}

/* Whether each of a cell's threads can be bound; cells of fewer threads may still run. */
static bool has_places(const struct session *session, const struct cell *cell, struct message why)
{
    if (cell->setting.placement == PLACEMENT_NONE)
        return true;
    int *cpus = alloc_zeroed((size_t)cell->threads, sizeof *cpus);
    message_print(why, "out of memory");
    const bool has =
        cpus && machine_places(session->machine, cell->setting.placement, cell->threads, cpus, why);
    free(cpus);
    return has;
}

/* Ends a cell that cannot run, with the reason. */
static void refuse_variant(const struct session *session, struct cell *cell, bool one_thread_asked)
{
    char why[160];
    const double bytes = fmax(1, cell->estimate.bytes);
    const size_t cold_sets = cell->setting.cold ? bench_cold_sets(session->machine, bytes) : 0;
    if (!cell->kernel) {
        refuse_unbuilt(cell);
    } else if (!attn_isa_available(cell->isa)) {
        cell_end(cell, CELL_UNAVAILABLE, "this host lacks %s", attn_isa_needs(cell->isa));
    } else if (select_refusal(cell->kernel, &cell->c->problem, MESSAGE(why))) {
        cell_end(cell, CELL_UNSUPPORTED, "%s", why);
    } else if (session->options->invariant && cell->kernel->caps.varies) {
        cell_end(cell, CELL_UNSUPPORTED, "results vary, as the kernel says");
    } else if (cell->threads > 1 && !cell->kernel->caps.parallel && !one_thread_asked) {
        cell_end(cell, CELL_UNSUPPORTED, "runs on one thread only");
    } else if (!has_places(session, cell, MESSAGE(why))) {
        cell_end(cell, CELL_SKIPPED, "%s", why);
    } else if (cold_sets > TENSORS_FILE_SETS) {
        cell_end(cell, CELL_UNSUPPORTED, "too small for --cold: takes %zu sets of operands",
                 cold_sets);
    } else {
        refuse_memory(cell);
    }
}

static struct cell *append_cell(struct session *session, const struct problem_case *c,
                                const char *name, enum attn_isa isa, int threads,
                                const struct setting *setting)
{
    struct cell *cell = &session->cells[session->cell_count++];
    const struct cell *before = session->cell_count > 1 ? cell - 1 : NULL;
    cell_init(cell, c, name, isa);
    cell->estimate = before && before->c == c ? before->estimate : lengths_work(c);
    cell->threads = threads;
    cell->setting = *setting;
    return cell;
}

/* Whether the case already has the cell: the library's choice may also be named in --kernel. */
static bool is_planned(const struct session *session, const struct problem_case *c,
                       const char *name, enum attn_isa isa, int threads)
{
    for (size_t i = session->cell_count; i-- > 0 && session->cells[i].c == c;) {
        const struct cell *cell = &session->cells[i];
        if (cell->isa == isa && cell->threads == threads && strcmp(cell->kernel_name, name) == 0)
            return true;
    }
    return false;
}

/* Adds a cell for each setting. */
static void add_cell(struct session *session, const struct problem_case *c, const char *name,
                     enum attn_isa isa, int threads)
{
    const struct attn_kernel *kernel = catalogue_find(name, isa);
    bool one = false;
    for (size_t i = 0; i < session->thread_counts; i++)
        one |= session->threads[i] == 1;
    if (threads > 1 && one && kernel && !kernel->caps.parallel)
        return; /* a serial kernel has only the cell of one thread */
    if (is_planned(session, c, name, isa, threads))
        return;
    for (size_t s = 0; s < session->setting_count; s++) {
        struct cell *cell = append_cell(session, c, name, isa, threads, &session->settings[s]);
        cell->kernel = kernel;
        cell->guest = kernel ? catalogue_guest(kernel) : NULL;
        cell->chosen = kernel && kernel == attn_kernel_best(&c->problem, threads);
        refuse_variant(session, cell, one);
    }
}

/* Adds the library's choice; the cell on one thread if that is a serial kernel. */
static void add_best(struct session *session, const struct problem_case *c, int threads)
{
    const struct attn_kernel *best = attn_kernel_best(&c->problem, threads);
    if (best)
        add_cell(session, c, best->name, best->isa, best->caps.parallel ? threads : 1);
    for (size_t s = 0; !best && s < session->setting_count; s++)
        cell_end(
            append_cell(session, c, SELECT_BEST, ATTN_ISA_BASELINE, threads, &session->settings[s]),
            CELL_UNSUPPORTED, "the library has no kernel for it");
}

/* Adds the cells of a case for one name in --kernel. */
static void add_selected(struct session *session, const struct problem_case *c,
                         const struct selected *kernel, unsigned isas)
{
    const bool best = strcmp(kernel->name, SELECT_BEST) == 0;
    const unsigned chosen = best ? 0 : select_variants(kernel, isas, &c->problem);
    for (size_t t = 0; best && t < session->thread_counts; t++)
        add_best(session, c, session->threads[t]);
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (chosen & 1u << isa)
            for (size_t t = 0; t < session->thread_counts; t++)
                add_cell(session, c, kernel->name, (enum attn_isa)isa, session->threads[t]);
}

/* Adds a row for each refused plug-in, so that the results say why its kernels are missing. */
static void add_refused(struct session *session, const struct problem_case *c)
{
    const struct guest_refusal *refusal;
    const enum command command = session->options->command;
    if (command != COMMAND_RUN && command != COMMAND_CHECK && command != COMMAND_TUNE)
        return; /* an experiment has no cells */
    for (size_t i = 0; (refusal = guests_refused(i)); i++) {
        struct cell *cell = append_cell(session, c, refusal->name, ATTN_ISA_BASELINE,
                                        session->threads[0], &session->settings[0]);
        cell->guest = refusal->guest;
        cell_end(cell, refusal->state, "%s", refusal->why);
    }
}

bool session_cells_plan(struct session *session, struct message message)
{
    struct selected kernels[SELECT_MAX];
    size_t count;
    unsigned isas;
    if (!select_kernels(session->options->kernel, kernels, &count, message) ||
        !select_blas(session->options->blas, kernels, &count, message) ||
        !select_isas(session->options->isa, &isas, message))
        return false;
    const size_t variants =
        count * session->thread_counts * ATTN_ISA_COUNT * session->setting_count;
    const size_t most =
        session->cases.count * (variants + 2 * OPTIONS_MAX_PLUGINS + SESSION_MAX_SETTINGS);
    session->cells = alloc_zeroed(most, sizeof *session->cells);
    for (size_t i = 0; session->cells && i < session->cases.count; i++) {
        const struct problem_case *c = &session->cases.items[i];
        for (size_t k = 0; k < count; k++)
            add_selected(session, c, &kernels[k], isas);
        add_refused(session, c);
    }
    if (!session->cells)
        message_print(message, "out of memory");
    return session->cells;
}

void session_cells_of(const struct session *session, size_t index, size_t *first, size_t *count)
{
    const struct problem_case *c = &session->cases.items[index];
    *first = 0;
    *count = 0;
    while (*first < session->cell_count && session->cells[*first].c != c)
        ++*first;
    while (*first + *count < session->cell_count && session->cells[*first + *count].c == c)
        ++*count;
}
