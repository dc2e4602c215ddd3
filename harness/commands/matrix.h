/*
 * matrix: which kernel has which feature, from the capabilities.
 */
#ifndef HARNESS_COMMANDS_MATRIX_H
#define HARNESS_COMMANDS_MATRIX_H

#include <jansson.h>

#include "attention.h"

/* Features are rows, kernels columns, in as many tables as the width needs; below them the reasons why a
 * kernel refuses a feature that its capabilities include. */
void matrix_print(FILE *out, size_t width);

/* {"features": [NAME, ...], "lacks": {NAME: why, ...}} of one variant. */
json_t *matrix_json(const struct attn_kernel *kernel);

#endif
