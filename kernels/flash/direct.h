/*
 * direct.h: part of kernel flash: scores that become weights in the registers where they are, for two units
 * of 512 bits (FLASH_DIRECT).
 *
 * Sums of products begin at -m, which saves the subtraction, and the sum of the weights tells whether m has to
 * rise, which saves the maximum.  If it has, the register tile's scores are computed again without m, and the
 * block's earlier weights are scaled.  Sums of a lane that has seen no key begin at infinity, which shows in
 * the sum of weights.
 *
 * Weights too small to be normal become 0 (MXCSR.FTZ): they would cost 150 cycles, and as much in each product
 * with a value.  Only weights are made in this mode: scores lose nothing that matters in an exponent, and
 * results, which may be subnormal, are scaled and summed outside of it.
 */
#pragma once

#include "maximum.h"
#include "strip_products.h"
#include "strips.h"

#if FLASH_DIRECT

static void flush_to_zero(bool on)
{
    _MM_SET_FLUSH_ZERO_MODE(on ? _MM_FLUSH_ZERO_ON : _MM_FLUSH_ZERO_OFF);
}

/* What sums of a tile's scores begin at. */
static void find_starts(const struct tile *t, vf start[FLASH_COLS])
{
    for (int c = 0; c < FLASH_COLS; c++)
        start[c] = vf_select((vi)(t->floor[c] < vf_set1(EXP2_FLOOR)), vf_set1(INFINITY), -t->m[c]);
}

/*
 * Weights of a register tile after raising m to its scores: the first keys of a lane, or keys whose
 * scores exceed m.  The block has weights from row `first` on; `before`: the sums of earlier blocks.
 */
VF_NOINLINE void weigh_anew(const struct block *block, struct tile *t,
                            const struct register_tile *tile, const struct strip *strip, int first,
                            const struct weigh_args *args, vf before[FLASH_COLS])
{
    const vf lowest = vf_set1(-INFINITY);
    const vf floor[FLASH_COLS] = {lowest, lowest, lowest, lowest};
    vf top[FLASH_COLS] = {lowest, lowest, lowest, lowest}, factor[FLASH_COLS];
    struct score_args scores = args->scores;
    scores.start = no_start;
    scores.to.m = no_start;
    scores.to.floor = floor;
    scores.to.top = top + strip->col;
    tile->score[strip->cols - 1](&scores);
    float *const s = block->s + args->row * FLASH_TILE;
    for (int c = 0; args->lanes && c < strip->cols; c++) {
        vf seen = lowest;
        for (int r = 0; r < tile->rows; r++) {
            float *at = scores.to.s + r * FLASH_TILE + c * VF_LANES;
            const vi sees = seeing_lanes(&args->lanes[c], args->row + r);
            vf_store(at, vf_select(sees, vf_load(at), lowest));
            seen = vf_max(vf_load(at), seen);
        }
        top[strip->col + c] = seen;
    }
    flush_to_zero(false);
    tile_follow(t, top, 0, 1, block->job->v_dim, factor);
    flush_to_zero(true);
    for (int c = 0; c < FLASH_COLS; c++)
        before[c] *= factor[c];
    for (float *at = block->s + first * FLASH_TILE; at < s; at += FLASH_TILE)
        for (int c = 0; c < FLASH_COLS; c++)
            vf_store(at + c * VF_LANES, vf_load(at + c * VF_LANES) * factor[c]);
    for (int c = strip->col; c < strip->col + strip->cols; c++)
        exponentials(1, EXPONENT_SHIFTED, s + c * VF_LANES, tile->rows, t->m + c, 1, t->l + c);
}

/* Scores of all strips become weights, with an m that follows them. */
static void weigh_strips(const struct block *block, struct tile *t, const struct strip *strips,
                         int n)
{
    struct lane_range lanes[FLASH_COLS];
    vf start[FLASH_COLS], before[FLASH_COLS];
    bool anew = tile_has_new_lane(t), fit = false, masks = false;
    find_starts(t, start);
    /* A block's weights are summed by themselves, as values are. */
    for (int c = 0; c < FLASH_COLS; c++) {
        before[c] = t->l[c];
        t->l[c] = vf_set1(0);
    }
    for (int i = 0; i < n; i++)
        masks |= strips[i].full_from > strips[i].from || strips[i].full_to < strips[i].to;
    for (int c = 0; masks && c < FLASH_COLS; c++)
        lanes[c] = lanes_that_see(t, c, block->first);
    flush_to_zero(true);
    for (const struct strip *strip = strips; strip < strips + n; strip++) {
        const struct score_target none = {.m = no_start, .floor = no_start, .top = start};
        struct weigh_args args = {.scores = scores_from(block, t, strip->col, strip->from, none),
                                  .row = strip->from,
                                  .l = t->l + strip->col,
                                  .fit = &fit};
        args.scores.start = start + strip->col;
        while (args.row < strip->to) {
            const struct register_tile *tile = tile_of(strip->to - args.row, strip->cols);
            const bool all =
                args.row >= strip->full_from && args.row + tile->rows <= strip->full_to;
            args.lanes = all ? NULL : lanes + strip->col;
            args.scores.fetch = fetch_meanwhile(block, args.scores.dim);
            if (!anew)
                tile->weigh[strip->cols - 1](&args);
            if (anew || !fit) {
                weigh_anew(block, t, tile, strip, strips->from, &args, before);
                find_starts(t, start);
                anew = false;
            }
            scores_advance(block, tile->rows, &args.scores);
            args.row += tile->rows;
        }
    }
    flush_to_zero(false);
    for (int c = 0; c < FLASH_COLS; c++)
        t->l[c] += before[c];
}

#endif
