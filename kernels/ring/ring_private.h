/*
 * ring_private: what the files of ring/ share.
 */
#pragma once

#include "ring.h"

#define RING_MESSAGE ((size_t)1 << 30) /* bytes of a message at most: MPI counts in int */
#define RING_MESSAGES 64               /* under way at once in each direction */

/* Partial results: (B, Hq, rows, Dv) and (B, Hq, rows). */
struct ring_sums {
    float *o, *lse;
};

struct ring {
    struct ring_setting setting;
    struct attn_problem problem;
    const struct attn_kernel *kernel; /* computes a block */
    bool keys_stay;
    struct ring_parts parts;
    size_t kv_elements;     /* of K and V, a key */
    char *arriving[2];      /* keys and values of other ranks, in turn */
    struct ring_sums sums;  /* where results are added up; o is the caller's where that is f32 */
    struct ring_sums piece; /* what one call of the kernel computes, or another rank */
    void *workspace;        /* the kernel's */
    size_t workspace_bytes, bytes;
    double entered_s; /* when this rank called MPI last */
    struct ring_times *times;
};

/* Merges the second partial result into the first, `dim` elements of o. */
void ring_merge(float *o, float *lse, const float *other_o, float other_lse, size_t dim);
void ring_merge_all(struct ring *ring, const struct ring_sums *into, const struct ring_sums *from);

/* Keys and values on their way to the next rank, and those of the rank before on theirs to this one; one
 * journey at a time. */
struct ring_travel {
    int count; /* messages under way */
};
void ring_depart(struct ring *ring, const void *going, size_t going_bytes, void *coming,
                 size_t coming_bytes, struct ring_travel *travel);
void ring_progress(struct ring *ring, struct ring_travel *travel);
void ring_arrive(struct ring *ring, struct ring_travel *travel);

/* Partial results to or from another rank. */
void ring_send_sums(struct ring *ring, const struct ring_sums *sums, int to);
void ring_receive_sums(struct ring *ring, const struct ring_sums *sums, int from);

/* Computes all blocks of the queries with one rank's keys into the sums; `first`: those hold nothing yet. */
void ring_compute(struct ring *ring, const void *q, const void *kv, const struct ring_part *keys,
                  bool first, struct ring_travel *travel);

/* Notes the most bytes that the kernel needs for any piece of this rank, and returns what it does not do, or
 * NULL.  Fewer keys or heads may need more: it is asked for each. */
const char *ring_note_workspace(struct ring *ring);

static inline size_t ring_kv_bytes(const struct ring *ring, const struct ring_part *keys)
{
    const struct attn_problem *p = &ring->problem;
    return p->batch * p->kv_heads * ring_part_rows(keys) * ring->kv_elements *
           attn_dtype_size(p->dtype);
}

/* Rows of results of all heads that a rank adds up. */
static inline size_t ring_sum_rows(const struct ring *ring)
{
    return ring->problem.batch * ring->problem.q_heads * ring_part_rows(&ring->parts.q);
}
