/*
 * blocks.h: part of kernel flash for matrix units: begins a block of queries.
 */
#pragma once

#include "pack.h"
#include "weigh.h"

/* Computes ALiBi of all rows from the key of the first row: their softmax stays the same, and finish_row()
 * corrects their LSE.  Also finds by how much their products rise with the key. */
static void set_rises(struct block *block)
{
    for (size_t i = 0; i < block->rows.rows; i++) {
        const float slope = block->terms[i].slope, rise = slope != 0 ? slope / block->scale : 0;
        block->terms[i].at = block->terms[0].at;
        block->rise[i] = rise;
        if (slope != 0 && !(fabsf(rise) > 0x1p-100f && fabsf(rise) < 0x1p100f))
            block->kind = block->kind == WEIGH_RAMP ? WEIGH_CHANGED : block->kind;
    }
    for (size_t i = block->rows.rows; i < BLOCK_ROWS; i++)
        block->rise[i] = 0;
}

static void open_block(const struct call *call, const struct group_block *task, size_t first,
                       struct block *block)
{
    block->rows = group_part(task, first, BLOCK_ROWS);
    block->begun = block->started = false;
    block->kind = call->kind;
    const struct attn_tensors *t = call->tensors;
    block->scale = call->scale * scale_of_head(call, &t->k_scale, &block->rows);
    block->v_scale = call->v_tokens ? 1 : scale_of_head(call, &t->v_scale, &block->rows);
    /* Copies, which no store below can change: so GCC computes what rows see in vectors. */
    const struct attn_problem problem = *call->problem;
    struct group_block rows = block->rows;
    rows.problem = &problem;
    const bool alike = rows.full.lo == rows.seen.lo && rows.full.hi == rows.seen.hi;
    for (size_t i = 0; i < BLOCK_ROWS; i++) {
        const bool there = i < rows.rows;
        const struct attn_range seen = alike ? rows.seen : group_visible(&rows, i);
        block->lo[i] = there ? seen.lo : 0;
        block->hi[i] = there ? seen.hi : 0;
        block->m[i] = there ? -INFINITY : 0;
        block->bias[i] = weight_bias(block->m[i]);
    }
    /* A row that is not there has the terms of the last one, as their bias may be read. */
    for (size_t i = 0; call->terms && i < BLOCK_ROWS; i++)
        block->terms[i] = i < rows.rows
                              ? terms_of(call->problem, call->tensors, &rows.sequence, rows.b,
                                         group_head(&rows, i), group_query(&rows, i))
                              : block->terms[i - 1];
    if (call->problem->options & ATTN_OPTION_ALIBI)
        set_rises(block);
    pack_q(call, block);
}
