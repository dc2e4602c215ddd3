/*
 * launches: the journal's records of a cell's launches and statistics over them.
 */
#pragma once

#include "cell.h"
#include "base/stats_dependence.h"
#include "base/stats_launches.h"

/* The journal's record of a launch: the cell's identity, when and how it was launched, the worker's answer
 * and its median. */
struct launches_setting {
    size_t round;
    size_t repeat; /* 0; 1, 2, ... for repeats of a disturbed launch */
    size_t shift_bytes;
    double wall_s;
};
json_t *launches_record(const struct cell *cell, json_t *answer,
                        const struct launches_setting *setting);

/* The median of the samples of a launch or an answer, in seconds; NaN if it has none. */
double launches_median_sample(const json_t *record);

/* The launches' medians, in order, in seconds; returns how many; free() the array. */
size_t launches_medians(const struct cell *cell, double **medians);

/* Over launches: the median, and the largest, of the number `key` in the object `outer` of their records,
 * NULL for the record itself; and the median of element `index` of an array.  NaN if none has it. */
double launches_median_of(const struct cell *cell, const char *outer, const char *key);
double launches_largest(const struct cell *cell, const char *outer, const char *key);
double launches_median_in(const struct cell *cell, const char *outer, const char *key,
                          size_t index);

/* Median over launches of work / time / ceiling, each with the ceiling measured in the same launch. */
double launches_fraction(const struct cell *cell, double work, const char *ceiling);

/* Statistics of the samples; false where there are none. */
bool launches_statistics(const struct cell *cell, struct stats_launches *statistics);

/* Adds the cell's medians to the estimated correlation of neighbouring launches. */
void launches_dependence(const struct cell *cell, struct stats_dependence *pool);

/* Whether in every launch the memory lay where the policy puts it. */
bool launches_in_place(const struct cell *cell);

/* The noise flags of a launch, which is compared with the cell's earlier launches; and those of the cell. */
unsigned launches_noise_of(const struct cell *cell, const json_t *record);
unsigned launches_noise(const struct cell *cell);
