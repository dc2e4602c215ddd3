/*
 * worker_answer: sets states and reasons, and abandons actions.
 */
#include "worker.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/printable.h"
#include "check/check.h"
#include "system/aftermath.h"
#include "system/fault.h"

void worker_stage(const char *what)
{
    fault_stage(what, "", "");
}

void worker_end(struct worker *worker, enum cell_state state, const char *why, ...)
{
    char text[CELL_WHY], shown[CELL_WHY];
    va_list arguments;
    aftermath_settle();
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    printable(text, strlen(text), shown, sizeof shown); /* it may quote a kernel */
    json_object_set_new(worker->answer, "state", json_string(cell_state_name(state)));
    json_object_set_new(worker->answer, "why", json_string(shown));
}

void worker_abandon(struct worker *worker, enum cell_state state, const char *why, ...)
{
    char text[CELL_WHY];
    va_list arguments;
    aftermath_settle(); /* before numbers are printed */
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    worker_end(worker, state, "%s", text);
    longjmp(worker->abandoned, 1);
}

void worker_give_up(struct worker *worker, enum cell_state state, const char *why, ...)
{
    char text[400], stage[200];
    va_list arguments;
    va_start(arguments, why);
    vsnprintf(text, sizeof text, why, arguments);
    va_end(arguments);
    fault_told(stage, sizeof stage);
    worker_abandon(worker, state, "%s%s%s", text, *stage ? ", while " : "", stage);
}

json_t *worker_answer_check(const struct check_result *result)
{
    return json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:I}", "max_abs_error", number_json(result->max_abs_error),
        "error_over_bound", number_json(result->error_over_bound), "hardest_over_bound",
        number_json(result->hardest_over_bound), "hardest", result->hardest, "rms_ratio",
        result->rms_ratio > 0 ? number_json(result->rms_ratio) : json_null(), "rows",
        (json_int_t)result->rows);
}
