/*
 * Kernel ring's division of a problem: every row is held by one rank, every visible pair of a query and a key
 * is computed once, and under a causal mask no rank has more to do than another.
 */
#include "testing.h"

#include <math.h>

#include "base/clock.h"
#include "base/random.h"
#include "ring.h"

#define MOST 40 /* rows */

static uint64_t drawn;

static size_t below(size_t n)
{
    return random_below(11, drawn++, n);
}

/* The row of the sequence that a rank holds as number `at`. */
static size_t row_of(const struct ring_part *part, size_t at)
{
    return at < part->rows[0] ? part->first[0] + at : part->first[1] + at - part->rows[0];
}

static void every_row_is_held_once(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 9; ranks++)
        for (size_t length = 0; length <= MOST; length++) {
            int held[MOST] = {0};
            for (int r = 0; r < ranks; r++) {
                const struct ring_part part = ring_part(length, r, ranks);
                assert_true(part.first[0] + part.rows[0] <= part.first[1]);
                for (size_t i = 0; i < ring_part_rows(&part); i++)
                    held[row_of(&part, i)]++;
            }
            for (size_t i = 0; i < length; i++)
                assert_int_equal(held[i], 1);
        }
}

/* How often the blocks of a rank compute each pair. */
static void count_pairs(const struct attn_problem *p, const struct ring_part *queries,
                        const struct ring_part *keys, int count[MOST][MOST])
{
    struct ring_block blocks[RING_BLOCKS];
    const size_t n = ring_blocks(p, queries, keys, blocks);
    assert_true(n <= RING_BLOCKS);
    for (size_t k = 0; k < n; k++) {
        const struct ring_block *b = &blocks[k];
        assert_true(b->q_first + b->q_rows <= ring_part_rows(queries));
        assert_true(b->k_first + b->k_rows <= ring_part_rows(keys));
        for (size_t i = 0; i < b->q_rows; i++)
            for (size_t j = 0; j < b->k_rows; j++)
                if (!b->causal || j + b->q_rows <= i + b->k_rows)
                    count[row_of(queries, b->q_first + i)][row_of(keys, b->k_first + j)]++;
    }
}

static void every_visible_pair_is_computed_once(void **state)
{
    static const unsigned masks[] = {ATTN_MASK_NONE, ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL_TOP_LEFT};
    (void)state;
    for (int n = 0; n < 3000; n++) {
        struct attn_problem p;
        attn_problem_init(&p);
        p.q_len = 1 + below(MOST);
        p.kv_len = 1 + below(MOST);
        p.mask = masks[below(3)];
        const int ranks = 1 + (int)below(6);
        const bool all_queries = below(4) == 0; /* as in decode */
        int count[MOST][MOST] = {{0}};
        for (int r = 0; r < (all_queries ? 1 : ranks); r++) {
            const struct ring_part all = {{0, p.q_len}, {p.q_len, 0}};
            const struct ring_part own = all_queries ? all : ring_part(p.q_len, r, ranks);
            for (int from = 0; from < ranks; from++) {
                const struct ring_part keys = ring_part(p.kv_len, from, ranks);
                count_pairs(&p, &own, &keys, count);
            }
        }
        for (size_t i = 0; i < p.q_len; i++)
            for (size_t j = 0; j < p.kv_len; j++) {
                const struct attn_range r = attn_visible(&p, (ptrdiff_t)i);
                const int visible = (ptrdiff_t)j >= r.lo && (ptrdiff_t)j < r.hi;
                if (count[i][j] != visible)
                    fail_msg("%zu x %zu, mask %u, %d ranks: query %zu and key %zu %d times",
                             p.q_len, p.kv_len, p.mask, ranks, i, j, count[i][j]);
            }
    }
}

/* Pairs that a rank computes in the step in which it has the keys of rank `from`. */
static size_t pairs_in_step(const struct attn_problem *p, int rank, int from, int ranks)
{
    const struct ring_part queries = ring_part(p->q_len, rank, ranks);
    const struct ring_part keys = ring_part(p->kv_len, from, ranks);
    struct ring_block blocks[RING_BLOCKS];
    const size_t n = ring_blocks(p, &queries, &keys, blocks);
    size_t pairs = 0;
    for (size_t k = 0; k < n; k++)
        pairs += blocks[k].q_rows * blocks[k].k_rows -
                 (blocks[k].causal ? blocks[k].q_rows * (blocks[k].q_rows - 1) / 2 : 0);
    return pairs;
}

static void causal_work_is_the_same_in_every_rank_and_step(void **state)
{
    struct attn_problem p;
    (void)state;
    attn_problem_init(&p);
    p.mask = ATTN_MASK_CAUSAL;
    for (int ranks = 2; ranks <= 8; ranks++) {
        p.q_len = p.kv_len = 96 * 2 * (size_t)ranks;
        const size_t usual = pairs_in_step(&p, 0, 1, ranks);
        assert_int_equal(usual, 2 * 96 * 96);
        for (int rank = 0; rank < ranks; rank++)
            for (int from = 0; from < ranks; from++)
                assert_int_equal(pairs_in_step(&p, rank, from, ranks),
                                 usual + (rank == from ? 96 : 0)); /* the diagonal */
    }
}

static void own_keys_and_queries_are_one_block(void **state)
{
    struct ring_block blocks[RING_BLOCKS];
    struct attn_problem p;
    (void)state;
    attn_problem_init(&p);
    p.q_len = p.kv_len = 80;
    for (int causal = 0; causal < 2; causal++)
        for (int rank = 0; rank < 4; rank++) {
            const struct ring_part part = ring_part(80, rank, 4);
            p.mask = causal ? ATTN_MASK_CAUSAL : ATTN_MASK_NONE;
            assert_int_equal(ring_blocks(&p, &part, &part, blocks), 1);
            assert_true(blocks[0].causal == causal && blocks[0].q_rows == 20);
        }
}

/* What one of three ranks computes blocks with. */
static const char *block_kernel(size_t group, size_t q_len, size_t kv_len, int threads)
{
    struct attn_problem p;
    const char *why;
    attn_problem_init(&p);
    p.q_heads = 2 * group;
    p.kv_heads = 2;
    p.q_len = q_len;
    p.kv_len = kv_len;
    p.qk_dim = p.v_dim = 16;
    const struct ring_setting setting = {
        .problem = &p, .isa = ATTN_ISA_BASELINE, .threads = threads, .rank = 1, .ranks = 3};
    struct ring *ring = ring_open(&setting, &why);
    assert_non_null(ring);
    const char *name = ring_block_kernel(ring)->name;
    assert_int_equal(ring_block_kernel(ring)->isa, ATTN_ISA_BASELINE);
    ring_close(ring);
    return name;
}

static void few_queries_are_for_split_kv(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads++) { /* which change no result */
        assert_string_equal(block_kernel(1, 1, 3000, threads), "split_kv");
        assert_string_equal(block_kernel(2, 1, 3000, threads), "split_kv");
        assert_string_equal(block_kernel(8, 8, 30000, threads), "flash"); /* keys stay, too */
        assert_string_equal(block_kernel(1, 3000, 3000, threads), "flash");
    }
}

/* The other ranks, which have nothing to add. */
struct ring_sums;
void __wrap_ring_receive_sums(struct ring *ring, const struct ring_sums *sums, int from);
void __wrap_ring_merge_all(struct ring *ring, const struct ring_sums *into,
                           const struct ring_sums *from);

void __wrap_ring_receive_sums(struct ring *ring, const struct ring_sums *sums, int from)
{
    (void)ring, (void)sums, (void)from;
}

void __wrap_ring_merge_all(struct ring *ring, const struct ring_sums *into,
                           const struct ring_sums *from)
{
    (void)ring, (void)into, (void)from;
}

/* The two chunks of rank 0 are a block each, as the queries do not see all of the second: one split of keys
 * where both together are two, for which split_kv needs more memory if it has many threads. */
static void its_memory_is_enough_for_any_number_of_keys(void **state)
{
    enum { RANKS = 3, DIM = 16, ROWS = 2, KEYS = 2400 };
    static const float zeros[KEYS * 2 * DIM];
    static float o[ROWS * DIM], lse[ROWS];
    struct attn_problem p;
    (void)state;
    attn_problem_init(&p);
    p.q_heads = p.kv_heads = 1; /* so few rows are for split_kv on every host */
    p.qk_dim = p.v_dim = DIM;
    p.q_len = ROWS;
    p.mask = ATTN_MASK_CAUSAL;
    for (int threads = 1; threads <= 8; threads += 7)
        for (p.kv_len = 800; p.kv_len <= KEYS; p.kv_len += 1 + below(100)) {
            const struct ring_setting setting = {.problem = &p,
                                                 .isa = ATTN_ISA_BASELINE,
                                                 .threads = threads,
                                                 .ranks = RANKS,
                                                 .clock = clock_now};
            const struct ring_operands operands = {zeros, zeros, o, lse};
            const struct ring_part keys = ring_part(p.kv_len, 0, RANKS);
            struct ring_times times = {0};
            const char *why;
            struct ring *ring = ring_open(&setting, &why);
            assert_non_null(ring);
            assert_string_equal(ring_block_kernel(ring)->name, "split_kv");
            ring_execute(ring, &operands, &times);
            for (size_t row = 0; row < ROWS; row++) {
                const size_t unseen = ROWS - 1 - row;
                assert_float_equal(lse[row], logf((float)(ring_part_rows(&keys) - unseen)), 1e-5f);
            }
            ring_close(ring);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_is_held_once),
        cmocka_unit_test(every_visible_pair_is_computed_once),
        cmocka_unit_test(causal_work_is_the_same_in_every_rank_and_step),
        cmocka_unit_test(own_keys_and_queries_are_one_block),
        cmocka_unit_test(few_queries_are_for_split_kv),
        cmocka_unit_test(its_memory_is_enough_for_any_number_of_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
