/*
 * model_cases: models and lengths as cases: one for each kind of layer that differs in what it computes.
 *
 * A case is named after model, kind (if the model has several here), phase and sizes:
 * gemma-2-9b-window-decode-16384-b8.  Layers that compute the same are one case, of several kinds and of
 * several models; each pass that it is part of says with how many layers.
 */
#ifndef HARNESS_PROBLEM_MODEL_CASES_H
#define HARNESS_PROBLEM_MODEL_CASES_H

#include "cases.h"

/* What --model, --prefill, --decode and --batch say: lists, NULL where not given.  Sequences of a batch
 * decode together; where no decode is asked for they pass together.  A batch may also be a list of
 * sequences, as in model_size.h, or several with a | between. */
struct model_asked {
    const char *models, *prefill, *decode, *batch;
};

/* Appends the cases, and list->passes; nothing where nothing is asked. */
bool model_cases_add(struct case_list *list, const struct model_asked *asked, char *message,
                     size_t message_size);

#endif
