/*
 * softmax: the parts of the experiment of that name.
 */
#ifndef HARNESS_EXPERIMENTS_SOFTMAX_SOFTMAX_H
#define HARNESS_EXPERIMENTS_SOFTMAX_SOFTMAX_H

#include <jansson.h>
#include <stdbool.h>

/* What the notebook printed; the last has a NULL key. */
struct softmax_printed {
    const char *key;
    double multiplier;
    const char *format; /* of its numbers */
};
extern const struct softmax_printed softmax_printed[];

/* What random logits are drawn from; the last is NULL. */
extern const char *const softmax_inputs[];

/* Tables and finding; false where a weight differs in a printed digit. */
bool softmax_report(const json_t *rows);

#endif
