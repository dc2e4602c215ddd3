/*
 * rank_part: a rank's part of the operands and results of kernel ring, read from the file of tensors
 * (docs/protocol.md), or on another host received from rank 0.
 */
#pragma once

#include <jansson.h>

#include "rank_gather.h"
#include "ring.h"
#include "system/memory_file.h"

#define RANK_SETS 64

/* A set: addresses in the file, NULL without the file, and the rank's own memory. */
struct rank_set {
    struct attn_tensors whole;
    void *q, *kv, *o;
    float *lse;
};

struct rank_part {
    struct attn_problem problem;
    struct ring *ring;
    int rank, ranks;
    bool *has_file; /* of each rank; on rank 0 only */
    char *file;     /* NULL: it is on another host */
    size_t file_bytes, sets;
    struct rank_set set[RANK_SETS];
};

/* Binds the part to the problem of a request to prepare; by all ranks together.  False fills the report.
 * Call rank_part_close() in any case. */
bool rank_part_open(struct rank_part *part, const json_t *request,
                    const struct ring_setting *setting, struct rank_report *report);
void rank_part_close(struct rank_part *part);

/* Copies operands of a set into each rank's memory, and results out of it; by all ranks together. */
void rank_part_load(struct rank_part *part, size_t set);
void rank_part_store(struct rank_part *part, size_t set);

/* Fills results with NaN, so that rows that are not written are noticed. */
void rank_part_poison(struct rank_part *part, size_t set);

struct ring_operands rank_part_operands(const struct rank_part *part, size_t set);
