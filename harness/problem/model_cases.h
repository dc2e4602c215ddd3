/*
 * model_cases: cases of models at given lengths, one for each problem that its layers compute.
 *
 * A case is named after model, kind (if the model has several here), phase and sizes:
 * gemma-2-9b-window-decode-16384-b8.  Layers that compute the same, even of several kinds or models, are one
 * case; each of its passes has its number of layers.
 */
#pragma once

#include "cases.h"

/* The lists of --model, --prefill, --decode and --batch; NULL: not given.  Sequences of a batch decode
 * together, or without --decode they are prefilled together.  A batch may also be a list of sequences
 * (model_size.h), or several lists separated by |. */
struct model_asked {
    const char *models, *prefill, *decode, *batch;
};

/* Appends the cases, and list->passes; nothing without --model. */
bool model_cases_add(struct case_list *list, const struct model_asked *asked,
                     struct message message);
