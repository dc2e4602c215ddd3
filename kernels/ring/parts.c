/*
 * parts: which rows a rank holds, and what its queries see of a rank's keys.
 */
#include "ring.h"

struct ring_part ring_part(size_t length, int rank, int ranks)
{
    const size_t chunks = 2 * (size_t)ranks;
    const size_t numbers[2] = {(size_t)rank, chunks - 1 - (size_t)rank};
    struct ring_part part;
    for (int n = 0; n < 2; n++) { /* no product of a length and a count, which may overflow */
        const size_t each = length / chunks, more = length % chunks, at = numbers[n];
        part.first[n] = at * each + (at < more ? at : more);
        part.rows[n] = each + (at < more);
    }
    return part;
}

/* A chunk of queries [a, a + n) and one of keys [c, c + m), as positions in their sequences, and where
 * they begin in the memory of their ranks. */
struct pair {
    ptrdiff_t a, n, c, m;
    size_t q_at, k_at;
};

static void add(struct ring_block *blocks, size_t *count, const struct pair *p, ptrdiff_t from,
                ptrdiff_t to, ptrdiff_t key_end, bool causal)
{
    blocks[(*count)++] = (struct ring_block){
        .q_first = p->q_at + (size_t)(from - p->a),
        .q_rows = (size_t)(to - from),
        .k_first = p->k_at,
        .k_rows = (size_t)(key_end - p->c),
        .causal = causal,
    };
}

/*
 * Query i sees the keys below i + shift + 1.  `end` is behind the last key that any query sees, and
 * `full` the first query that sees all keys up to it. The queries up to `full` are a block under a causal
 * mask that is aligned to the last key.
 */
static void add_pair(struct ring_block *blocks, size_t *count, const struct pair *p,
                     ptrdiff_t shift)
{
    const ptrdiff_t last = p->a + p->n + shift, end = p->c + p->m < last ? p->c + p->m : last;
    if (!p->n || end <= p->c)
        return;
    const ptrdiff_t full = end - 1 - shift, seeing = p->c - shift > p->a ? p->c - shift : p->a;
    if (full <= p->a) {
        add(blocks, count, p, p->a, p->a + p->n, end, false);
        return;
    }
    add(blocks, count, p, seeing, full + 1, end, true);
    if (full + 1 < p->a + p->n)
        add(blocks, count, p, full + 1, p->a + p->n, end, false);
}

/* Makes one block of two that lie beside each other; false where they do not. */
static bool join(struct ring_block *a, const struct ring_block *b)
{
    if (a->causal || b->causal)
        return false;
    if (a->q_first == b->q_first && a->q_rows == b->q_rows && a->k_first + a->k_rows == b->k_first)
        a->k_rows += b->k_rows;
    else if (a->k_first == b->k_first && a->k_rows == b->k_rows &&
             a->q_first + a->q_rows == b->q_first)
        a->q_rows += b->q_rows;
    else
        return false;
    return true;
}

/* A rank's queries on its own keys: two triangles and the square between them are one triangle. */
static bool is_triangle(const struct ring_block b[3])
{
    return b[0].causal && !b[1].causal && b[2].causal && b[1].q_first == b[2].q_first &&
           b[1].q_rows == b[2].q_rows && b[0].q_first + b[0].q_rows == b[1].q_first &&
           b[0].k_first == b[1].k_first && b[0].k_rows == b[1].k_rows &&
           b[0].k_first + b[0].k_rows == b[2].k_first && b[2].k_rows == b[2].q_rows;
}

size_t ring_blocks(const struct attn_problem *problem, const struct ring_part *queries,
                   const struct ring_part *keys, struct ring_block blocks[RING_BLOCKS])
{
    const bool causal = problem->mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT);
    const ptrdiff_t shift =
        causal ? attn_position(problem, 0, (ptrdiff_t)problem->q_len, (ptrdiff_t)problem->kv_len)
               : (ptrdiff_t)problem->kv_len; /* every query sees every key */
    size_t count = 0, joined = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const struct pair pair = {
                .a = (ptrdiff_t)queries->first[i],
                .n = (ptrdiff_t)queries->rows[i],
                .c = (ptrdiff_t)keys->first[j],
                .m = (ptrdiff_t)keys->rows[j],
                .q_at = i ? queries->rows[0] : 0,
                .k_at = j ? keys->rows[0] : 0,
            };
            add_pair(blocks, &count, &pair, shift);
        }
    if (count == 3 && is_triangle(blocks)) {
        blocks[0].q_rows += blocks[2].q_rows;
        blocks[0].k_rows += blocks[2].k_rows;
        return 1;
    }
    for (size_t i = 1; i < count; i++)
        if (!join(&blocks[joined], &blocks[i]))
            blocks[++joined] = blocks[i];
    count = count ? joined + 1 : 0;
    return count == 2 && join(&blocks[0], &blocks[1]) ? 1 : count;
}
