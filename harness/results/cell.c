/*
 * cell: a cell's identity, repro line and states.
 */
#include "cell.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/members.h"
#include "base/shell_words.h"

static const struct {
    const char *name, *meaning;
} states[CELL_STATE_COUNT] = {
    [CELL_OK] = {"ok", "the result is right"},
    [CELL_UNSUPPORTED] = {"unsupported", "the kernel does not compute this problem"},
    [CELL_UNAVAILABLE] = {"unavailable", "this build or this host does not have the variant"},
    [CELL_FAILED] = {"failed", "wrong result"},
    [CELL_IMPLAUSIBLE] = {"implausible", "faster than the machine can be"},
    [CELL_CRASHED] = {"crashed", "the worker process died"},
    [CELL_TIMEOUT] = {"timeout", "the worker process did not end in time"},
    [CELL_SKIPPED] = {"skipped", "not run: input or memory missing"},
};

const char *cell_state_name(enum cell_state state)
{
    return states[state].name;
}

const char *cell_state_meaning(enum cell_state state)
{
    return states[state].meaning;
}

bool cell_state_parse(const char *name, enum cell_state *state)
{
    for (int i = 0; name && i < CELL_STATE_COUNT; i++)
        if (strcmp(states[i].name, name) == 0) {
            *state = (enum cell_state)i;
            return true;
        }
    return false;
}

bool cell_state_is_bad(enum cell_state state)
{
    return state == CELL_IMPLAUSIBLE || cell_state_is_wrong(state);
}

bool cell_state_is_wrong(enum cell_state state)
{
    return state == CELL_FAILED || state == CELL_CRASHED || state == CELL_TIMEOUT;
}

void cell_init(struct cell *cell, const struct problem_case *c, const char *kernel_name,
               enum attn_isa isa)
{
    *cell = (struct cell){
        .c = c, .isa = isa, .threads = 1, .dependence = NAN, .launches = json_array()};
    snprintf(cell->kernel_name, sizeof cell->kernel_name, "%s", kernel_name);
}

void cell_init_like(struct cell *cell, const struct problem_case *c, const struct cell *like)
{
    cell_init(cell, c, like->kernel_name, like->isa);
    cell->kernel = like->kernel;
    cell->guest = like->guest;
    cell->threads = like->threads;
    cell->setting = like->setting;
}

/* Whether kernel, instruction set and plug-in are the same. */
static bool same_code(const struct cell *a, const struct cell *b)
{
    return a->isa == b->isa && a->guest == b->guest && strcmp(a->kernel_name, b->kernel_name) == 0;
}

bool cell_same_variant(const struct cell *a, const struct cell *b)
{
    return a->setting.name == b->setting.name && same_code(a, b);
}

bool cell_is_partner(const struct cell *a, const struct cell *b)
{
    return a->setting.name != b->setting.name && a->c == b->c && a->threads == b->threads &&
           same_code(a, b);
}

struct attn_work cell_work(const struct cell *cell)
{
    const struct attn_problem *p = &cell->c->problem;
    if (cell->work.bytes > 0)
        return cell->work;
    return (struct attn_work){attn_visible_pairs(p), attn_useful_flops(p),
                              attn_compulsory_bytes(p)};
}

void cell_set_work(struct cell *cell, const json_t *counted)
{
    const double flops = member_number(counted, "useful_flops");
    const double bytes = member_number(counted, "compulsory_bytes");
    const double dims = (double)(cell->c->problem.qk_dim + cell->c->problem.v_dim);
    if (flops >= 0 && bytes > 0)
        cell->work = (struct attn_work){flops / dims / 2, flops, bytes};
}

void cell_free(struct cell *cell)
{
    json_decref(cell->check);
    json_decref(cell->launches);
    json_decref(cell->row);
    json_decref(cell->blas);
    free(cell->log);
}

void cell_end(struct cell *cell, enum cell_state state, const char *why, ...)
{
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(cell->why, sizeof cell->why, why, arguments);
    va_end(arguments);
    cell->state = state;
    cell->done = true;
}

void cell_forget_errors(struct cell *cell)
{
    json_object_set_new(cell->check, "max_abs_error", json_null());
    json_object_set_new(cell->check, "error_over_bound", json_null());
}

void cell_inherit(struct cell *cell, enum cell_state state, int threads, const char *why)
{
    cell_end(cell, state, "at %d thread%s: %s", threads, threads > 1 ? "s" : "", why);
    cell->failed_at = threads;
    cell_forget_errors(cell);
    json_decref(cell->row);
    cell->row = NULL;
}

json_t *cell_identity(const struct cell *cell)
{
    char problem[PARSE_TEXT], input[PARSE_TEXT];
    parse_print_problem(&cell->c->problem, problem);
    parse_print_input(&cell->c->input, input);
    const struct guest *guest = cell->guest;
    char plugin[GUEST_DIGEST + 1 + GUEST_ARGUMENTS] = ""; /* the rivals have no digest */
    if (guest && *guest->digest)
        snprintf(plugin, sizeof plugin, "%s%s%s", guest->digest, *guest->arguments ? " " : "",
                 guest->arguments);
    const struct setting *how = &cell->setting;
    return json_pack("{s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:s, s:b, s:s, s:s?, s:s*, s:s*}",
                     "problem", problem, "case", cell->c->name, "kernel", cell->kernel_name, "isa",
                     attn_isa_name(cell->isa), "threads", cell->threads, "input", input,
                     "placement", machine_placements[how->placement], "memory",
                     machine_memories[how->memory], "huge_pages", (int)how->huge_pages, "cache",
                     how->cold ? "cold" : "warm", "plugin", *plugin ? plugin : NULL, "environment",
                     how->environment, "setting", how->name);
}

/* ---- the repro line --------------------------------------------------------------------------- */

void cell_repro(const struct cell *cell, const char *command, char text[CELL_REPRO])
{
    char problem[PARSE_TEXT], input[PARSE_TEXT], both[2 * PARSE_TEXT + 8], word[CELL_WORD];
    char with[16] = "", plugin[CELL_PATH] = "", setting[SETTING_TEXT];
    char of_guest[GUEST_TEXT];
    parse_print_problem(&cell->c->problem, problem);
    parse_print_input(&cell->c->input, input);
    if (cell->failed_at)
        snprintf(with, sizeof with, ",%d", cell->failed_at);
    if (cell->guest && !cell->guest->rivals) {
        const size_t n = (size_t)snprintf(plugin, CELL_PATH, " --plugin ");
        shell_words_quote(catalogue_guest_text(cell->guest, of_guest), plugin + n, CELL_PATH - n);
    }
    snprintf(both, sizeof both, "%s input=%s", problem, input);
    shell_words_quote(both, word, sizeof word);
    setting_text(&cell->setting, setting);
    snprintf(text, CELL_REPRO, "attnbench %s%s --problem %s --kernel %s --isa %s --threads %d%s %s",
             command, plugin, word, cell->kernel_name, attn_isa_name(cell->isa), cell->threads,
             with, setting);
}

void cell_variant(const struct cell *cell, char text[96])
{
    const char *setting = cell->setting.name;
    snprintf(text, 96, "%s/%s%s%s", cell->kernel_name, attn_isa_name(cell->isa), setting ? " " : "",
             setting ? setting : "");
}
