/*
 * line.h: part of kernel flash for matrix units: the pipeline of jobs.
 *
 * In a turn the softmax of one job is computed beside the scores of the next strips and the results of the
 * job before.  Weights have two places, for the job under way and the one before; scores a ring of strips.
 */
#pragma once

#include "exactly.h"
#include "finish.h"
#include "jobs.h"
#include "softmax_rows.h"
#include "whole.h"

#define JOBS_IN_LINE 8

/* Jobs, numbered as they come, and strips of theirs. */
struct line {
    struct jobs source;
    struct job jobs[JOBS_IN_LINE];
    int made;                       /* jobs */
    int scored, scored_strip;       /* the next strip to multiply is this one of this job */
    int strips_scored, strips_done; /* of all jobs, since the line began */
    int ring, ahead; /* strips of scores that there is room for; that are multiplied ahead */
    bool over;       /* there is no further job */
    float offsets[JOB_STRIPS][STRIP_KEYS]; /* where keys of the job under way stand (set_offsets) */
};

static struct job *job_at(struct line *line, int number)
{
    while (line->made <= number && !line->over) {
        if (next_job(&line->source, &line->jobs[line->made % JOBS_IN_LINE]))
            line->made++;
        else
            line->over = true;
    }
    return number < line->made ? &line->jobs[number % JOBS_IN_LINE] : NULL;
}

static float *ring_at(const struct line *line, int strip)
{
    return line->source.scratch->ring + strip % line->ring * STRIP_SCORES;
}

/* Scores of the next strip; false where there is none. */
static bool next_score(struct line *line, int total, struct product *product)
{
    const struct scratch *scratch = line->source.scratch;
    const struct job *job = job_at(line, line->scored);
    if (!job || !job->strips)
        return false;
    const int at =
        line->strips_scored - line->strips_done; /* counted from the current job's first */
    score_product(line->source.call, job->block,
                  packed_k(line->source.call, scratch, job->strip[line->scored_strip]),
                  ring_at(line, line->strips_scored), product);
    product->ready = at < total ? (at + 1) * BLOCK_ROWS : 0;
    product->taken = (at + 1 - line->ring) * BLOCK_ROWS;
    line->strips_scored++;
    if (++line->scored_strip == job->strips) {
        line->scored_strip = 0;
        line->scored++;
    }
    return true;
}

/* Products of a turn: scores up to those that are to be ahead of `job`, and results of the job before, in
 * turns. */
static int list_products(struct line *line, const struct job *job, const struct job *before,
                         const uint16_t *weights, struct product *list)
{
    const struct call *call = line->source.call;
    const bool results = before && before->strips;
    const int total = job ? job->strips : 0, values = results ? call->v_steps : 0;
    const int scores = line->strips_done + total + line->ahead - line->strips_scored;
    int n = 0;
    for (int d = 0, made = 0; d < (values ? values : 1); d++) {
        const int due = values ? (d + 1) * scores / values : scores;
        for (; made < due && next_score(line, total, &list[n]); made++)
            n++;
        if (values)
            value_product(before, d, weights, line->source.scratch->v, &list[n++]);
    }
    if (results && !call->v_tokens)
        sum_product(before, weights, &list[n++]);
    return n;
}

/* How a job is weighed. */
static enum weigh_kind kind_of(const struct job *job)
{
    const enum weigh_kind kind = job->block->kind;
    const ptrdiff_t behind = job->strips ? job->key[job->strips - 1] + STRIP_KEYS : 0;
    if (kind == WEIGH_BIAS && behind > (ptrdiff_t)job->block->rows.sequence.kv_len)
        return WEIGH_CHANGED; /* which reads no bias behind the last key */
    return kind == WEIGH_ALL && job->masked ? WEIGH_SEEN : kind;
}

/* Keys of a strip, counted from where the block's rows stand. */
static void set_offsets(const struct block *block, ptrdiff_t key, float offsets[STRIP_KEYS])
{
    const float first = (float)(key - block->terms[0].at);
    for (int i = 0; i < STRIP_KEYS; i += VF_LANES)
        vf_store(offsets + i, vf_set1(first + (float)i) + __builtin_convertvector(vi_lanes(), vf));
}

static void set_weighing(struct line *line, const struct job *job, enum weigh_kind kind,
                         uint16_t *weights, struct weighing *w)
{
    const struct call *call = line->source.call;
    struct block *block = job->block;
    w->seen = job->seen;
    w->bias = block->bias;
    w->weights = weights;
    w->sums = call->v_tokens ? block->l[1] : NULL;
    w->factors = weigh_factors_of(call, block, kind);
    w->terms = block->terms;
    w->rise = block->rise;
    w->offsets = (const float(*)[STRIP_KEYS])line->offsets;
    w->end = (ptrdiff_t)block->rows.sequence.kv_len;
    w->scale = block->scale;
    w->half = kind == WEIGH_BIAS && block->terms[0].bias_type == ATTN_BF16;
    w->v_unit = call->v_unit;
    for (int s = 0; s < job->strips; s++) {
        w->scores[s] = ring_at(line, line->strips_done + s);
        w->key[s] = job->key[s];
        w->bias_at[s] = job->key[s] * (w->half ? 2 : 4);
        if (kind == WEIGH_RAMP)
            set_offsets(block, job->key[s], line->offsets[s]);
        w->k_scale[s] = scales_at(line->source.scratch->k_scales, job->strip[s]);
        w->v_scale[s] = scales_at(line->source.scratch->v_scales, job->strip[s]);
    }
}

/* The first strips of a job where nothing is under way, so that its block gets an m. */
static void begin(struct line *line, const struct job *job, int turn, struct product *pending)
{
    if (line->scored < turn) {
        line->scored = turn;
        line->scored_strip = 0;
    }
    struct product list[JOB_STRIPS];
    int n = 0;
    const int strips = job->strips < line->ahead ? job->strips : line->ahead;
    while (line->strips_scored - line->strips_done < strips &&
           next_score(line, job->strips, &list[n]))
        n++;
    if (!n)
        return;
    for (int i = 0; i < n; i++)
        list[i].ready = list[i].taken = 0;
    multiply_alone(line->source.call->score_steps, list, n, pending);
}

/* Ends a block that has had its last job. */
static void end_block(const struct line *line, struct block *block, struct product *pending)
{
    const struct call *call = line->source.call;
    const struct keys keys = keys_of(call->tensors, &block->rows);
    flush(pending);
    finish_block(call, block);
    if (call->problem->outputs & ATTN_OUTPUT_WEIGHTS)
        report_block(call, &keys, block, line->source.scratch);
}

/* Whether all values of a job's keys are finite. */
static bool all_finite(const struct scratch *scratch, const struct job *job)
{
    bool finite = true;
    for (int s = 0; s < job->strips; s++)
        finite &= scratch->finite[job->strip[s]];
    return finite;
}

/* Adds the sums of a job whose weights take scales of values. */
static void add_sums(struct block *block)
{
    for (int i = 0; i < BLOCK_ROWS; i++)
        for (int at = 0; at < TILE_ROWS; at += VF_LANES) {
            float *all = block->l[0][i] + at, *job = block->l[1][i] + at;
            vf_store(all, block->started ? vf_load(all) + vf_load(job) : vf_load(job));
            vf_store(job, vf_set1(0));
        }
}

/* The next job if the turn can be computed whole; its first strips' scores are computed last. */
static const struct job *whole_next(struct line *line, int turn, enum weigh_kind kind,
                                    const struct job *job, const struct job *before)
{
    const struct call *call = line->source.call;
    if (!call->whole || kind >= WHOLE_KINDS || !job || !before || job->strips != JOB_STRIPS ||
        before->strips != JOB_STRIPS || line->scored != turn || line->scored_strip != line->ahead)
        return NULL;
    const struct job *next = job_at(line, turn + 1);
    return next && next->strips >= line->ahead ? next : NULL;
}

static void whole_turn(struct line *line, int turn, const struct job *job, const struct job *before,
                       const struct job *next, enum weigh_kind kind, const uint16_t *weights,
                       const struct weighing *w, struct progress *at, struct product *pending)
{
    const struct call *call = line->source.call;
    const struct scratch *scratch = line->source.scratch;
    struct whole whole = {
        .weights = weights,
        .v = scratch->v,
        .values = before->values,
        .k_at = call->k_at,
        .o = before->block->o,
        .l = before->block->l[0][0],
        .add = before->block->started,
    };
    int place = line->strips_scored % line->ring;
    for (int s = 0; s < JOB_STRIPS; s++, place = place + 1 < line->ring ? place + 1 : 0) {
        const int strip = (line->ahead + s) % JOB_STRIPS;
        const struct job *of = line->ahead + s < JOB_STRIPS ? job : next;
        whole.q[s] = of->block->q;
        whole.k[s] = packed_k(call, scratch, of->strip[strip]);
        whole.scores[s] = scratch->ring + place * STRIP_SCORES;
    }
    line->strips_scored += JOB_STRIPS;
    line->scored = turn + 1;
    if (next->strips == line->ahead) {
        line->scored = turn + 2;
        line->scored_strip = 0;
    }
    multiply_whole(call->q_steps, kind, &whole, w, at, pending);
}

/* Multiplies for one turn: the softmax of `job` beside the scores of the next and the results of the one
 * before. */
static void run_turn(struct line *line, int turn, struct job *job, struct job *before,
                     struct product *pending)
{
    const struct call *call = line->source.call;
    const struct scratch *scratch = line->source.scratch;
    uint16_t *weights = scratch->weights[turn & 1], *weights_before = scratch->weights[!(turn & 1)];
    struct weighing w = {.scale = 0};
    struct progress at = {.flags = weigh_no_flags()};
    enum weigh_kind kind = WEIGH_ALL;
    w.prefetch = &line->source.prefetch;
    if (call->v_tokens && before && before->strips)
        add_sums(before->block);
    if (job) {
        begin(line, job, turn, pending);
        kind = kind_of(job);
        set_weighing(line, job, kind, weights, &w);
        const int ready = line->strips_scored - line->strips_done;
        at.total = job->strips * BLOCK_ROWS;
        at.ready = ready < job->strips ? ready * BLOCK_ROWS : at.total;
        if (!job->block->begun)
            first_m(call, job, scratch, w.scores, at.ready / BLOCK_ROWS);
    }
    const struct job *next = whole_next(line, turn, kind, job, before);
    if (next) {
        whole_turn(line, turn, job, before, next, kind, weights_before, &w, &at, pending);
    } else {
        struct product list[MAX_STEPS + 2 * JOB_STRIPS + 1];
        const int n = list_products(line, job, before, weights_before, list);
        multiply(JOB_STRIPS * (call->score_steps + call->v_steps), kind, list, n, &w, &at, pending);
    }
    if (before && before->strips) {
        before->block->started = true;
        if (call->v_steps && !all_finite(scratch, before)) {
            const struct keys keys = keys_of(call->tensors, &before->block->rows);
            flush(pending);
            add_infinite(call, &keys, before, scratch, weights_before);
        }
    }
    if (job && vf_any_above(at.flags.square, w.factors.most))
        job->block->kind = WEIGH_CHANGED;
    if (job && (weigh_flagged(at.flags) || job->block->kind > kind)) {
        flush(pending);
        weigh_job_again(call, job, scratch, weights);
    }
    if (job)
        line->strips_done += job->strips;
}

/* All blocks of a task and the keys that are packed, and what follows without a stop. */
static void run_part(struct line *line)
{
    struct product pending = {.to.at = NULL};
    struct job *before = NULL, *job;
    line->made = line->scored = line->scored_strip = line->strips_scored = line->strips_done = 0;
    line->over = false;
    for (int turn = 0; (job = job_at(line, turn)) || before; turn++, before = job) {
        run_turn(line, turn, job, before, &pending);
        if (before && !line->source.call->in_parts && (!job || job->block != before->block))
            end_block(line, before->block, &pending);
    }
    flush(&pending);
}
