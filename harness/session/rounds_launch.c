/*
 * rounds_launch: the parts of every launch of a case: its request, its worker, the end of its cell, and what is
 * shown of them.  Nothing is shown while a worker runs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/message.h"
#include "results/report.h"
#include "results/row.h"
#include "rounds_private.h"
#include "session_needs.h"

/* Time for a program to load and compile its library, as docs/protocol.md states. */
#define PROGRAM_S 300.0

/* A check may take so many times what it is estimated to. */
#define SLOWEST_CHECK 20

void rounds_launch_request(const struct cell *cell, struct protocol_request *request)
{
    protocol_kernel(request, cell->kernel_name, cell->isa, cell->guest);
    request->blas_core = rounds_core(cell);
    request->setting = cell->setting;
    request->sets = cell->setting.cold ? request->sets : ROUNDS_WARM_SETS;
}

double rounds_launch_deadline(const struct rounds *rounds, const struct protocol_request *r)
{
    if (rounds->session->options->timeout_s > 0)
        return rounds->deadline_s;
    const double check_s = r->action == PROTOCOL_CHECK
                               ? session_needs_check_s(attn_useful_flops(&r->c.problem), r->depth)
                               : 0;
    return rounds->deadline_s + SLOWEST_CHECK * check_s + (r->program ? PROGRAM_S : 0);
}

/* Adds the times in a worker's answer to those of the session; without an answer, all of the launch to what it
 * was for. */
static void note_work(struct record_time *time, enum protocol_action action,
                      const struct launch *launch)
{
    const struct {
        const char *phase;
        double *sum;
    } phases[] = {{"prepare_s", &time->preparing_s}, {"filled_s", &time->preparing_s},
                  {"placed_s", &time->preparing_s},  {"check_s", &time->checking_s},
                  {"sampled_s", &time->timing_s},    {"probed_s", &time->probing_s}};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++)
        *phases[i].sum += json_number_value(json_object_get(launch->answer, phases[i].phase));
    if (!launch->answer)
        *(action == PROTOCOL_PREPARE ? &time->preparing_s
          : action == PROTOCOL_CHECK ? &time->checking_s
                                     : &time->timing_s) += launch->wall_s;
}

void rounds_launch_keep_log(struct cell *cell, const struct launch *launch)
{
    cell->memory_limit_bytes = launch->memory_limit_bytes;
    if (!launch->log || (cell->log && !cell_state_is_bad(launch->state)))
        return;
    free(cell->log);
    cell->log = alloc_text(launch->log);
}

struct launch rounds_launch(struct rounds *rounds, const struct protocol_request *request,
                            double deadline_s)
{
    const double start = clock_now();
    tensors_file_move(&rounds->operands, request->shift);
    const double moved = clock_now();
    struct launch launch = launch_worker(request, deadline_s);
    if (rounds->record) {
        rounds->record->time.preparing_s += moved - start;
        note_work(&rounds->record->time, request->action, &launch);
    }
    return launch;
}

/* ---- what is shown and written --------------------------------------------------------------- */

/* The share of cells that are finished, 0 to 1. */
static double share_done(const struct session *session)
{
    size_t done = 0;
    for (size_t i = 0; i < session->cell_count; i++)
        done += session->cells[i].row != NULL;
    return (double)done / (double)session->cell_count;
}

void rounds_launch_say(const struct rounds *rounds, const struct cell *cell, const char *what)
{
    if (!rounds->record)
        return;
    const struct session *session = rounds->session;
    const struct problem_case *c = rounds->cells[0].c;
    const double elapsed_s = clock_now() - rounds->record->started;
    const double share = fmax(share_done(session), fmin(0.99, elapsed_s / rounds->needed_s));
    char variant[96] = "", text[320];
    snprintf(text, sizeof text, "%s", what);
    if (cell) {
        cell_variant(cell, variant);
        message_add(text, sizeof text, "  %s  %d thr", variant, cell->threads);
    }
    message_add(text, sizeof text, "  case %zu of %zu  %s", (size_t)(c - session->cases.items) + 1,
                session->cases.count, c->name);
    if (cell)
        report_live(rounds->cells, rounds->count, cell, share, rounds->needed_s - elapsed_s, text);
    else
        progress_show("", share, rounds->needed_s - elapsed_s, text);
}

/* Writes a row and prints it as a line, but not what the end of a check reports for all cases together, nor drawn
 * problems on which no kernel fails. */
static bool write_row(const struct rounds *rounds, const struct cell *cell)
{
    char text[1024];
    if (!record_write(rounds->record, json_incref(cell->row), true))
        return false;
    if ((rounds->action == PROTOCOL_CHECK && report_absent_all(cell, 1)) ||
        (cell->state == CELL_OK && session_drew(rounds->session, cell->c)))
        return true;
    report_line(cell, text, sizeof text);
    progress_line("%3.0f %%  %s", 100 * share_done(rounds->session), text);
    return true;
}

bool rounds_launch_finish(struct rounds *rounds, struct cell *cell)
{
    if (cell->row)
        return true;
    return row_finish(cell, rounds->command, rounds->session->seed) &&
           (!rounds->record || write_row(rounds, cell));
}
