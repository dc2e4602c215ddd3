/*
 * real: runs x, weights and biases of a layer from a file through our layer.
 */
#include "real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "experiments/shared/grid.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_call.h"
#include "file.h"
#include "time.h"
#include "base/number.h"

static json_t *params_of(const json_t *step, const struct layer_file *file,
                         const struct layer_call *call)
{
    const struct attn_kernel *kernel = call->plan.attention.kernel;
    const struct attn_self_attention *l = &file->layer;
    return json_pack("{s:s, s:O, s:O, s:O, s:s, s:s, s:i, s:I, s:I, s:I, s:I}", "part", "real",
                     "file", json_object_get(step, "file"), "prefix",
                     json_object_get(step, "prefix"), "mask", json_object_get(step, "mask"),
                     "kernel", kernel->name, "isa", attn_isa_name(kernel->isa), "threads",
                     call->plan.threads, "batch", (json_int_t)l->batch, "s", (json_int_t)l->len,
                     "d_model", (json_int_t)l->d_in, "heads", (json_int_t)l->heads);
}

/* One kernel; NULL fills work->message. */
static json_t *run(const json_t *step, const struct layer_file *file, const char *kernel, float *y,
                   struct experiment_work *work)
{
    const size_t rounds = (size_t)json_integer_value(json_object_get(step, "rounds"));
    const struct attn_self_attention_tensors tensors = layer_file_tensors(file, y);
    struct layer_call call;
    if (!layer_call_open(&call, &file->layer, kernel, work))
        return NULL;
    json_t *row = NULL, *values = layer_time(&call, &tensors, rounds);
    if (values) {
        json_object_set_new(values, "difference", number_json(layer_file_difference(file, y)));
        json_object_set_new(values, "tolerance", number_json(layer_file_tolerance(file)));
        row = experiment_row(params_of(step, file, &call), values);
    } else {
        snprintf(work->message, sizeof work->message, "out of memory");
    }
    layer_call_close(&call);
    return row;
}

json_t *layer_real_rows(const json_t *step, struct experiment_work *work)
{
    struct layer_file file;
    const size_t heads = (size_t)json_integer_value(json_object_get(step, "file-heads"));
    if (!layer_file_open(&file, experiment_text(step, "file"), experiment_text(step, "prefix"),
                         heads, work->message, sizeof work->message))
        return NULL;
    if (strcmp(experiment_text(step, "mask"), "causal") == 0)
        file.layer.mask = ATTN_MASK_CAUSAL;
    float *y = malloc((layer_file_outputs(&file) + 1) * sizeof *y);
    json_t *rows = json_array(), *row = NULL;
    if (!y)
        snprintf(work->message, sizeof work->message, "out of memory");
    for (const char *const *name = kernel_call_names(); y && *name; name++) {
        if (!(row = run(step, &file, *name, y, work)))
            break;
        json_array_append_new(rows, row);
    }
    free(y);
    layer_file_close(&file);
    if (row)
        return rows;
    json_decref(rows);
    return NULL;
}

bool layer_real_report(const json_t *rows)
{
    static const struct table_column columns[] = {
        {"kernel", 0, true},        {"tokens", 0, false},
        {"d_model", 0, false},      {"difference", 0, false},
        {"allowed", 1, false},      {"", 0, true},
        {"attention", 0, false},    {"attention's share", 0, false},
        {"95 % interval", 1, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 9};
    struct experiment_part part = {.rows = rows, .name = "real"};
    char heading[TABLE_CELL * 2] = "";
    bool right = true;
    while (experiment_part_next(&part)) {
        const double difference = experiment_number(part.values, "difference");
        const double tolerance = experiment_number(part.values, "tolerance");
        const bool known = isfinite(difference), same = !known || difference <= tolerance;
        right &= same;
        snprintf(heading, sizeof heading, "layer %s of %s, beside the output in the file",
                 experiment_text(part.params, "prefix"), experiment_text(part.params, "file"));
        grid_row(&grid);
        grid_text(&grid, "%s", experiment_text(part.params, "kernel"));
        grid_number(&grid, "%.0f", experiment_number(part.params, "s"));
        grid_number(&grid, "%.0f", experiment_number(part.params, "d_model"));
        grid_number(&grid, "%.2g", difference);
        grid_number(&grid, "%.2g", known ? tolerance : NAN);
        grid_text(&grid, "%s", !known ? "no output" : same ? "ok" : "DIFFERS");
        grid_number(&grid, "%.1f us", 1e6 * experiment_number(part.values, "attend_s"));
        grid_number(&grid, "%.1f%%", 100 * experiment_number(part.values, "attention_share"));
        grid_range(&grid, "%.3f", experiment_at_number(part.values, "ci95", 0),
                   experiment_at_number(part.values, "ci95", 1));
        grid_style(&grid, same ? TABLE_PLAIN : TABLE_BAD);
    }
    grid_print(&grid, heading);
    return right;
}
