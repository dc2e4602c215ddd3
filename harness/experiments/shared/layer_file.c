/*
 * layer_file: reads shapes from x, wq, wv and o; every other tensor must agree.
 */
#include "layer_file.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "problem/cases.h"

static const struct {
    const char *name;
    /* its names in a state_dict, as (output, input): torch.nn.Linear; torch.nn.MultiheadAttention with a kdim
     * or vdim; any other MultiheadAttention, where q, k and v share a tensor */
    const char *linear, *apart, *attention;
    bool needed;
    size_t batched; /* dimensions, of which the first may be left out; 0: all are needed */
} tensors[LAYER_TENSORS] = {
    [LAYER_X] = {.name = "x", .needed = true, .batched = 3},
    [LAYER_WQ] = {"wq", "wq.weight", "q_proj_weight", "in_proj_weight", .needed = true},
    [LAYER_WK] = {"wk", "wk.weight", "k_proj_weight", "in_proj_weight", .needed = true},
    [LAYER_WV] = {"wv", "wv.weight", "v_proj_weight", "in_proj_weight", .needed = true},
    [LAYER_BQ] = {"bq", "wq.bias", NULL, "in_proj_bias", .needed = false},
    [LAYER_BK] = {"bk", "wk.bias", NULL, "in_proj_bias", .needed = false},
    [LAYER_BV] = {"bv", "wv.bias", NULL, "in_proj_bias", .needed = false},
    [LAYER_WO] = {"wo", "wo.weight", NULL, "out_proj.weight", .needed = false},
    [LAYER_BO] = {"bo", "wo.bias", NULL, "out_proj.bias", .needed = false},
    [LAYER_O] = {.name = "o", .batched = 4},
    [LAYER_Y] = {.name = "y", .batched = 3},
    [LAYER_CONTEXT] = {.name = "context", .batched = 3},
};

/* Of a MultiheadAttention with add_bias_kv: an additional key and value, which is not supported. */
static const char *const refused[] = {"bias_k", "bias_v"};

/* A file that is being read. */
struct reader {
    const char *path, *prefix;
    const struct safetensor *found[LAYER_TENSORS]; /* NULL, or the tensor in `as` */
    struct safetensor as[LAYER_TENSORS];           /* with all of the layer's dimensions */
    bool turned[LAYER_TENSORS];                    /* stored as (output, input) */
    struct experiment_work *work;
};

static bool refuse_tensor(const struct reader *r, enum layer_tensor which, const char *wanted)
{
    char shape[SAFETENSORS_SHAPE_TEXT];
    safetensors_print_shape(r->found[which], shape);
    return experiment_fail(r->work, "%s: %s%s is %s, not %s", r->path, r->prefix,
                           tensors[which].name, shape, wanted);
}

/* Uses t as tensor i of the layer, with a batch of 1 where it has none; `linear`: it is (output, input). */
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

/* The third of a tensor's rows that belongs to q, k or v; false fills the message. */
static bool third(const struct reader *r, size_t which, const struct safetensor *whole,
                  struct safetensor *part)
{
    char shape[SAFETENSORS_SHAPE_TEXT];
    *part = *whole;
    part->bytes /= 3;
    part->shape[0] /= 3;
    part->data = (const char *)whole->data + which * part->bytes;
    if (whole->rank && whole->shape[0] % 3 == 0)
        return true;
    safetensors_print_shape(whole, shape);
    return experiment_fail(r->work, "%s: %s is %s, its rows are not those of q, k and v", r->path,
                           whole->name, shape);
}

static bool find_tensors(struct reader *r, const struct safetensors *file)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (safetensors_find(file, r->prefix, refused[i]))
            return experiment_fail(r->work,
                                   "%s: %s%s is not computed: a layer with add_bias_kv has a key "
                                   "and a value besides those of its input",
                                   r->path, r->prefix, refused[i]);
    for (int i = 0; i < LAYER_TENSORS; i++) {
        const char *const names[] = {tensors[i].name, tensors[i].linear, tensors[i].apart,
                                     tensors[i].attention};
        const size_t count = sizeof names / sizeof *names;
        const struct safetensor *t = NULL;
        struct safetensor part;
        size_t n = 0;
        for (; n < count && !t; n++)
            t = names[n] ? safetensors_find(file, r->prefix, names[n]) : NULL;
        if (t && n == count && i < LAYER_WO) { /* wq wk wv bq bk bv */
            if (!third(r, (size_t)(i - LAYER_WQ) % 3, t, &part))
                return false;
            t = &part;
        }
        if (t)
            use(r, i, t, n > 1);
        else if (tensors[i].needed)
            return experiment_fail(r->work,
                                   "%s: there is no tensor %s%s; a layer has %sx, wq, wk and wv",
                                   r->path, r->prefix, tensors[i].name, r->prefix);
    }
    return true;
}

/* Whether a tensor has this shape, or is absent. */
static bool has_shape(const struct reader *r, enum layer_tensor which, const size_t *shape,
                      size_t rank)
{
    struct safetensor wanted = {
        .format = "floating-point", .dtype = ATTN_DTYPE_COUNT, .rank = rank};
    char text[SAFETENSORS_SHAPE_TEXT];
    if (!r->found[which] || safetensors_is_shape(r->found[which], shape, rank))
        return true;
    memcpy(wanted.shape, shape, rank * sizeof *shape);
    safetensors_print_shape(&wanted, text);
    return refuse_tensor(r, which, text);
}

/* Reads lengths from x, wq and wv, whose ranks are right, and the number of heads. */
static bool read_lengths(const struct reader *r, size_t heads, struct attn_self_attention *l)
{
    const struct safetensor *const *t = r->found;
    assert(t[LAYER_X] && t[LAYER_WQ] && t[LAYER_WK] && t[LAYER_WV]); /* find_tensors() needs them */
    if (t[LAYER_X]->rank != 3)
        return refuse_tensor(r, LAYER_X, "floating-point (B,S,d_in)");
    if (t[LAYER_CONTEXT] && t[LAYER_CONTEXT]->rank != 3)
        return refuse_tensor(r, LAYER_CONTEXT, "floating-point (B,S,d_in)");
    for (int i = LAYER_WQ; i <= LAYER_WV; i++)
        if (t[i]->rank != 2)
            return refuse_tensor(r, (enum layer_tensor)i, "floating-point (d_in,H*D)");
    if (t[LAYER_WO] && t[LAYER_WO]->rank != 2)
        return refuse_tensor(r, LAYER_WO, "floating-point (H*D,d_out)");
    if (t[LAYER_O] && t[LAYER_O]->rank != 4)
        return refuse_tensor(r, LAYER_O, "floating-point (B,H,S,D)");
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
    const struct safetensor *c = t[LAYER_CONTEXT];
    *l = (struct attn_self_attention){.size = sizeof *l,
                                      .batch = t[LAYER_X]->shape[0],
                                      .len = t[LAYER_X]->shape[1],
                                      .d_in = t[LAYER_X]->shape[2],
                                      .heads = heads,
                                      .qk_dim = wide[0] / heads,
                                      .v_dim = wide[1] / heads,
                                      .d_out = t[LAYER_WO] ? t[LAYER_WO]->shape[1] : 0,
                                      .context_len = c ? c->shape[1] : 0,
                                      .context_d_in = c ? c->shape[2] : 0};
    return true;
}

static bool check_shapes(const struct reader *r, const struct attn_self_attention *l)
{
    const size_t qk = l->heads * l->qk_dim, v = l->heads * l->v_dim;
    const size_t from = l->context_len ? l->context_d_in : l->d_in;
    const size_t x[] = {l->batch, l->len, l->d_in}, wq[] = {l->d_in, qk};
    const size_t context[] = {l->batch, l->context_len, from}, wk[] = {from, qk}, wv[] = {from, v};
    const size_t wo[] = {v, l->d_out}, o[] = {l->batch, l->heads, l->len, l->v_dim};
    const size_t y[] = {l->batch, l->len, l->d_out ? l->d_out : v};
    const struct {
        enum layer_tensor which;
        const size_t *shape;
        size_t rank;
    } wanted[] = {{LAYER_X, x, 3},       {LAYER_WQ, wq, 2},     {LAYER_WK, wk, 2},
                  {LAYER_WV, wv, 2},     {LAYER_BQ, wq + 1, 1}, {LAYER_BK, wq + 1, 1},
                  {LAYER_BV, wv + 1, 1}, {LAYER_WO, wo, 2},     {LAYER_BO, wo + 1, 1},
                  {LAYER_O, o, 4},       {LAYER_Y, y, 3},       {LAYER_CONTEXT, context, 3}};
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

static bool read_data(const struct reader *r, struct layer_file *file)
{
    for (int i = 0; i < LAYER_TENSORS; i++)
        if (r->found[i] && !(file->data[i] = layer_file_copy(r->found[i], r->turned[i], r->work)))
            return false;
    file->output = r->found[LAYER_Y] || file->layer.d_out ? LAYER_Y : LAYER_O;
    const struct safetensor *output = r->found[file->output];
    file->dtype = output ? output->dtype : ATTN_F32;
    return true;
}

struct safetensors *layer_file_in(const char *path, struct experiment_work *work)
{
    char found[CASES_PATH];
    return cases_find_file(path, found, MESSAGE(work->message))
               ? safetensors_open(found, MESSAGE(work->message))
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
        .context = d[LAYER_CONTEXT],
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

/* Tolerance relative to the output's largest element, for sums of up to 384 products: ten times the
 * difference seen, 8e-7 (all-MiniLM-L6-v2, two sums of 384 float32 products, Zen 4, 2026-11-21).  It grows in
 * proportion to the length of the sums. */
#define MATCH 8e-6
#define MATCH_D_IN 384.0

/* Roundings of a 16-bit model, each half a unit in the last place: of q, k, v, o and y, which the kernels
 * here keep in float32.  In PyTorch's layers of 16 numbers y differed by up to 2.3 of them (PyTorch 2.15,
 * 2026-11-28). */
#define ROUNDED 5

double layer_file_allowed(double largest, size_t d_in, enum attn_dtype dtype)
{
    const double half_unit = dtype == ATTN_BF16 ? 0x1p-9 : dtype == ATTN_F16 ? 0x1p-12 : 0;
    return largest * (MATCH * fmax(1, (double)d_in / MATCH_D_IN) + ROUNDED * half_unit);
}
