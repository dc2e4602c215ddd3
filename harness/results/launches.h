/*
 * launches: the records of a cell's launches, as the journal keeps them, and the numbers in them.
 */
#ifndef HARNESS_RESULTS_LAUNCHES_H
#define HARNESS_RESULTS_LAUNCHES_H

#include "cell.h"
#include "base/stats_dependence.h"
#include "base/stats_launches.h"

/* What one launch of a cell leaves in the journal: identity, when and how it was launched, and the
 * worker's answer with its median. */
struct launches_setting {
    size_t round;
    size_t repeat; /* of a disturbed launch: 0, 1, ... */
    size_t shift_bytes;
    double wall_s;
};
json_t *launches_record(const struct cell *cell, json_t *answer,
                        const struct launches_setting *setting);

/* The median of the samples of one launch, or of an answer; NaN where it has none. */
double launches_median_sample(const json_t *record);

/* Medians in the order taken; returns how many; free() the array. */
size_t launches_medians(const struct cell *cell, double **medians);

/* Median over launches of one of their numbers, NaN where none has it; `outer` may be NULL. */
double launches_median_of(const struct cell *cell, const char *outer, const char *key);

/* The largest of them. */
double launches_largest(const struct cell *cell, const char *outer, const char *key);

/* The median of element number `index` of an array; `outer` may be NULL. */
double launches_median_in(const struct cell *cell, const char *outer, const char *key,
                          size_t index);

/* Median over launches of work / time / ceiling: each launch against the ceiling measured in it. */
double launches_fraction(const struct cell *cell, double work, const char *ceiling);

/* Statistics of the samples; false where there are none. */
bool launches_statistics(const struct cell *cell, struct stats_launches *statistics);

/* Adds its medians to the estimate of the correlation of neighbouring launches. */
void launches_dependence(const struct cell *cell, struct stats_dependence *pool);

/* Whether every launch found its memory where the policy puts it. */
bool launches_in_place(const struct cell *cell);

/* The flags of a launch, compared with the cell's earlier launches; and those of the cell. */
unsigned launches_noise_of(const struct cell *cell, const json_t *record);
unsigned launches_noise(const struct cell *cell);

#endif
