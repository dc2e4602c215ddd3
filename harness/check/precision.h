/*
 * precision: finds kernels that are less precise than they claim; for check*.c only.
 */
#ifndef HARNESS_CHECK_PRECISION_H
#define HARNESS_CHECK_PRECISION_H

#include "trial.h"

/* For a trial on an input with random errors, such as N(0, 1).  Sets the ratio of O's RMS error to that
 * of the plain f32 kernel, and fails above 8; the same for LSE. */
bool check_precision(struct trial *trial, double *ratio);

#endif
