/*
 * layer: a trained layer, computed by every kernel and compared with the output in its file.
 */
#include <math.h>

#include "experiment.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/layer_file.h"
#include "results/report.h"

static const char *const masks[] = {"none", "causal", NULL};

static const struct option parameters[] = {
    {"file", "PATH", "minilm-preamble.safetensors", NULL,
     "safetensors with PREFIXx, wq, wk, wv [, context, bq, bk, bv, wo, bo, o or y]; or wq.weight, "
     "wq.bias and so on of torch.nn.Linear; or the state_dict of a torch.nn.MultiheadAttention "
     "(in_proj_weight and so on) with x and y added, as (batch, sequence, ...): batch_first=True",
     .kind = OPTION_TEXT},
    {"prefix", "TEXT", "layer1.", NULL, "prefix of the file's tensors", .kind = OPTION_TEXT},
    {"file-heads", "N", "0", NULL, "heads of the file's layer; 0: as its o says",
     .kind = OPTION_COUNT, .lo = 0, .hi = 65536},
    {"mask", "WORD", "none", NULL, "mask of the file's layer: none, causal", .kind = OPTION_WORD,
     .words = masks},
    {0},
};

static void plan(const json_t *asked, json_t *steps)
{
    json_array_append_new(steps, experiment_pick(json_pack("{s:s}", "part", "real"), asked,
                                                 "file prefix file-heads mask"));
}

/* Elements of the output. */
static size_t outputs_of(const struct layer_file *file)
{
    const struct attn_self_attention *l = &file->layer;
    return l->batch * l->len * (l->d_out ? l->d_out : l->heads * l->v_dim);
}

/* Element i of the layer's output in the file: o (B, H, S, D) or y (B, S, H * D). */
static double expected(const struct layer_file *file, size_t i)
{
    const struct attn_self_attention *l = &file->layer;
    if (file->output == LAYER_Y)
        return (double)file->data[LAYER_Y][i];
    const size_t d = i % l->v_dim, h = i / l->v_dim % l->heads, row = i / l->v_dim / l->heads;
    const size_t b = row / l->len, s = row % l->len;
    return (double)file->data[LAYER_O][((b * l->heads + h) * l->len + s) * l->v_dim + d];
}

/* The largest difference of an output from the file's; NaN if the file has none. */
static double difference_of(const struct layer_file *file, const float *y)
{
    const size_t n = outputs_of(file);
    double worst = 0;
    if (!file->data[file->output])
        return NAN;
    for (size_t i = 0; i < n; i++)
        worst = experiment_larger(worst, fabs((double)y[i] - expected(file, i)));
    return worst;
}

/* The largest difference that rounding explains. */
static double tolerance_of(const struct layer_file *file)
{
    const size_t n = file->data[file->output] ? outputs_of(file) : 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(expected(file, i));
        largest = size > largest ? size : largest; /* GCC 12.2 for AArch64 fails at fmax() here */
    }
    return layer_file_allowed(largest, file->layer.d_in, file->dtype);
}

/* Adds a row: how far a kernel's output is from the file's. */
static bool add_kernel(const json_t *s, const struct layer_file *file, const char *kernel, float *y,
                       json_t *rows, struct experiment_work *work)
{
    const struct attn_self_attention_tensors tensors = layer_file_tensors(file, y);
    const struct attn_self_attention *l = &file->layer;
    struct layer_call call;
    if (!layer_call_open(&call, l, kernel, work))
        return false;
    attn_self_attention_execute(&call.plan, &tensors);
    const struct attn_kernel *ran = call.plan.attention.kernel;
    const double difference = difference_of(file, y), tolerance = tolerance_of(file);
    json_t *params =
        json_pack("{s:I, s:I, s:I, s:I, s:I}", "batch", (json_int_t)l->batch, "s",
                  (json_int_t)l->len, "skv", (json_int_t)(l->context_len ? l->context_len : l->len),
                  "d_model", (json_int_t)l->d_in, "heads", (json_int_t)l->heads);
    experiment_pick(params, s, "part file prefix mask");
    json_object_update_new(params,
                           json_pack("{s:s, s:s, s:i}", "kernel", ran->name, "isa",
                                     attn_isa_name(ran->isa), "threads", call.plan.threads));
    json_t *values = json_pack("{s:o, s:o}", "difference", number_json(difference), "tolerance",
                               number_json(tolerance));
    if (isfinite(difference))
        json_object_set_new(values, "ok", json_boolean(difference <= tolerance));
    experiment_add(rows, params, values);
    layer_call_close(&call);
    return true;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct layer_file file;
    if (!layer_file_open(&file, member_text(s, "file"), member_text(s, "prefix"),
                         experiment_count(s, "file-heads"), work))
        return false;
    if (experiment_is(s, "mask", "causal"))
        file.layer.mask = ATTN_MASK_CAUSAL;
    float *y = experiment_alloc(work, outputs_of(&file), sizeof *y);
    bool right = y;
    for (const char *const *kernel = kernel_call_names(); right && *kernel; kernel++)
        right = add_kernel(s, &file, *kernel, y, rows, work);
    return right;
}

static bool report(const json_t *rows)
{
    const size_t wrong = experiment_where(rows, "ok=false");
    const size_t compared = wrong + experiment_where(rows, "ok=true");
    experiment_list(rows, "part=real", "file prefix kernel isa s d_model difference tolerance ok",
                    "a layer beside the output in its file");
    if (wrong)
        report_sentence("The output of %zu of %zu kernels DIFFERS from the file's by more than "
                        "rounding explains.",
                        wrong, compared);
    else if (compared)
        report_sentence("The output of every kernel is within %.2g of the file's.",
                        experiment_extent(rows, NULL, "difference").most);
    else
        report_sentence("The file has no output to compare with.");
    return !wrong;
}

const struct calculation calculation_layer = {
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = report,
};
