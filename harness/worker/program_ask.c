/*
 * program_ask: sends a request to a program, and ends the launch on a bad answer.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/shell_words.h"
#include "program_copy.h"

#define DESCRIBE_S 15.0 /* as docs/protocol.md states */

/* The answer to a request, which is freed; NULL fills why and *state. */
static json_t *ask(struct process *process, json_t *request, double deadline_s,
                   enum cell_state *state, char *why, size_t why_size)
{
    const char *line;
    char *text = json_dumps(request, JSON_COMPACT);
    const enum process_end end =
        text ? process_ask(process, text, deadline_s, &line, why, why_size) : PROCESS_LOST;
    free(text);
    json_decref(request);
    *state = end == PROCESS_TIMEOUT       ? CELL_TIMEOUT
             : end == PROCESS_NOT_STARTED ? CELL_UNAVAILABLE
                                          : CELL_CRASHED;
    return end == PROCESS_ANSWERED ? program_request_answer(line, state, why, why_size) : NULL;
}

json_t *program_demand(struct worker *worker, struct program_copy *copy, json_t *request,
                       double deadline_s, char *refusal, size_t refusal_size)
{
    char why[320];
    enum cell_state state;
    json_t *answer = ask(copy->process, request, deadline_s, &state, why, sizeof why);
    if (!answer)
        worker_give_up(worker, state, "the program %s", why);
    if (state == CELL_OK)
        return answer;
    const char *reason = text_at(answer, "why");
    snprintf(why, sizeof why, "%s", *reason ? reason : "gives no reason");
    json_decref(answer);
    if (state == CELL_UNSUPPORTED && refusal) {
        snprintf(refusal, refusal_size, "%s", why);
        return NULL;
    }
    if (state == CELL_UNAVAILABLE || state == CELL_UNSUPPORTED)
        worker_abandon(worker, state, "%s", why);
    worker_give_up(worker, state, "the program says: %s", why);
}

const char *const *program_arguments(const struct protocol_request *r)
{
    static struct shell_words words;
    return shell_words_split(r->arguments, &words) ? words.word : NULL;
}

json_t *program_copy_describe(const struct protocol_request *request, enum cell_state *state,
                              char *why, size_t why_size)
{
    const struct process_spec spec = {.program = request->plugin,
                                      .arguments = program_arguments(request)};
    struct process *process = process_open(&spec);
    char reason[320] = "describes no kernels";
    json_t *answer =
        ask(process, program_request_plain("describe"), DESCRIBE_S, state, reason, sizeof reason);
    json_t *list = json_object_get(answer, "kernels");
    json_t *kernels = json_is_array(list) ? json_incref(list) : NULL;
    if (answer) {
        const char *said = json_string_value(json_object_get(answer, "why"));
        if (*state != CELL_OK && said)
            snprintf(reason, sizeof reason, "says: %s", said);
        *state = CELL_UNAVAILABLE;
    }
    if (!kernels)
        snprintf(why, why_size, "the program %s", reason);
    json_decref(answer);
    process_close(process);
    return kernels;
}
