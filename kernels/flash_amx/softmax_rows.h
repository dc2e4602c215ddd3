/*
 * softmax_rows.h: part of kernel flash for matrix units: rows of the softmax, where they are wanted, from
 * scores computed a second time.
 */
#pragma once

#include "exactly.h"
#include "seen_keys.h"

/* Writes a block's weights for the strip at key j. */
static void report_strip(const struct call *call, const struct keys *keys, struct block *block,
                         ptrdiff_t j, const struct scratch *scratch)
{
    const ptrdiff_t n = (ptrdiff_t)call->problem->kv_len - j,
                    end = (ptrdiff_t)keys->sequence.kv_len;
    const size_t bytes = (size_t)(n < STRIP_KEYS ? n : STRIP_KEYS) * sizeof(float);
    uint32_t seen[BLOCK_ROWS] = {0};
    float k_scale[STRIP_KEYS];
    uint32_t bits[2][BLOCK_ROWS];
    struct left left = {.bits = bits};
    bool all;
    if (j < end && call->hides)
        look_at_operands(call, block, j, end - j < STRIP_KEYS ? end : j + STRIP_KEYS, &left);
    if (j < end && look(call, block, j, &left, seen, &all)) {
        hide_by_bias(call, block, j, seen);
        const uint16_t *packed = scratch->strip;
        const struct elements k = elements_of(call->problem->kv_dtype, 1);
        pack_keys(call, keys, &k, j, end - j < STRIP_KEYS ? end - j : STRIP_KEYS, scratch->strip,
                  call->k_tokens ? k_scale : NULL);
        score_strips(call, block, &packed, 1, scratch->again);
    }
    for (int i = 0; (size_t)i < block->rows.rows; i++) {
        float row[STRIP_KEYS] = {0};
        if (seen[i])
            see_row(call, block, i, scratch->again + i * STRIP_KEYS, j,
                    call->k_tokens ? k_scale : NULL, seen[i], row);
        for (int key = 0; key < STRIP_KEYS; key++)
            row[key] =
                seen[i] >> key & 1 ? power_of(call, block, i, row[key]) * block->inverse[i] : 0;
        memcpy(group_row_real(&block->rows, &call->tensors->weights, (size_t)i) + j, row, bytes);
    }
}

static void report_block(const struct call *call, const struct keys *keys, struct block *block,
                         const struct scratch *scratch)
{
    for (ptrdiff_t j = 0; j < (ptrdiff_t)call->problem->kv_len; j += STRIP_KEYS)
        report_strip(call, keys, block, j, scratch);
}
