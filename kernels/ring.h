/*
 * ring.h: exact attention over ranks, processes that message each other by MPI and hold a part of the
 * sequence each.
 *
 * Ring Attention (Liu, Zaharia and Abbeel 2023, arXiv:2310.01889): every rank keeps its queries, and
 * keys and values travel around the ranks in blocks.  While a rank computes with one block, by a kernel
 * for a single process, the next one arrives; the partial results of a query are merged by their LSE.
 * In decode, queries are smaller than keys and travel instead: each rank computes all queries on its own
 * keys, by a kernel for few queries, and the partial results are merged in a tree, at rank 0.
 *
 * Sequences are cut into twice as many chunks as there are ranks, and rank r holds chunk r and
 * chunk 2N - 1 - r: under a causal mask every rank then has the same work in every step (zigzag order,
 * as in github.com/zhuzilin/ring-flash-attention).  Chunks differ by one row where the length does not
 * divide evenly.
 *
 * Life of a rank:
 *
 *     struct ring_ranks ranks;
 *     ring_start(&ranks);
 *     struct ring *ring = ring_open(&setting, &why);      // NULL: why
 *     ...  fill operands: rows ring_parts(ring, rank) of Q, K and V
 *     ring_execute(ring, &operands, &times);              // by all ranks together
 *     ring_close(ring);
 *     ring_end();
 *
 * Only the main thread of a rank calls these functions.
 */
#pragma once

#include "attention.h"

/* ---- ranks --------------------------------------------------------------------------------- */

struct ring_ranks {
    int rank, count;
    int local, locals; /* this one's number among the ranks of its host, and how many those are */
};

/* Begins; false where MPI does not. */
bool ring_start(struct ring_ranks *ranks);
void ring_end(void);

/* Name and version of the MPI library. */
#define RING_NAME 256
void ring_library(char text[RING_NAME]);

/* Ends all ranks at once. */
_Noreturn void ring_abort(int status);

/* Sends a line of at most RING_LINE bytes from rank 0 to all others.  They poll ring_hear(), which does
 * not block, so that they can sleep between calls. */
#define RING_LINE 65536
void ring_tell(const char *text, int ranks);
bool ring_hear(char text[RING_LINE]);

/* By all ranks together.  `all`: of every rank, on rank 0. */
void ring_barrier(void);
void ring_gather(const void *mine, size_t bytes, void *all);
void ring_largest(double *x, size_t n); /* each number becomes the largest of all ranks' */
void ring_sum(double *x, size_t n);     /* ... their sum */

/* Memory from one rank to another. */
void ring_send(const void *data, size_t bytes, int to);
void ring_receive(void *data, size_t bytes, int from);

/* ---- parts --------------------------------------------------------------------------------- */

/* Rows of a sequence: two chunks, the second behind the first.  In a rank's memory they lie one behind
 * the other. */
struct ring_part {
    size_t first[2], rows[2];
};

static inline size_t ring_part_rows(const struct ring_part *part)
{
    return part->rows[0] + part->rows[1];
}

/* What a rank holds of a sequence of that length; of several, the same of each. */
struct ring_part ring_part(size_t length, int rank, int ranks);

/* Queries and keys of one kernel call, as rows of a rank's part: all pairs, or those under a causal mask
 * aligned to the last key. */
struct ring_block {
    size_t q_first, q_rows, k_first, k_rows;
    bool causal;
};
#define RING_BLOCKS 8

/* The blocks that cover all visible (query, key) pairs, each once; returns how many. */
size_t ring_blocks(const struct attn_problem *problem, const struct ring_part *queries,
                   const struct ring_part *keys, struct ring_block blocks[RING_BLOCKS]);

/* ---- the kernel ---------------------------------------------------------------------------- */

struct ring_setting {
    const struct attn_problem *problem; /* of all ranks together */
    enum attn_isa isa;                  /* of the kernel that computes a block */
    int threads;                        /* of each rank */
    int rank, ranks;
    double (*clock)(void); /* seconds */
};

struct ring;

/* Allocates what a call needs; NULL sets *why to a static string. */
struct ring *ring_open(const struct ring_setting *setting, const char **why);
void ring_close(struct ring *ring);

/* Which rows of operands and results a rank holds, this one or another. */
struct ring_parts {
    struct ring_part q, kv, o;
};
struct ring_parts ring_parts(const struct ring *ring, int rank);

/* What computes a block: flash, or in decode with few queries split_kv. */
const struct attn_kernel *ring_block_kernel(const struct ring *ring);

/* Bytes that ring_open() has allocated. */
size_t ring_bytes(const struct ring *ring);

/* A rank's operands and results, all dense: (B, H, rows, D) in the problem's type, V directly behind
 * K; LSE is f32. */
struct ring_operands {
    const void *q;
    const void *kv;
    void *o;
    float *lse;
};

/* What calls took on this rank, added up. */
struct ring_times {
    double computing_s; /* outside MPI */
    double waiting_s;   /* inside: for data that is not there yet, and moving it */
    double sent_bytes;
};

/* One call, by all ranks together. */
void ring_execute(struct ring *ring, const struct ring_operands *operands,
                  struct ring_times *times);

/* The messages of a call without the computation. */
void ring_exchange(struct ring *ring, const struct ring_operands *operands,
                   struct ring_times *times);
