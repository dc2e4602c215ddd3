/*
 * split_kv: few queries against many keys; the keys are split and the parts merged.
 *
 * Decoding has one query per sequence and a long KV cache: nothing to tile over queries, and the
 * time is that of reading K and V once.  So the keys are cut into splits (Flash-Decoding, Dao,
 * Haziza, Massa and Sizov 2023), threads take splits of all heads from one queue, each leaves
 * (O, m, l) of its keys, and the parts of a row are merged by their maxima and sums.
 *
 * A split is SPLIT_KEYS keys whatever the thread count, and parts are merged in the order of the
 * keys: a row's bits depend on its own operands alone, not on threads, repeats or batch.
 *
 * The query heads that share a KV head are rows of one unit, as are a head's queries: a block of
 * keys is read from memory once, and all of them use it while it is in L1.  geometry.h cuts the
 * problem up, unit.h takes a unit through a block in tiles of up to eight rows (tile.h), and the
 * arithmetic is in scores.h and values.h.
 *
 *   memory    K and V once per 128 query rows of a KV head
 *   parallel  over (batch, KV head, split), or (batch, KV head) where there are many
 *   scratch   threads * (Q and P of a unit), and one part per split: of a unit per thread where
 *             units are many, of every unit where they are few, which is O(threads) too (a part
 *             is Dv + 2 floats a row)
 *   instead   flash from about 16 query rows per KV head on: its products need no reductions
 */
#include <omp.h>

#include "shared/rows.h"
#include "unit.h"

/* m (of scores in log2; -inf where the row sees no key of the split) and l of row r in a part. */
static float *part_sums(const struct geometry *g, char *part, int r)
{
    return (float *)(part + g->o_bytes) + 2 * r;
}

/* Notes what each of the unit's rows sees of keys [first, last); returns what any of them sees. */
static struct attn_range note_visible(struct unit *u, ptrdiff_t first, ptrdiff_t last)
{
    for (int r = 0; r < u->rows; r++) {
        const struct attn_range all = group_visible(&u->block, (size_t)r);
        u->seen[r].lo = all.lo > first ? all.lo : first;
        u->seen[r].hi = all.hi < last ? all.hi : last;
    }
    const struct sight s = sight_of(u, 0, u->rows, first, last);
    u->all = s.all;
    return s.any;
}

/* O, m and l of a unit of one row: all its scores, then all its values.  Nothing is used twice, so
 * there is nothing to keep in L1, and fastest is to read each operand as one long stream, which the
 * hardware recognises (in blocks with prefetches of lines: 0.65 to 0.8 times as fast on Zen 4). */
static void split_row(const struct unit *u, struct attn_range keys, float *o, float *sums)
{
    const struct geometry *g = u->g;
    const ptrdiff_t n = keys.hi - keys.lo, each = g->touch_keys, element = sizeof(float);
    const float *q = unit_row(u, &u->t->q, 0);
    const struct rows k = rows_from(u->k, keys.lo), v = rows_from(u->v, keys.lo);
    for (ptrdiff_t j = 0; j < n; j += each) {
        touch_ahead(k, j, each);
        row_scores(q, (const float *)rows_from(k, j).data, k.stride / element,
                   n - j < each ? n - j : each, (size_t)g->qk.dim, softmax_scale(u->block.problem),
                   u->p + j);
    }
    const float m = softmax_max(u->p, n, -INFINITY);
    sums[1] = softmax_exp2(u->p, n, softmax_shift(m));
    sums[0] = sums[1] == 0 ? -INFINITY : softmax_shift(m);
    memset(o, 0, (size_t)g->o_floats * sizeof *o);
    for (ptrdiff_t j = 0; j < n; j += each) {
        touch_ahead(v, j, each);
        row_weigh(o, u->p + j, (const float *)rows_from(v, j).data, v.stride / element,
                  n - j < each ? n - j : each, (size_t)g->v.dim);
    }
}

/* Leaves O, m and l of the unit's rows over the keys of a split in `part`. */
static void split(struct unit *u, size_t index, char *part)
{
    const struct geometry *g = u->g;
    const size_t first = index * g->split_keys;
    const size_t end = geometry_minimum(first + g->split_keys, u->block.problem->kv_len);
    const struct attn_range keys = note_visible(u, (ptrdiff_t)first, (ptrdiff_t)end);
    if (keys.lo >= keys.hi) {
        for (int r = 0; r < u->rows; r++)
            *part_sums(g, part, r) = -INFINITY;
        return;
    }
    if (g->alone) {
        split_row(u, keys, (float *)part, part_sums(g, part, 0));
        return;
    }
    start_tiles(u, (float *)part);
    unit_keys(u, keys);
    for (int i = 0, r = 0; i < u->tiles; i++)
        for (int h = 0; h < u->tile[i].rows; h++, r++) {
            const struct tile *t = &u->tile[i];
            float *sums = part_sums(g, part, r);
            sums[1] = 0;
            for (int lane = h; lane < VF_LANES; lane += t->rows)
                sums[1] += t->sum[lane];
            /* No score above -inf: an empty part, or one of NaN, which must reach the row. */
            const bool empty = t->limit[h] == -INFINITY && sums[1] == 0;
            sums[0] = empty ? -INFINITY : t->shift[h];
        }
}

static void store_o(const struct unit *u, int r, const float *sum, float inverse)
{
    const struct geometry *g = u->g;
    const int w = FORMAT_VECTORS(g->format);
    char *to = unit_row(u, &u->t->o, r);
    for (ptrdiff_t at = 0; at < g->v.bytes; at += VF_BYTES, sum += w * VF_LANES) {
        const size_t left = (size_t)(g->v.bytes - at);
        char step[VF_BYTES];
        vf x[2] = {{0}};
        for (int i = 0; i < w; i++)
            x[i] = vf_load(sum + i * VF_LANES) * inverse;
        narrow(g->format, x, step);
        memcpy(to + at, step, geometry_minimum(left, VF_BYTES));
    }
}

/* Joins the parts of row r, in the order of their keys, and stores O and LSE. */
static void merge_row(const struct unit *u, int r, char *parts)
{
    const struct geometry *g = u->g;
    float m = -INFINITY, l = 0;
    for (size_t s = 0; s < g->splits; s++) {
        const float part_m = *part_sums(g, parts + s * g->part_bytes, r);
        m = part_m > m ? part_m : m;
    }
    float *sum = u->q; /* the splits are done with it */
    memset(sum, 0, (size_t)g->o_floats * sizeof *sum);
    for (size_t s = 0; s < g->splits; s++) {
        char *part = parts + s * g->part_bytes;
        const float *sums = part_sums(g, part, r);
        const float *o = (const float *)part + r * g->o_floats;
        if (sums[0] == -INFINITY)
            continue; /* O and l were not written */
        const float factor = exp2f(sums[0] - m);
        l += factor * sums[1];
        for (ptrdiff_t i = 0; i < g->o_floats; i++)
            sum[i] += factor * o[i];
    }
    const unsigned outputs = u->block.problem->outputs;
    if (outputs & ATTN_OUTPUT_LSE)
        *(float *)unit_row(u, &u->t->lse, r) = softmax_lse(m, l);
    if (outputs & ATTN_OUTPUT_O)
        store_o(u, r, sum, softmax_inverse(l));
}

static size_t workspace_size(const struct attn_problem *problem, int threads)
{
    const struct geometry g = geometry_of(problem, threads);
    return geometry_workspace(&g, threads);
}

/* Units one after the other, each by one thread. */
static void execute_units(const struct geometry *g, const struct attn_plan *plan,
                          const struct attn_tensors *tensors, char *scratch, char *slot)
{
#pragma omp for schedule(dynamic)
    for (size_t i = 0; i < g->units; i++) {
        struct unit u = unit_of(g, &plan->problem, tensors, i, scratch);
        for (size_t s = 0; s < g->splits; s++)
            split(&u, s, slot + s * g->part_bytes);
        for (int r = 0; r < u.rows; r++)
            merge_row(&u, r, slot);
    }
}

/* Splits of all units from one queue, then their rows. */
static void execute_splits(const struct geometry *g, const struct attn_plan *plan,
                           const struct attn_tensors *tensors, char *scratch, char *slots)
{
#pragma omp for schedule(dynamic)
    for (size_t i = 0; i < g->units * g->splits; i++) {
        struct unit u = unit_of(g, &plan->problem, tensors, i / g->splits, scratch);
        split(&u, i % g->splits, slots + i * g->part_bytes);
    }
#pragma omp for schedule(static)
    for (size_t i = 0; i < g->units * g->unit_rows; i++) {
        const size_t index = i / g->unit_rows;
        const struct unit u = unit_of(g, &plan->problem, tensors, index, scratch);
        const int r = (int)(i % g->unit_rows);
        if (r < u.rows)
            merge_row(&u, r, slots + index * g->splits * g->part_bytes);
    }
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct geometry g = geometry_of(&plan->problem, plan->threads);
    char *const slots = (char *)plan->workspace + (size_t)plan->threads * g.thread_bytes;
#pragma omp parallel num_threads(plan->threads)
    {
        const size_t thread = (size_t)omp_get_thread_num();
        char *scratch = (char *)plan->workspace + thread * g.thread_bytes;
        if (g.whole)
            execute_units(&g, plan, tensors, scratch, slots + thread * g.splits * g.part_bytes);
        else
            execute_splits(&g, plan, tensors, scratch, slots);
    }
}

const struct attn_kernel ATTN_KERNEL = {
    .size = sizeof(struct attn_kernel),
    .name = "split_kv",
    .summary = "decode: keys in fixed splits, a group's heads share each row, parts merged",
    .source = "Flash-Decoding, Dao, Haziza, Massa and Sizov 2023",
    .isa = ATTN_KERNEL_ISA,
    .caps.size = sizeof(struct attn_caps),
#ifdef __AVX512BF16__
    .caps.dtypes = ATTN_BIT(ATTN_BF16),
    .caps.compute = ATTN_BF16,
#else
    .caps.dtypes = ATTN_BIT(ATTN_F32) | ATTN_BIT(ATTN_BF16) | ATTN_BIT(ATTN_F16),
    .caps.compute = ATTN_F32,
#endif
    .caps.masks = ATTN_MASKS_POSITIONAL,
    .caps.options = ATTN_OPTION_WINDOW,
    .caps.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE,
    .caps.forward = true,
    .caps.parallel = true,
    .workspace_size = workspace_size,
    .execute = execute,
};
