/*
 * layer_file: shapes of a layer are taken from x, wq, wv and o, and every other tensor must agree.
 */
#include "layer_file.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "problem/cases.h"

/* Tolerance, as a share of the output's largest element: sums of 384 float32 products, twice, were
 * seen to differ by 8e-7 of it (all-MiniLM-L6-v2, Zen 4, 2026-11-21), and this is ten times that.
 * It grows in proportion to the length of the sums. */
#define MATCH 8e-6
#define MATCH_D_IN 384.0

static const struct {
    const char *name;
    const char *linear; /* what a state_dict of PyTorch has instead, weights as (output, input) */
    bool needed;
    size_t batched; /* dimensions, of which the first may be left out; 0: all are needed */
} tensors[LAYER_TENSORS] = {
    [LAYER_X] = {.name = "x", .needed = true, .batched = 3},
    [LAYER_WQ] = {.name = "wq", .linear = "wq.weight", .needed = true},
    [LAYER_WK] = {.name = "wk", .linear = "wk.weight", .needed = true},
    [LAYER_WV] = {.name = "wv", .linear = "wv.weight", .needed = true},
    [LAYER_BQ] = {.name = "bq", .linear = "wq.bias"},
    [LAYER_BK] = {.name = "bk", .linear = "wk.bias"},
    [LAYER_BV] = {.name = "bv", .linear = "wv.bias"},
    [LAYER_WO] = {.name = "wo", .linear = "wo.weight"},
    [LAYER_BO] = {.name = "bo", .linear = "wo.bias"},
    [LAYER_O] = {.name = "o", .batched = 4},
    [LAYER_Y] = {.name = "y", .batched = 3},
};

#define NAME 256 /* of a tensor, with its prefix */

/* A file that is being read. */
struct reader {
    const char *path, *prefix;
    const struct safetensor *found[LAYER_TENSORS]; /* NULL, or the tensor in `as` */
    struct safetensor as[LAYER_TENSORS];           /* with the dimensions that a layer has */
    bool turned[LAYER_TENSORS];                    /* stored as (output, input) */
    struct experiment_work *work;
};

static bool refuse(const struct reader *r, enum layer_tensor which, const char *wanted)
{
    char shape[SAFETENSORS_SHAPE_TEXT];
    safetensors_print_shape(r->found[which], shape);
    return experiment_fail(r->work, "%s: %s%s is %s, not %s", r->path, r->prefix,
                           tensors[which].name, shape, wanted);
}

static const struct safetensor *find(const struct reader *r, const struct safetensors *file,
                                     const char *name, char full[NAME])
{
    snprintf(full, NAME, "%s%s", r->prefix, name);
    return safetensors_find(file, full);
}

/* A tensor with the dimensions that a layer has, of whatever it was stored with. */
static void use(struct reader *r, int i, const struct safetensor *t, bool linear)
{
    struct safetensor *as = &r->as[i];
    *as = *t;
    if ((r->turned[i] = linear && t->rank == 2)) {
        as->shape[0] = t->shape[1];
        as->shape[1] = t->shape[0];
    }
    if (tensors[i].batched && t->rank + 1 == tensors[i].batched) {
        memmove(as->shape + 1, as->shape, t->rank * sizeof *as->shape);
        as->shape[0] = 1;
        as->rank++;
    }
    r->found[i] = as;
}

static bool find_tensors(struct reader *r, const struct safetensors *file)
{
    for (int i = 0; i < LAYER_TENSORS; i++) {
        char name[NAME];
        bool linear = false;
        const struct safetensor *t =
            tensors[i].linear ? find(r, file, tensors[i].linear, name) : NULL;
        const struct safetensor *plain = find(r, file, tensors[i].name, name);
        if (!plain)
            linear = t;
        else
            t = plain;
        if (t)
            use(r, i, t, linear);
        else if (tensors[i].needed) {
            experiment_fail(r->work, "%s: there is no tensor %s; a layer has %sx, wq, wk and wv",
                            r->path, name, r->prefix);
            return false;
        }
    }
    return true;
}

/* Whether a tensor has this shape, or is not there. */
static bool has_shape(const struct reader *r, enum layer_tensor which, const size_t *shape,
                      size_t rank)
{
    struct safetensor wanted = {.format = "floating-point", .rank = rank};
    char text[SAFETENSORS_SHAPE_TEXT];
    if (!r->found[which] || safetensors_is_shape(r->found[which], shape, rank))
        return true;
    memcpy(wanted.shape, shape, rank * sizeof *shape);
    safetensors_print_shape(&wanted, text);
    return refuse(r, which, text);
}

/* Lengths from x, wq and wv, which have the right rank, and heads. */
static bool read_lengths(const struct reader *r, size_t heads, struct attn_self_attention *l)
{
    const struct safetensor *const *t = r->found;
    if (t[LAYER_X]->rank != 3)
        return refuse(r, LAYER_X, "floating-point (B,S,d_in)");
    for (int i = LAYER_WQ; i <= LAYER_WV; i++)
        if (t[i]->rank != 2)
            return refuse(r, (enum layer_tensor)i, "floating-point (d_in,H*D)");
    if (t[LAYER_WO] && t[LAYER_WO]->rank != 2)
        return refuse(r, LAYER_WO, "floating-point (H*D,d_out)");
    if (t[LAYER_O] && t[LAYER_O]->rank != 4)
        return refuse(r, LAYER_O, "floating-point (B,H,S,D)");
    if (!heads && t[LAYER_O])
        heads = t[LAYER_O]->shape[1];
    const size_t wide[] = {t[LAYER_WQ]->shape[1], t[LAYER_WV]->shape[1]};
    if (!heads)
        return experiment_fail(
            r->work,
            "%s: the number of heads in the %zu and %zu columns of %swq and %swv "
            "is unknown; without a tensor o, --file-heads gives it",
            r->path, wide[0], wide[1], r->prefix, r->prefix);
    if (wide[0] % heads || wide[1] % heads)
        return experiment_fail(
            r->work, "%s: %zu and %zu columns of %swq and %swv do not divide into %zu heads",
            r->path, wide[0], wide[1], r->prefix, r->prefix, heads);
    *l = (struct attn_self_attention){.size = sizeof *l,
                                      .batch = t[LAYER_X]->shape[0],
                                      .len = t[LAYER_X]->shape[1],
                                      .d_in = t[LAYER_X]->shape[2],
                                      .heads = heads,
                                      .qk_dim = wide[0] / heads,
                                      .v_dim = wide[1] / heads,
                                      .d_out = t[LAYER_WO] ? t[LAYER_WO]->shape[1] : 0};
    return true;
}

static bool check_shapes(const struct reader *r, const struct attn_self_attention *l)
{
    const size_t qk = l->heads * l->qk_dim, v = l->heads * l->v_dim;
    const size_t x[] = {l->batch, l->len, l->d_in}, wq[] = {l->d_in, qk}, wv[] = {l->d_in, v};
    const size_t wo[] = {v, l->d_out}, o[] = {l->batch, l->heads, l->len, l->v_dim};
    const size_t y[] = {l->batch, l->len, l->d_out ? l->d_out : v};
    const struct {
        enum layer_tensor which;
        const size_t *shape;
        size_t rank;
    } wanted[] = {{LAYER_X, x, 3},       {LAYER_WQ, wq, 2},     {LAYER_WK, wq, 2},
                  {LAYER_WV, wv, 2},     {LAYER_BQ, wq + 1, 1}, {LAYER_BK, wq + 1, 1},
                  {LAYER_BV, wv + 1, 1}, {LAYER_WO, wo, 2},     {LAYER_BO, wo + 1, 1},
                  {LAYER_O, o, 4},       {LAYER_Y, y, 3}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!has_shape(r, wanted[i].which, wanted[i].shape, wanted[i].rank))
            return false;
    return true;
}

float *layer_file_copy(const struct safetensor *tensor, bool turned, struct experiment_work *work)
{
    const size_t rows = tensor->shape[0], cols = turned ? tensor->shape[1] : 1;
    size_t n = 1;
    for (size_t i = 0; i < tensor->rank; i++)
        n *= tensor->shape[i];
    float *x = experiment_alloc(work, n, sizeof *x);
    if (!x)
        experiment_fail(work, "out of memory");
    for (size_t i = 0; x && i < n; i++)
        x[i] = (float)safetensors_get(tensor, turned ? i % cols * rows + i / cols : i);
    return x;
}

static enum layer_tensor output_of(const struct layer_file *file)
{
    return file->data[LAYER_Y] || file->layer.d_out ? LAYER_Y : LAYER_O;
}

static bool read_data(const struct reader *r, struct layer_file *file)
{
    for (int i = 0; i < LAYER_TENSORS; i++)
        if (r->found[i] && !(file->data[i] = layer_file_copy(r->found[i], r->turned[i], r->work)))
            return false;
    const struct safetensor *output = r->found[output_of(file)];
    file->dtype = output ? output->dtype : ATTN_F32;
    return true;
}

struct safetensors *layer_file_in(const char *path, struct experiment_work *work)
{
    char found[CASES_PATH];
    return cases_find_file(path, found, work->message, sizeof work->message)
               ? safetensors_open(found, work->message, sizeof work->message)
               : NULL;
}

bool layer_file_open(struct layer_file *file, const char *path, const char *prefix, size_t heads,
                     struct experiment_work *work)
{
    struct reader r = {.path = path, .prefix = prefix, .work = work};
    struct safetensors *in = layer_file_in(path, work);
    *file = (struct layer_file){0};
    const bool right = in && find_tensors(&r, in) && read_lengths(&r, heads, &file->layer) &&
                       check_shapes(&r, &file->layer) && read_data(&r, file);
    safetensors_close(in);
    return right;
}

struct attn_self_attention_tensors layer_file_tensors(const struct layer_file *file, float *y)
{
    float *const *d = file->data;
    return (struct attn_self_attention_tensors){
        .size = sizeof(struct attn_self_attention_tensors),
        .x = d[LAYER_X],
        .wq = d[LAYER_WQ],
        .wk = d[LAYER_WK],
        .wv = d[LAYER_WV],
        .bq = d[LAYER_BQ],
        .bk = d[LAYER_BK],
        .bv = d[LAYER_BV],
        .wo = d[LAYER_WO],
        .bo = d[LAYER_BO],
        .y = y,
    };
}

size_t layer_file_outputs(const struct layer_file *file)
{
    const struct attn_self_attention *l = &file->layer;
    return l->batch * l->len * (l->d_out ? l->d_out : l->heads * l->v_dim);
}

/* Element i of the layer's output, as the file has it: o is (B, H, S, D) and y is (B, S, H * D). */
static double expected(const struct layer_file *file, size_t i)
{
    const struct attn_self_attention *l = &file->layer;
    if (output_of(file) == LAYER_Y)
        return (double)file->data[LAYER_Y][i];
    const size_t d = i % l->v_dim, h = i / l->v_dim % l->heads, row = i / l->v_dim / l->heads;
    const size_t b = row / l->len, s = row % l->len;
    return (double)file->data[LAYER_O][((b * l->heads + h) * l->len + s) * l->v_dim + d];
}

double layer_file_difference(const struct layer_file *file, const float *y)
{
    const size_t n = layer_file_outputs(file);
    double worst = 0;
    if (!file->data[output_of(file)])
        return NAN;
    for (size_t i = 0; i < n; i++) {
        const double e = fabs((double)y[i] - expected(file, i));
        worst = e <= worst ? worst : e;
    }
    return worst;
}

double layer_file_allowed(double largest, size_t d_in, enum attn_dtype dtype)
{
    const double unit = dtype == ATTN_BF16 ? 0x1p-8 : dtype == ATTN_F16 ? 0x1p-11 : 0;
    return largest * (MATCH * fmax(1, (double)d_in / MATCH_D_IN) + unit);
}

double layer_file_tolerance(const struct layer_file *file)
{
    const size_t n = file->data[output_of(file)] ? layer_file_outputs(file) : 0;
    double largest = 0;
    for (size_t i = 0; i < n; i++) {
        const double size = fabs(expected(file, i));
        largest = size > largest ? size : largest; /* GCC 12.2 for AArch64 fails at fmax() here */
    }
    return layer_file_allowed(largest, file->layer.d_in, file->dtype);
}
