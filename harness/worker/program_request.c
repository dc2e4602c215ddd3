/*
 * program_request: requests to programs as JSON, and their answers; a bad one ends the launch.
 */
#include "program_copy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/members.h"
#include "base/number.h"
#include "base/message.h"
#include "base/shell_words.h"
#include "problem/capabilities.h"

#define VERSION 1
#define DESCRIBE_S 15.0 /* as docs/protocol.md states */

/* ---- requests -------------------------------------------------------------------------------- */

json_t *program_request_plain(const char *action)
{
    return json_pack("{s:i, s:s}", "protocol", VERSION, "action", action);
}

/* Masks, options and outputs, named as in capabilities. */
static void set_words(json_t *shape, const struct attn_problem *p)
{
    const struct attn_caps caps = {.masks = p->mask, .options = p->options, .outputs = p->outputs};
    json_t *words = capabilities_json(&caps);
    json_object_set(shape, "mask", json_object_get(words, "masks"));
    json_object_set(shape, "options", json_object_get(words, "options"));
    json_object_set(shape, "outputs", json_object_get(words, "outputs"));
    json_decref(words);
}

static json_t *shape_of(const struct attn_problem *p)
{
    json_t *shape = json_pack(
        "{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:s, s:I, s:I, "
        "s:I}",
        "batch", (json_int_t)p->batch, "q_heads", (json_int_t)p->q_heads, "kv_heads",
        (json_int_t)p->kv_heads, "q_len", (json_int_t)p->q_len, "kv_len", (json_int_t)p->kv_len,
        "qk_dim", (json_int_t)p->qk_dim, "v_dim", (json_int_t)p->v_dim, "dtype",
        attn_dtype_name(p->dtype), "kv_dtype", attn_dtype_name(p->kv_dtype), "scale",
        (double)attn_problem_scale(p), "softcap", (double)p->softcap, "window_left",
        (json_int_t)p->window_left, "window_right", (json_int_t)p->window_right, "page_size",
        (json_int_t)p->page_size, "layout", p->layout == ATTN_BSHD ? "bshd" : "bhsd", "kv_group",
        (json_int_t)p->kv_group, "index_count", (json_int_t)p->index_count, "index_block",
        (json_int_t)p->index_block);
    set_words(shape, p);
    return shape;
}

json_t *program_request_prepare(const struct protocol_request *r, const struct program_copy *copy,
                                const struct attn_problem *problem, const char *text, size_t sets)
{
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:o, s:i, s:o, s:i, s:I}", "protocol", VERSION,
                     "action", "prepare", "kernel", r->kernel, "isa", attn_isa_name(r->isa),
                     "problem", text, "shape", shape_of(problem), "threads", copy->threads, "cpus",
                     number_integers(copy->cpus, copy->cpu_count), "file", PROCESS_FIRST_FILE_FD,
                     "sets", (json_int_t)sets);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Parses an answer and its state: CELL_OK, CELL_UNSUPPORTED, CELL_UNAVAILABLE or CELL_FAILED.  NULL fills
 * why: the line is no answer. */
static json_t *parse_answer(const char *line, enum cell_state *state, struct message why)
{
    static const enum cell_state known[] = {CELL_OK, CELL_UNSUPPORTED, CELL_UNAVAILABLE,
                                            CELL_FAILED};
    json_error_t error;
    enum cell_state said;
    json_t *answer = json_loads(line, 0, &error);
    const bool stated = cell_state_parse(member_text(answer, "state"), &said);
    const bool version = json_integer_value(json_object_get(answer, "protocol")) == VERSION;
    for (size_t i = 0; stated && version && i < sizeof known / sizeof *known; i++)
        if (said == known[i]) {
            *state = said;
            return answer;
        }
    *state = CELL_CRASHED;
    message_print(why, "answers %.60s%s, which %s", line, strlen(line) > 60 ? "..." : "",
                  !answer    ? "is not JSON"
                  : !version ? "is not of protocol 1"
                             : "has no state");
    json_decref(answer);
    return NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* The answer to a request, which is freed; NULL fills why and *state. */
static json_t *ask(struct process *process, json_t *request, double deadline_s,
                   enum cell_state *state, struct message why)
{
    const char *line;
    char *text = json_dumps(request, JSON_COMPACT);
    const enum process_end end =
        text ? process_ask(process, text, deadline_s, &line, why) : PROCESS_LOST;
    free(text);
    json_decref(request);
    *state = end == PROCESS_TIMEOUT       ? CELL_TIMEOUT
             : end == PROCESS_NOT_STARTED ? CELL_UNAVAILABLE
                                          : CELL_CRASHED;
    return end == PROCESS_ANSWERED ? parse_answer(line, state, why) : NULL;
}

json_t *program_request_demand(struct worker *worker, struct program_copy *copy, json_t *request,
                               double deadline_s, struct message refusal)
{
    char why[320];
    enum cell_state state;
    json_t *answer = ask(copy->process, request, deadline_s, &state, MESSAGE(why));
    if (!answer)
        worker_give_up(worker, state, "the program %s", why);
    if (state == CELL_OK)
        return answer;
    const char *reason = member_text(answer, "why");
    snprintf(why, sizeof why, "%s", *reason ? reason : "gives no reason");
    json_decref(answer);
    if (state == CELL_UNSUPPORTED && refusal.text) {
        message_print(refusal, "%s", why);
        return NULL;
    }
    if (state == CELL_UNAVAILABLE || state == CELL_UNSUPPORTED)
        worker_abandon(worker, state, "%s", why);
    worker_give_up(worker, state, "the program says: %s", why);
}

const char *const *program_request_arguments(const struct protocol_request *r)
{
    static struct shell_words words;
    return shell_words_split(r->arguments, &words) ? words.word : NULL;
}

json_t *program_request_describe(const struct protocol_request *request, enum cell_state *state,
                                 struct message why)
{
    const struct process_spec spec = {.program = request->plugin,
                                      .arguments = program_request_arguments(request)};
    struct process *process = process_open(&spec);
    char reason[320] = "describes no kernels";
    json_t *answer =
        ask(process, program_request_plain("describe"), DESCRIBE_S, state, MESSAGE(reason));
    json_t *list = json_object_get(answer, "kernels");
    json_t *kernels = json_is_array(list) ? json_incref(list) : NULL;
    if (answer) {
        const char *said = json_string_value(json_object_get(answer, "why"));
        if (*state != CELL_OK && said)
            snprintf(reason, sizeof reason, "says: %s", said);
        *state = CELL_UNAVAILABLE;
    }
    if (!kernels)
        message_print(why, "the program %s", reason);
    json_decref(answer);
    process_close(process);
    return kernels;
}

/* ---- environment ----------------------------------------------------------------------------- */

void program_request_environment(const struct program_copy *copy, bool bound,
                                 struct program_environment *e)
{
    static const char *const counts[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                         "MKL_NUM_THREADS", "BLIS_NUM_THREADS"};
    static const char *const fixed[] = {"OMP_DYNAMIC=false", "MKL_DYNAMIC=false",
                                        /* unset: meant for this process, or for another program */
                                        "OMP_WAIT_POLICY", "OMP_THREAD_LIMIT", "GOMP_CPU_AFFINITY",
                                        "GOMP_SPINCOUNT", "KMP_AFFINITY", "KMP_BLOCKTIME"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(e->text[i], sizeof e->text[i], "%s=%d", counts[i], copy->threads);
        e->variables[n++] = e->text[i];
    }
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        e->variables[n++] = fixed[i];
    snprintf(e->places, sizeof e->places, "OMP_PLACES=");
    for (size_t i = 0; i < copy->cpu_count; i++)
        message_add(e->places, sizeof e->places, "%s{%d}", i ? "," : "", copy->cpus[i]);
    e->variables[n++] = bound ? e->places : "OMP_PLACES";
    e->variables[n++] = bound ? "OMP_PROC_BIND=true" : "OMP_PROC_BIND=false";
    e->variables[n] = NULL;
}
