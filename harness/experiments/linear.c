/*
 * linear: is a Linear layer faster than bare parameter matrices, and is it the same?
 *
 * In C all that differs between them is in which order the weight is stored and what it begins with.
 */
#include <cblas.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"
#include "blas.h"
#include "experiment.h"
#include "experiments/shared/dots.h"
#include "experiments/shared/grid.h"
#include "experiments/shared/kernel_call.h"
#include "experiments/shared/layer_call.h"
#include "experiments/shared/mt19937.h"
#include "experiments/shared/softmax_facts.h"
#include "list.h"
#include "parts.h"
#include "results/report_experiment.h"

enum { STREAM_TIME = 14000, STREAM_EQUAL = 14100, STREAM_INIT = 14200 };

/* d * d weights of 4 projections and of MT19937 in doubles stay below 1 GiB. */
#define WIDEST 8192

static const char *const parts[] = {"equal", "init", "time", NULL};
static const char *const inputs[] = {"normal", "uniform", NULL};

static const struct parameter parameters[] = {
    {"parts", "LIST", "equal,init,time", NULL, "which of the three parts", PARAMETER_WORDS, 0, 0,
     parts},
    {"d", "LIST", "3,16,128,1024,4096", "3,16,128,512", "d_in and d_out", PARAMETER_COUNTS, 1,
     WIDEST, NULL},
    {"inputs", "LIST", "normal,uniform", NULL, "distributions of tokens", PARAMETER_WORDS, 0, 0,
     inputs},
    {"tokens", "LIST", "1,16,256", "1,64", "tokens of a timed product", PARAMETER_COUNTS, 1, 65536,
     NULL},
    {"launches", "N", "6", NULL, "launches of each timed product; no interval below 6",
     PARAMETER_COUNT, 1, 1000, NULL},
    {0},
};

/* A launch of every size after the other, so that what changes in between comes to all of them. */
static void plan_times(const json_t *asked, json_t *steps)
{
    const json_int_t launches = json_integer_value(json_object_get(asked, "launches"));
    for (json_int_t launch = 1; launch <= launches; launch++)
        experiment_steps(
            steps,
            experiment_pick(json_pack("{s:s, s:I, s:O}", "part", "time", "launch", launch, "d_out",
                                      json_object_get(asked, "d")),
                            asked, "tokens seed"),
            (struct experiment_axis[]){{"d_in", json_object_get(asked, "d"), NULL}, {0}});
}

/* A layer of every d and input, in two kinds. */
static void plan_layers(const json_t *asked, const char *part, const char *key,
                        const char *const *kinds, json_t *steps)
{
    experiment_steps(steps, experiment_pick(json_pack("{s:s}", "part", part), asked, "seed"),
                     (struct experiment_axis[]){{"d", json_object_get(asked, "d"), NULL},
                                                {"input", json_object_get(asked, "inputs"), NULL},
                                                {key, NULL, kinds},
                                                {0}});
}

static void plan(const json_t *asked, json_t *steps)
{
    static const char *const sums[] = {"rounded", "exact", NULL}, *const init[] = {"rand", "linear",
                                                                                   NULL};
    const json_t *part;
    size_t i;
    json_array_foreach (json_object_get(asked, "parts"), i, part) {
        const char *name = json_string_value(part);
        if (strcmp(name, "equal") == 0)
            plan_layers(asked, name, "sums", sums, steps);
        else if (strcmp(name, "init") == 0)
            plan_layers(asked, name, "init", init, steps);
        else
            plan_times(asked, steps);
    }
}

/* ---- ways -------------------------------------------------------------------------------------
 *
 * The loops take the strides of w as they come, so that layouts differ in nothing else; compilers make a
 * version of their own where the innermost stride is 1.
 */

static void gemm(const struct linear_shape *s, const float *x, const float *w,
                 enum linear_layout layout, float *y)
{
    const bool linear = layout == LINEAR_LINEAR;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, linear ? CblasTrans : CblasNoTrans, (int)s->len,
                (int)s->d_out, (int)s->d_in, 1, x, (int)s->d_in, w,
                (int)(linear ? s->d_in : s->d_out), 0, y, (int)s->d_out);
}

/* Elements of w from one input to the next, and from one output to the next. */
static size_t in_stride(const struct linear_shape *s, enum linear_layout layout)
{
    return layout == LINEAR_LINEAR ? 1 : s->d_out;
}

static size_t out_stride(const struct linear_shape *s, enum linear_layout layout)
{
    return layout == LINEAR_LINEAR ? s->d_in : 1;
}

/* Each output as the dot product of a row of x and a column of w. */
static void dot(const struct linear_shape *s, const float *restrict x, const float *restrict w,
                enum linear_layout layout, float *restrict y)
{
    const size_t in = in_stride(s, layout), out = out_stride(s, layout);
    for (size_t i = 0; i < s->len; i++)
        for (size_t o = 0; o < s->d_out; o++) {
            float sum = 0;
            for (size_t d = 0; d < s->d_in; d++)
                sum += x[i * s->d_in + d] * w[d * in + o * out];
            y[i * s->d_out + o] = sum;
        }
}

/* Each row of w, times an element of x, added to a row of y. */
static void axpy(const struct linear_shape *s, const float *restrict x, const float *restrict w,
                 enum linear_layout layout, float *restrict y)
{
    const size_t in = in_stride(s, layout), out = out_stride(s, layout);
    memset(y, 0, s->len * s->d_out * sizeof *y);
    for (size_t i = 0; i < s->len; i++)
        for (size_t d = 0; d < s->d_in; d++) {
            const float factor = x[i * s->d_in + d];
            for (size_t o = 0; o < s->d_out; o++)
                y[i * s->d_out + o] += factor * w[d * in + o * out];
        }
}

const struct linear_way linear_ways[] = {
    {"gemm", gemm, false}, {"dot", dot, true}, {"axpy", axpy, true}, {0}};

bool linear_takes(const struct linear_way *way, const struct linear_shape *s)
{
    return !way->loop || s->len * s->d_in * s->d_out <= LINEAR_MOST;
}

void linear_one_thread(void)
{
    attn_blas_one_thread();
    omp_set_num_threads(1); /* what a library of OpenMP's threads goes by */
}

void linear_transpose(const float *w, size_t d_in, size_t d_out, float *stored)
{
    enum { TILE = 32 }; /* rows and columns that stay in the nearest cache together */
    for (size_t d = 0; d < d_in; d += TILE)
        for (size_t o = 0; o < d_out; o += TILE)
            for (size_t i = d; i < d_in && i < d + TILE; i++)
                for (size_t j = o; j < d_out && j < o + TILE; j++)
                    stored[j * d_in + i] = w[i * d_out + j];
}

double linear_bound(const struct linear_shape *s, const float *x, const float *stored, size_t i,
                    size_t o)
{
    const double nu = (double)s->d_in * 0x1p-24;
    double sum = 0;
    for (size_t d = 0; d < s->d_in; d++)
        sum += fabs((double)x[i * s->d_in + d] * (double)stored[o * s->d_in + d]);
    return 2 * nu / (1 - nu) * sum;
}

/* ---- equal ----------------------------------------------------------------------------------- */

#define TOKENS 16
#define HEAD 64 /* of a layer whose width is a multiple of it; others have one head */

/* A layer of d numbers to d, and what its two versions differ by. */
struct comparison {
    struct linear_shape shape;
    float *x, *w[3], *stored, *q, *y[LINEAR_LAYOUTS];
    double largest, over_bound, output; /* differences of Q, K and V; of the output */
    size_t equal, elements;             /* of Q, K and V */
    bool loops;                         /* plain loops gave equal bits */
};

/* Multiples of 1/8 below 4, so that a sum of up to 2^12 products of two is exact in float32. */
static void make_exact(float *x, size_t n, float factor)
{
    for (size_t i = 0; i < n; i++)
        x[i] = fmaxf(-31, fminf(31, rintf(8 * factor * x[i]))) / 8;
}

static bool open_layers(struct comparison *c, const json_t *s, struct experiment_work *work)
{
    const size_t d = experiment_count(s, "d"), n = TOKENS * d, seed = experiment_count(s, "seed");
    struct mt19937 generator;
    *c = (struct comparison){.shape = {TOKENS, d, d}, .loops = true};
    c->x = experiment_alloc(work, 4 * n + 4 * d * d, sizeof *c->x);
    if (!c->x)
        return false;
    c->q = c->x + n;
    c->y[0] = c->x + 2 * n;
    c->y[1] = c->x + 3 * n;
    c->stored = c->x + 4 * n;
    distribution_draw(distribution_find(experiment_text(s, "input")), c->x, n,
                      random_key(seed, STREAM_EQUAL), 0);
    mt19937_seed(&generator, (uint32_t)seed);
    for (size_t i = 0; i < 3; i++) {
        c->w[i] = c->stored + (i + 1) * d * d;
        mt19937_linear(&generator, d, d, c->w[i], NULL);
    }
    if (experiment_is(s, "sums", "exact")) {
        make_exact(c->x, n, 1);
        make_exact(c->w[0], 3 * d * d, sqrtf((float)d)); /* which lie within 1/sqrt(d) */
    }
    return true;
}

/* Projection `i` of the bare parameters, which becomes that of the other version. */
static void compare(struct comparison *c, size_t i, float *projected)
{
    const struct linear_shape *s = &c->shape;
    linear_transpose(c->w[i], s->d_in, s->d_out, c->stored);
    linear_ways[0].run(s, c->x, c->stored, LINEAR_LINEAR, c->q);
    for (size_t at = 0; at < s->len * s->d_out; at++) {
        const double d = fabs((double)projected[at] - (double)c->q[at]);
        c->elements++;
        c->equal += d == 0;
        c->largest = d <= c->largest ? c->largest : d; /* NaN stays */
        if (d > 0)
            c->over_bound = fmax(
                c->over_bound, d / linear_bound(s, c->x, c->stored, at / s->d_out, at % s->d_out));
    }
    memcpy(projected, c->q, s->len * s->d_out * sizeof *projected);
}

/* Whether a plain loop gives the same bits for both layouts; outputs are overwritten. */
static void compare_loops(struct comparison *c)
{
    const struct linear_shape *s = &c->shape;
    linear_transpose(c->w[0], s->d_in, s->d_out, c->stored);
    for (const struct linear_way *way = linear_ways; way->name; way++) {
        if (!way->loop)
            continue;
        way->run(s, c->x, c->w[0], LINEAR_PARAMETER, c->y[0]);
        way->run(s, c->x, c->stored, LINEAR_LINEAR, c->y[1]);
        c->loops &= memcmp(c->y[0], c->y[1], s->len * s->d_out * sizeof **c->y) == 0;
    }
}

/* Both versions of the layer. */
static bool compare_layers(struct comparison *c, struct experiment_work *work)
{
    const size_t d = c->shape.d_in, heads = d % HEAD ? 1 : d / HEAD;
    const struct attn_self_attention layer = layer_shape(TOKENS, d, heads, d / heads);
    struct attn_self_attention_tensors t = {
        .size = sizeof t, .x = c->x, .wq = c->w[0], .wk = c->w[1], .wv = c->w[2], .y = c->y[0]};
    struct layer_call call;
    if (!layer_call_open(&call, &layer, "flash", work))
        return false;
    attn_self_attention_execute(&call.plan, &t);
    compare(c, 0, call.plan.q);
    compare(c, 1, call.plan.k);
    compare(c, 2, call.plan.v);
    t.y = c->y[1];
    attn_self_attention_attend(&call.plan, &t);
    layer_call_close(&call);
    for (size_t i = 0; i < TOKENS * d; i++) {
        const double difference = fabs((double)c->y[0][i] - (double)c->y[1][i]);
        c->output = difference <= c->output ? c->output : difference;
    }
    return true;
}

static bool compute_equal(const json_t *s, json_t *rows, struct experiment_work *work)
{
    struct comparison c;
    linear_one_thread();
    if (!open_layers(&c, s, work) || !compare_layers(&c, work))
        return false;
    const bool loops = linear_takes(&linear_ways[1], &c.shape);
    if (loops)
        compare_loops(&c);
    json_t *values = experiment_values(
        (struct experiment_value[]){{"difference", c.largest},
                                    {"over_bound", c.over_bound},
                                    {"equal", (double)c.equal / (double)c.elements},
                                    {"output_difference", c.output},
                                    {0}});
    json_object_set_new(values, "loops_equal", loops ? json_boolean(c.loops) : json_null());
    experiment_add(rows, json_copy((json_t *)s), values);
    return true;
}

/* ---- init ------------------------------------------------------------------------------------ */

#define SENTENCE 64 /* tokens */

/* Sums over the rows of weights. */
struct seen {
    double squares; /* of the elements of Q */
    double spread;  /* of a row's scaled scores: its variance */
    double entropy, largest;
};

/* Row i of attention of q and k, (SENTENCE, d). */
static void add_row(struct seen *seen, const float *q, const float *k, size_t i, size_t d)
{
    double x[SENTENCE], p[SENTENCE], sum = 0, squares = 0;
    for (size_t j = 0; j < SENTENCE; j++) {
        x[j] = kernel_dot(q + i * d, k + j * d, d) / sqrt((double)d);
        sum += x[j];
    }
    for (size_t j = 0; j < SENTENCE; j++)
        squares += (x[j] - sum / SENTENCE) * (x[j] - sum / SENTENCE);
    const struct softmax_facts facts = softmax_facts(x, SENTENCE, p);
    seen->spread += squares / (SENTENCE - 1);
    seen->entropy += facts.entropy;
    seen->largest += facts.largest;
    for (size_t e = 0; e < d; e++)
        seen->squares += (double)q[i * d + e] * (double)q[i * d + e];
}

/* torch.rand(d, d), or the weight of nn.Linear(d, d), as (d_in, d_out). */
static void draw_weight(struct mt19937 *generator, const char *init, size_t d, float *w)
{
    if (strcmp(init, "linear") == 0)
        mt19937_linear(generator, d, d, w, NULL);
    else
        mt19937_uniform(generator, w, d * d, 0, 1);
}

static bool compute_init(const json_t *s, json_t *rows, struct experiment_work *work)
{
    const size_t d = experiment_count(s, "d"), n = SENTENCE * d, seed = experiment_count(s, "seed");
    const struct linear_shape shape = {SENTENCE, d, d};
    const char *init = experiment_text(s, "init");
    struct mt19937 generator;
    struct seen seen = {0};
    float *x = experiment_alloc(work, 3 * n + d * d, sizeof *x);
    if (!x)
        return false;
    float *q = x + n, *k = q + n, *w = k + n;
    linear_one_thread();
    distribution_draw(distribution_find(experiment_text(s, "input")), x, n,
                      random_key(seed, STREAM_INIT), 0);
    mt19937_seed(&generator, (uint32_t)seed);
    draw_weight(&generator, init, d, w);
    linear_ways[0].run(&shape, x, w, LINEAR_PARAMETER, q);
    draw_weight(&generator, init, d, w);
    linear_ways[0].run(&shape, x, w, LINEAR_PARAMETER, k);
    for (size_t i = 0; i < SENTENCE; i++)
        add_row(&seen, q, k, i, d);
    experiment_add(rows, json_copy((json_t *)s),
                   experiment_values(
                       (struct experiment_value[]){{"q_squared", seen.squares / (double)n},
                                                   {"spread", sqrt(seen.spread / SENTENCE)},
                                                   {"effective_keys", exp(seen.entropy / SENTENCE)},
                                                   {"largest", seen.largest / SENTENCE},
                                                   {0}}));
    return true;
}

/* ---- time ------------------------------------------------------------------------------------ */

#define SAMPLES 5       /* of each layout, in turns; a launch gives their median */
#define SAMPLE_S 0.5e-3 /* shortest sample: ten thousand times the clock's resolution */

struct operands {
    const float *x,
        *w[LINEAR_LAYOUTS]; /* each in an allocation of its own, as a framework has them */
    float *y;
};

/* Seconds of so many calls. */
static double time_of(const struct linear_way *way, const struct linear_shape *shape,
                      const struct operands *t, enum linear_layout layout, size_t calls)
{
    const double start = clock_now();
    for (size_t i = 0; i < calls; i++) {
        way->run(shape, t->x, t->w[layout], layout, t->y);
        __asm__ volatile("" : : "g"(t->y) : "memory"); /* no call is optimised away */
    }
    return clock_now() - start;
}

/* As many calls as make a sample; warms caches, pages and clocks. */
static size_t calls_of(const struct linear_way *way, const struct linear_shape *shape,
                       const struct operands *t)
{
    size_t calls = 1;
    for (int layout = 0; layout < LINEAR_LAYOUTS; layout++)
        while (time_of(way, shape, t, (enum linear_layout)layout, calls) < SAMPLE_S)
            calls *= 2;
    return calls;
}

/* Seconds per call of each layout. */
static json_t *seconds_of(const struct linear_way *way, const struct linear_shape *shape,
                          const struct operands *t)
{
    double samples[LINEAR_LAYOUTS][SAMPLES], medians[LINEAR_LAYOUTS];
    const size_t calls = calls_of(way, shape, t);
    for (size_t i = 0; i < (size_t)SAMPLES * LINEAR_LAYOUTS; i++) {
        const size_t layout = (i + i / LINEAR_LAYOUTS) % LINEAR_LAYOUTS; /* who is first changes */
        samples[layout][i / LINEAR_LAYOUTS] =
            time_of(way, shape, t, (enum linear_layout)layout, calls) / (double)calls;
    }
    for (size_t layout = 0; layout < LINEAR_LAYOUTS; layout++)
        medians[layout] = stats_median_of(samples[layout], SAMPLES);
    return experiment_numbers(medians, LINEAR_LAYOUTS);
}

static void time_row(const json_t *s, const struct linear_shape *shape, const struct operands *t,
                     json_t *rows)
{
    json_t *values = json_object();
    for (const struct linear_way *way = linear_ways; way->name; way++)
        if (linear_takes(way, shape))
            json_object_set_new(values, way->name, seconds_of(way, shape, t));
    experiment_add(rows,
                   experiment_pick(json_pack("{s:I, s:I}", "d_out", (json_int_t)shape->d_out,
                                             "tokens", (json_int_t)shape->len),
                                   s, "part launch d_in"),
                   values);
}

/* Operands in allocations of their own; those of the result are there, too, so that its pages are. */
static float *draw(struct experiment_work *work, size_t n, const json_t *s, uint64_t stream)
{
    float *x = experiment_alloc(work, n, sizeof *x);
    if (x)
        random_uniform(x, n, random_key(experiment_count(s, "seed"), STREAM_TIME + stream), 0);
    return x;
}

static bool compute_times(const json_t *s, json_t *rows, struct experiment_work *work)
{
    size_t outs[64], lens[64];
    const size_t out_count = experiment_counts(s, "d_out", outs, 64);
    const size_t len_count = experiment_counts(s, "tokens", lens, 64),
                 d_in = experiment_count(s, "d_in");
    const size_t most_out = outs[out_count - 1], most_len = lens[len_count - 1]; /* ascending */
    float *x = draw(work, most_len * d_in, s, 0), *y = draw(work, most_len * most_out, s, 1);
    float *parameter = draw(work, d_in * most_out, s, 2),
          *linear = draw(work, d_in * most_out, s, 3);
    const struct operands t = {x, {parameter, linear}, y};
    if (!x || !y || !parameter || !linear)
        return false;
    linear_one_thread();
    for (size_t i = 0; i < out_count; i++)
        for (size_t k = 0; k < len_count; k++)
            time_row(s, &(struct linear_shape){lens[k], d_in, outs[i]}, &t, rows);
    return true;
}

static bool compute(const json_t *s, json_t *rows, struct experiment_work *work)
{
    return experiment_is(s, "part", "equal")  ? compute_equal(s, rows, work)
           : experiment_is(s, "part", "init") ? compute_init(s, rows, work)
                                              : compute_times(s, rows, work);
}

/* ---- the report: time ------------------------------------------------------------------------ */

/* Seconds of both layouts in every launch of the product that `like` names, and how many launches. */
struct launches {
    double *seconds[LINEAR_LAYOUTS]; /* one allocation, at the first */
    size_t n;
};

static struct launches launches_of(const json_t *rows, const json_t *like, const char *way)
{
    struct experiment_part part = {.rows = rows, .name = "time"};
    const size_t most = json_array_size(rows);
    struct launches all = {{calloc(LINEAR_LAYOUTS * most + 1, sizeof **all.seconds)}, 0};
    for (size_t layout = 1; layout < LINEAR_LAYOUTS; layout++)
        all.seconds[layout] = all.seconds[0] + layout * most;
    while (all.seconds[0] && experiment_part_next(&part)) {
        if (!experiment_same(part.params, like, "d_in d_out tokens") ||
            !json_object_get(part.values, way))
            continue;
        for (size_t layout = 0; layout < LINEAR_LAYOUTS; layout++)
            all.seconds[layout][all.n] = experiment_at_number(part.values, way, layout);
        all.n++;
    }
    return all;
}

/* What all products by one way show. */
struct range {
    double slowest, fastest;         /* speed-ups */
    size_t products, faster, slower; /* whose interval lies beyond 1 */
};

static void widen(struct range *range, const struct stats_ratio *ratio)
{
    range->slowest = range->products ? fmin(range->slowest, ratio->ratio) : ratio->ratio;
    range->fastest = range->products ? fmax(range->fastest, ratio->ratio) : ratio->ratio;
    range->products++;
    range->faster += ratio->interval && ratio->lo > 1;
    range->slower += ratio->interval && ratio->hi < 1;
}

static void print_product(struct grid *grid, const json_t *params, const struct launches *all,
                          const struct stats_ratio *ratio)
{
    grid_row(grid);
    grid_number(grid, "%.0f", experiment_number(params, "d_in"));
    grid_number(grid, "%.0f", experiment_number(params, "tokens"));
    for (size_t layout = 0; layout < LINEAR_LAYOUTS; layout++)
        grid_number(grid, "%.2f us", 1e6 * stats_median_of(all->seconds[layout], all->n));
    grid_number(grid, "%.2f", ratio->ratio);
    grid_range(grid, "%.2f", ratio->lo, ratio->hi);
}

/* The table of square weights; what all products show.  Each product stands once, in the first launch. */
static struct range print_times(const json_t *rows, const char *way)
{
    static const struct table_column columns[] = {
        {"d", 0, false},      {"tokens", 0, false},  {"parameter", 1, false},
        {"Linear", 1, false}, {"as fast", 0, false}, {"95 % interval", 0, false}};
    struct grid grid = {.table.columns = columns, .table.column_count = 6};
    struct experiment_part part = {.rows = rows, .name = "time"};
    struct range range = {0};
    char heading[96];
    while (experiment_part_next(&part)) {
        if (experiment_number(part.params, "launch") != 1)
            continue;
        const struct launches all = launches_of(rows, part.params, way);
        const struct stats_ratio ratio =
            stats_paired_ratio(all.seconds[LINEAR_LINEAR], all.seconds[LINEAR_PARAMETER], all.n);
        if (all.n)
            widen(&range, &ratio);
        if (all.n &&
            experiment_number(part.params, "d_out") == experiment_number(part.params, "d_in"))
            print_product(&grid, part.params, &all, &ratio);
        free(all.seconds[0]);
    }
    snprintf(heading, sizeof heading, "%s: times as fast with Linear's layout, d_in = d_out = d",
             way);
    grid_print(&grid, heading);
    return range;
}

static void report_times(const json_t *rows)
{
    for (const struct linear_way *way = linear_ways; way->name; way++) {
        const struct range range = print_times(rows, way->name);
        if (range.products)
            report_sentence(
                "%s: over all %zu products of d_in and d_out Linear's layout is %.2f to "
                "%.2f times as fast as the bare matrix; the interval lies above 1 in "
                "%zu of them, below in %zu.",
                way->name, range.products, range.slowest, range.fastest, range.faster,
                range.slower);
    }
}

/* ---- the report: equal and init -------------------------------------------------------------- */

/* Whether the two versions of a layer differ by no more than rounding explains. */
static bool is_right(const struct experiment_part *part, bool exact)
{
    const double difference = experiment_number(part->values, "difference");
    const double output = experiment_number(part->values, "output_difference");
    return isfinite(difference) && isfinite(output) &&
           (exact ? difference == 0 && output == 0
                  : experiment_number(part->values, "over_bound") <= 1);
}

/* What the comparisons say together. */
struct verdict {
    size_t exact, wrong, loops,
        compared; /* of layers; whose plain loops are equal, of those compared */
    double worst; /* of the bound */
};

static struct verdict print_equal(const json_t *rows)
{
    static const struct grid_column columns[] = {{"d", "d", "%.0f", 0},
                                                 {"input", "input", NULL, 0},
                                                 {"sums", "sums", NULL, 0},
                                                 {"Q, K, V by", "difference", "%.2g", 0},
                                                 {"/ bound", "over_bound", "%.2g", 0},
                                                 {"equal bits", "equal", "%.0f%%", 0},
                                                 {"output by", "output_difference", "%.2g", 0},
                                                 {"plain loops", NULL, NULL, 1},
                                                 {"", NULL, NULL, 0},
                                                 {0}};
    struct experiment_part part = {.rows = rows, .name = "equal"};
    struct verdict all = {0};
    struct grid grid;
    grid_open(&grid, columns);
    while (experiment_part_next(&part)) {
        const bool exact = experiment_is(part.params, "sums", "exact");
        const bool right = is_right(&part, exact);
        const json_t *same = json_object_get(part.values, "loops_equal");
        all.exact += exact;
        all.wrong += !right;
        all.worst = fmax(all.worst, experiment_number(part.values, "over_bound"));
        all.compared += !json_is_null(same);
        all.loops += json_is_true(same);
        grid_add(&grid, &part,
                 json_is_null(same)   ? ""
                 : json_is_true(same) ? "equal"
                                      : "differ",
                 right ? "ok" : "DIFFERS");
        grid_style(&grid, right ? TABLE_PLAIN : TABLE_BAD);
    }
    grid_print(&grid, "a layer with the same weights in both layouts");
    return all;
}

static bool report_equal(const json_t *rows)
{
    const struct verdict all = print_equal(rows);
    if (all.wrong)
        report_sentence("The two versions of %zu layers differ by more than rounding explains.",
                        all.wrong);
    else if (all.exact && all.worst == 0)
        report_sentence("With the same weights both versions compute the same: not a bit differs "
                        "where sums are exact, nor where they are rounded.");
    else if (all.exact)
        report_sentence("With the same weights both versions compute the same: not a bit differs "
                        "where sums are exact; elsewhere Q, K and V differ by at most %.2g of what "
                        "two orders of summation can.",
                        all.worst);
    if (all.compared)
        report_sentence("Plain loops give equal bits in %zu of %zu layers.", all.loops,
                        all.compared);
    return !all.wrong;
}

static void report_init(const json_t *rows)
{
    static const struct grid_column columns[] = {{"d", "d", "%.0f", 0},
                                                 {"input", "input", NULL, 0},
                                                 {"weights", NULL, NULL, 0},
                                                 {"E q^2", "q_squared", "%.3g", 0},
                                                 {"spread of scores", "spread", "%.3g", 0},
                                                 {"keys in use", "effective_keys", "%.1f", 0},
                                                 {"largest", "largest", "%.3f", 0},
                                                 {0}};
    struct experiment_part part = {.rows = rows, .name = "init"};
    double widest = 0, rand = NAN, least = INFINITY;
    struct grid grid;
    grid_open(&grid, columns);
    while (experiment_part_next(&part)) {
        const bool linear = experiment_is(part.params, "init", "linear");
        const double d = experiment_number(part.params, "d");
        const double keys = experiment_number(part.values, "effective_keys");
        grid_add(&grid, &part, linear ? "+-1/sqrt(d_in)" : "[0, 1)");
        if (linear) {
            least = fmin(least, keys);
        } else if (d > widest || (d == widest && keys > rand)) {
            widest = d;
            rand = keys;
        }
    }
    grid_print(&grid, "64 tokens behind the weights that a layer begins with");
    if (isfinite(least) && isfinite(rand))
        report_sentence("What the layers begin with does matter: weights in [0, 1) leave %.1f of "
                        "64 keys in use at d = %.0f, a Linear's %.1f or more at every d.",
                        rand, widest, least);
}

bool linear_report(const json_t *rows)
{
    const bool right = report_equal(rows);
    report_init(rows);
    report_times(rows);
    return right;
}

const struct experiment experiment_linear = {
    .name = "linear",
    .question = "Is a Linear layer faster than bare parameter matrices, and is it the same?",
    .method =
        "A bare matrix is stored (d_in, d_out), as torch.rand makes it, a Linear's weight (d_out, "
        "d_in);\n"
        "in C nothing else differs but what they begin with.  time: y = x w in both layouts on "
        "one\n"
        "thread, by sgemm of the CBLAS library and by plain C, each output a dot product (dot) or "
        "each\n"
        "row of w added to the output (axpy); in turns, a process for each launch; median ratio "
        "over\n"
        "launches and its exact 95 % interval.  equal: a whole layer with the same weights both "
        "ways,\n"
        "Q, K and V against what two orders of summation can differ by, and once more with "
        "numbers\n"
        "whose sums float32 holds exactly, where not a bit may differ.  init: attention scores "
        "behind\n"
        "the weights that each begins with, uniform in [0, 1) and in +-1/sqrt(d_in).",
    .source = "PyTorch 2: torch/nn/modules/linear.py; He et al. 2015, arXiv:1502.01852 "
              "(initialisation)",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = linear_report,
};
