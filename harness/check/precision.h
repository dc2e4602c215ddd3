/*
 * precision: less precision than claimed; for check*.c only.
 */
#ifndef HARNESS_CHECK_PRECISION_H
#define HARNESS_CHECK_PRECISION_H

#include "trial.h"

/* The trial has run on an input on which errors are as good as random; N(0, 1) is such a one.  Sets the
 * ratio of O's RMS error to the yardstick's, and fails above 8, of LSE, too. */
bool check_precision(struct trial *trial, double *ratio);

#endif
