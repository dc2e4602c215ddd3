/*
 * noise: what disturbed the launches of a cell, and what their samples look like.
 *
 * A flag drops nothing: every sample counts, and the flag tells how to read the row.  A launch that was
 * visibly disturbed is repeated (noise_repeat), at most NOISE_REPEATS times; the last repeat is kept, and
 * flagged if it was disturbed, too.
 */
#pragma once

#include <stddef.h>

#include "disturbance.h"

#define NOISE_REPEATS 2

/* Bits of a set of flags.  Those up to NOISE_PAGED, NOISE_HALTED and NOISE_GROWS belong to single
 * launches, the others to a cell. */
enum noise {
    NOISE_PREEMPTED = 1 << 0,
    NOISE_MIGRATED = 1 << 1,
    NOISE_STEAL = 1 << 2,
    NOISE_THROTTLED = 1 << 3,
    NOISE_FREQUENCY = 1 << 4,
    NOISE_OVERSUBSCRIBED = 1 << 5,
    NOISE_PAGED = 1 << 6,
    NOISE_OUTLIERS = 1 << 7,
    NOISE_BIMODAL = 1 << 8,
    NOISE_DRIFT = 1 << 9,
    NOISE_NO_INTERVAL = 1 << 10,
    NOISE_ELSEWHERE = 1 << 11, /* set by launches_noise(), as NOISE_CORRELATED is */
    NOISE_CORRELATED = 1 << 12,
    NOISE_HALTED = 1 << 13,
    NOISE_GROWS = 1 << 14,
    NOISE_PRINTS = 1 << 15 /* set by launches_noise() */
};

/* One flag as text. */
struct noise_word {
    enum noise bit;
    char letter;         /* in tables */
    const char *word;    /* in results */
    const char *meaning; /* one line, with its threshold */
    bool disturbs;       /* a disturbance from outside, which may have changed the time */
};
extern const struct noise_word noise_words[];
extern const size_t noise_word_count;

struct noise_launch {
    const double *samples_s; /* in the order taken */
    size_t samples;
    int threads; /* of the kernel */
    struct bench_disturbance disturbance;
};

/* The flags of one launch; `usual` is the median of noise_clock() in this cell, 0 where unknown. */
unsigned noise_of_launch(const struct noise_launch *launch, double usual);

/* Speed of the processor's clock before the samples: by its count of cycles, else by the multiply-add
 * probe.  The units differ, so only ratios are meaningful. */
double noise_clock(const struct bench_disturbance *disturbance);

/* Whether a launch with these flags is worth repeating: the disturbance came from outside and may be gone. */
bool noise_repeat(unsigned flags);

/* Whether a cell with so many launches and repeats may repeat once more: if more than a quarter of the
 * launches are disturbed, the disturbance is permanent, and repeats would only take time from other cells. */
bool noise_may_repeat(size_t launches, size_t repeats);

/* The flags of a cell, from its launches in the order taken. */
unsigned noise_of_cell(const struct noise_launch *launches, size_t n);

/* An array of the flags' words. */
json_t *noise_json(unsigned flags);
