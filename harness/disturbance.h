/*
 * disturbance: what happened to a launch, to JSON and back.
 */
#ifndef HARNESS_DISTURBANCE_H
#define HARNESS_DISTURBANCE_H

#include "bench.h"

json_t *disturbance_json(const struct bench_disturbance *disturbance);

/* What the object lacks is 0. */
struct bench_disturbance disturbance_parse(const json_t *object);

#endif
