/*
 * guess_places: K and V read from wrong places: those of another head or sequence, or by wrong strides.
 */
#include "evidence.h"

/* ---- heads --------------------------------------------------------------------------------- */

/* Which operands are read from the wrong head or sequence. */
enum { READS_BOTH, READS_V, READS_K, SIDES };
static const char *const sides[SIDES] = {"", "V of ", "K of "};

/* Number n runs over each KV head of each sequence, first for both operands, then for V alone, then for K
 * alone.  Only sequences with as many keys count. */
static bool other_head(size_t n, const struct row_view *right, struct guess *guess)
{
    struct row_view *s = &guess->view;
    const struct attn_problem *p = &guess->problem;
    const size_t heads = p->batch * p->kv_heads, side = n / heads;
    const size_t b = n % heads / p->kv_heads, g = n % heads % p->kv_heads;
    const bool shared = p->options & ATTN_OPTION_SHARED_KV;
    if (side != READS_V) {
        s->b = b;
        s->g = g;
    }
    if (side != READS_K) {
        s->v_b = b;
        s->v_g = g;
    }
    snprintf(guess->text, guess->size,
             "as if it read %sKV head %zu of sequence %zu instead of %zu of %zu", sides[side], g, b,
             right->g, right->b);
    return (b != right->b || g != right->g) && !(shared && side != READS_BOTH) &&
           attn_sequence(p, &guess->tensors, b).kv_len >= s->sequence.kv_len;
}

/* ---- rows ---------------------------------------------------------------------------------- */

/* Which operands have wrong strides. */
enum { ROWS_Q = 1, ROWS_K = 2, ROWS_V = 4 };
static const struct {
    unsigned of;
    const char *name;
} rows[] = {
    {ROWS_Q, "q"},
    {ROWS_K, "k"},
    {ROWS_V, "v"},
    {ROWS_K | ROWS_V, "k and v"},
    {ROWS_Q | ROWS_K | ROWS_V, "q, k and v"},
};

#define ROW_SETS (sizeof rows / sizeof *rows)

/* Sets the strides of a dense tensor: that of its rows alone, or all of them as for (B, H, S, D); false
 * where they already have these values. */
static bool lay_dense(struct attn_tensor *t, size_t heads, size_t length, size_t dim, bool all)
{
    const ptrdiff_t row = t->stride[2], head = t->stride[1];
    t->stride[2] = (ptrdiff_t)dim;
    if (all) {
        t->stride[1] = (ptrdiff_t)(length * dim);
        t->stride[0] = (ptrdiff_t)(heads * length * dim);
    }
    return row != t->stride[2] || head != t->stride[1];
}

/* Number n: all strides of some operands are as in (B, H, S, D); then only their rows are contiguous,
 * which for the first head is the same.  Dense rows take no more memory than the operand has, so nothing
 * outside it is read. */
static bool other_rows(size_t n, struct guess *guess)
{
    const struct attn_problem *p = &guess->problem;
    struct attn_tensors *t = &guess->tensors;
    const bool all = n < ROW_SETS;
    const unsigned of = rows[n % ROW_SETS].of;
    const ptrdiff_t apart = (of & ROWS_Q ? t->q : of & ROWS_K ? t->k : t->v).stride[2];
    bool differs = true;
    if (of & ROWS_Q)
        differs = lay_dense(&t->q, p->q_heads, p->q_len, p->qk_dim, all) && differs;
    if (of & ROWS_K)
        differs = lay_dense(&t->k, p->kv_heads, p->kv_len, p->qk_dim, all) && differs;
    if (of & ROWS_V)
        differs = lay_dense(&t->v, p->kv_heads, p->kv_len, p->v_dim, all) && differs;
    if (all)
        snprintf(guess->text, guess->size, "as if %s lay (B, H, S, D)", rows[n % ROW_SETS].name);
    else
        snprintf(guess->text, guess->size,
                 "as if rows of %s were %zu elements apart instead of %td", rows[n % ROW_SETS].name,
                 of & (ROWS_Q | ROWS_K) ? p->qk_dim : p->v_dim, apart);
    if (all && (p->layout == ATTN_BHSD || p->options & (ATTN_OPTION_PAGED | ATTN_OPTION_PACKED)))
        return false;
    return differs && !(of & ROWS_V && p->options & ATTN_OPTION_SHARED_KV);
}

bool guess_place(size_t n, const struct row_view *right, struct guess *guess, bool *fits)
{
    const size_t heads = SIDES * right->problem->batch * right->problem->kv_heads;
    const size_t end = heads + 2 * ROW_SETS;
    *fits = n < heads ? other_head(n, right, guess) : n < end && other_rows(n - heads, guess);
    return n < end;
}
