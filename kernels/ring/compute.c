/*
 * compute: the queries of this rank on the keys that are here, in pieces.
 *
 * A piece is one call of the kernel, on some KV heads and queries of a block, so short that the
 * messages under way are seen to often enough: over TCP a socket holds a few MB, which 10 Gbit/s
 * empties in some ms.
 */
#include <math.h>
#include <string.h>

#include "ring_private.h"

#define PIECE 1e8 /* useful flops of a thread: about 1 ms */
#define ROWS 128  /* a piece has a multiple of so many queries, which kernels take in tiles */

/* What a piece computes. */
struct piece {
    size_t b, g, heads; /* KV heads */
    size_t row, rows;   /* of the block */
    size_t keys;
    bool causal;
};

/* One block, and how it is cut. */
struct cut {
    struct ring *ring;
    const struct ring_block *block;
    const char *q, *k, *v;
    size_t k_rows; /* of the rank's part, all of which lie behind each other */
    bool direct;   /* results go where they are added up, as there are none yet */
};

static size_t at_least(size_t x, size_t least)
{
    return x > least ? x : least;
}

static size_t at_most(size_t x, size_t most)
{
    return x < most ? x : most;
}

/* Dense (heads, rows, dim) from an address on. */
static struct attn_tensor tensor(const void *data, enum attn_dtype dtype, size_t heads, size_t rows,
                                 size_t dim)
{
    const ptrdiff_t head = (ptrdiff_t)(rows * dim);
    return (struct attn_tensor){.data = (void *)data,
                                .dtype = dtype,
                                .stride = {head * (ptrdiff_t)heads, head, (ptrdiff_t)dim, 1}};
}

/* Row `row` of head `head`, in elements. */
static size_t at(size_t heads, size_t rows, size_t b, size_t head, size_t row)
{
    return (b * heads + head) * rows + row;
}

/* What the kernel computes for a piece. */
static struct attn_problem problem_of(const struct ring *ring, const struct piece *piece)
{
    struct attn_problem part = ring->problem;
    part.batch = 1;
    part.q_heads = piece->heads * (part.q_heads / part.kv_heads);
    part.kv_heads = piece->heads;
    part.q_len = piece->rows;
    part.kv_len = piece->keys;
    part.mask = piece->causal ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
    part.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    part.layout = ATTN_BHSD;
    part.scale = attn_problem_scale(&ring->problem);
    return part;
}

/* Calls the kernel for a piece, its results into o and lse, whose heads are so many rows apart. */
static void call(const struct cut *cut, const struct piece *piece, const struct ring_sums *to,
                 size_t apart)
{
    const struct ring *ring = cut->ring;
    const struct attn_problem *p = &ring->problem;
    const size_t group = p->q_heads / p->kv_heads, heads = piece->heads * group;
    const size_t element = attn_dtype_size(p->dtype);
    const size_t q_rows = ring_part_rows(&ring->parts.q);
    const size_t q_at =
        at(p->q_heads, q_rows, piece->b, piece->g * group, cut->block->q_first + piece->row);
    const size_t k_at = at(p->kv_heads, cut->k_rows, piece->b, piece->g, cut->block->k_first);
    const struct attn_problem part = problem_of(ring, piece);
    struct attn_plan plan;
    const char *why;
    struct attn_tensors tensors = {
        .size = sizeof tensors,
        .q = tensor(cut->q + q_at * p->qk_dim * element, p->dtype, heads, q_rows, p->qk_dim),
        .k = tensor(cut->k + k_at * p->qk_dim * element, p->dtype, 1, cut->k_rows, p->qk_dim),
        .v = tensor(cut->v + k_at * p->v_dim * element, p->dtype, 1, cut->k_rows, p->v_dim),
        .o = tensor(to->o, ATTN_F32, heads, apart, p->v_dim),
        .lse = tensor(to->lse, ATTN_F32, heads, apart, 1),
    };
    const bool planned = attn_plan_init(&plan, ring->kernel, &part, ring->setting.threads,
                                        ring->workspace, ring->workspace_bytes, &why);
    assert(planned); /* ring_note_workspace() has asked for each piece */
    (void)planned;
    attn_execute(&plan, &tensors);
    attn_plan_destroy(&plan);
}

/* Merges a piece into the sums. */
static void merge_piece(const struct cut *cut, const struct piece *piece)
{
    struct ring *ring = cut->ring;
    const struct attn_problem *p = &ring->problem;
    const size_t group = p->q_heads / p->kv_heads, dim = p->v_dim;
    const size_t q_rows = ring_part_rows(&ring->parts.q), count = piece->heads * group;
    const int threads = ring->setting.threads;
#pragma omp parallel for collapse(2) num_threads(threads) schedule(static) if (threads > 1)
    for (size_t h = 0; h < count; h++)
        for (size_t i = 0; i < piece->rows; i++) {
            const size_t to = at(p->q_heads, q_rows, piece->b, piece->g * group + h,
                                 cut->block->q_first + piece->row + i);
            const size_t from = h * piece->rows + i;
            ring_merge(ring->sums.o + to * dim, ring->sums.lse + to, ring->piece.o + from * dim,
                       ring->piece.lse[from], dim);
        }
}

static void run(const struct cut *cut, const struct piece *piece, void *travel)
{
    const struct ring *ring = cut->ring;
    const struct attn_problem *p = &ring->problem;
    const size_t group = p->q_heads / p->kv_heads, q_rows = ring_part_rows(&ring->parts.q);
    const size_t to =
        at(p->q_heads, q_rows, piece->b, piece->g * group, cut->block->q_first + piece->row);
    if (cut->direct) {
        const struct ring_sums sums = {ring->sums.o + to * p->v_dim, ring->sums.lse + to};
        call(cut, piece, &sums, q_rows);
    } else {
        call(cut, piece, &ring->piece, piece->rows);
        merge_piece(cut, piece);
    }
    ring_progress(cut->ring, travel);
}

/* How many KV heads and queries of a block a piece takes: all where nothing is under way. */
static void size_pieces(const struct cut *cut, bool under_way, size_t *heads, size_t *rows)
{
    const struct ring *ring = cut->ring;
    const struct attn_problem *p = &ring->problem;
    const double a_row = 2.0 * (double)(p->q_heads / p->kv_heads) * (double)(p->qk_dim + p->v_dim) *
                         (double)cut->block->k_rows;
    const double wanted = under_way ? PIECE * ring->setting.threads : INFINITY;
    const double a_head = a_row * (double)cut->block->q_rows;
    *heads = *rows = 1;
    if (a_head <= wanted) {
        *heads = (size_t)fmin(wanted / fmax(a_head, 1), (double)p->kv_heads);
        *rows = cut->block->q_rows;
    } else {
        *rows = at_least((size_t)(wanted / a_row) / ROWS, 1) * ROWS;
    }
}

/* Hands over each piece of a block of sequence b. */
static void each_piece(const struct cut *cut, size_t b, bool under_way,
                       void (*take)(const struct cut *cut, const struct piece *piece,
                                    void *context),
                       void *context)
{
    const struct ring_block *block = cut->block;
    const size_t kv_heads = cut->ring->problem.kv_heads;
    const ptrdiff_t ahead = (ptrdiff_t)block->k_rows - (ptrdiff_t)block->q_rows;
    size_t heads, rows;
    size_pieces(cut, under_way, &heads, &rows);
    for (size_t g = 0; g < kv_heads; g += heads)
        for (size_t row = 0; row < block->q_rows; row += rows) {
            const struct piece piece = {
                .b = b,
                .g = g,
                .heads = at_most(heads, kv_heads - g),
                .row = row,
                .rows = at_most(rows, block->q_rows - row),
                .keys = block->causal
                            ? (size_t)((ptrdiff_t)at_most(row + rows, block->q_rows) + ahead)
                            : block->k_rows,
                .causal = block->causal,
            };
            take(cut, &piece, context);
        }
}

/* `missing`: where to say what the kernel does not do. */
static void note_workspace(const struct cut *cut, const struct piece *piece, void *missing)
{
    struct ring *ring = cut->ring;
    const struct attn_problem part = problem_of(ring, piece);
    const char *why;
    if (attn_supports(ring->kernel, &part, &why))
        ring->workspace_bytes = at_least(
            ring->workspace_bytes, attn_workspace_size(ring->kernel, &part, ring->setting.threads));
    else
        *(const char **)missing = why;
}

const char *ring_note_workspace(struct ring *ring)
{
    const char *missing = NULL;
    for (int from = 0; from < ring->setting.ranks; from++) {
        const struct ring_part keys = ring_part(ring->problem.kv_len, from, ring->setting.ranks);
        struct ring_block blocks[RING_BLOCKS];
        const bool met = !ring->keys_stay || from == ring->setting.rank;
        const size_t count = met ? ring_blocks(&ring->problem, &ring->parts.q, &keys, blocks) : 0;
        for (size_t i = 0; i < count; i++) {
            const struct cut cut = {.ring = ring, .block = &blocks[i]};
            each_piece(&cut, 0, false, note_workspace, &missing); /* sequences are alike */
            if (!ring->keys_stay)
                each_piece(&cut, 0, true, note_workspace, &missing);
        }
    }
    return missing;
}

/* Nothing seen yet: O = 0 and LSE = -inf. */
static void clear(struct ring *ring)
{
    const size_t rows = ring_sum_rows(ring);
    memset(ring->sums.o, 0, rows * ring->problem.v_dim * sizeof *ring->sums.o);
    for (size_t i = 0; i < rows; i++)
        ring->sums.lse[i] = -INFINITY;
}

void ring_compute(struct ring *ring, const void *q, const void *kv, const struct ring_part *keys,
                  bool first, struct ring_travel *travel)
{
    const struct attn_problem *p = &ring->problem;
    struct ring_block blocks[RING_BLOCKS];
    const size_t count = ring_blocks(p, &ring->parts.q, keys, blocks);
    const size_t q_rows = ring_part_rows(&ring->parts.q), k_rows = ring_part_rows(keys);
    /* each query of a block sees a key of it */
    const bool direct = first && count == 1 && blocks[0].q_rows == q_rows;
    if (first && !direct)
        clear(ring);
    for (size_t i = 0; i < count; i++) {
        const struct cut cut = {
            .ring = ring,
            .block = &blocks[i],
            .q = q,
            .k = kv,
            .v = (const char *)kv +
                 p->batch * p->kv_heads * k_rows * p->qk_dim * attn_dtype_size(p->dtype),
            .k_rows = k_rows,
            .direct = direct,
        };
        for (size_t b = 0; b < p->batch; b++)
            each_piece(&cut, b, travel->count, run, travel);
    }
}

void ring_merge_all(struct ring *ring, const struct ring_sums *into, const struct ring_sums *from)
{
    const size_t rows = ring_sum_rows(ring), dim = ring->problem.v_dim;
    const int threads = ring->setting.threads;
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1)
    for (size_t i = 0; i < rows; i++)
        ring_merge(into->o + i * dim, into->lse + i, from->o + i * dim, from->lse[i], dim);
}
