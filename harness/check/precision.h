/*
 * precision: less precision than claimed; for check*.c only.
 */
#ifndef HARNESS_CHECK_PRECISION_H
#define HARNESS_CHECK_PRECISION_H

#include "trial.h"

/* The trial has run on N(0, 1) inputs: sets result->rms_ratio and fails above 8. */
bool check_precision(struct trial *trial);

#endif
