/*
 * model_size: what a model computes: a pass, a token, or a batch of sequences.  Internal to model_cases.
 */
#pragma once

#include "cases.h"
#include "models.h"

/* A pass over `length` tokens of each sequence, or a token on that many keys; or, if `runs` is not empty, its
 * sequences, in pages of page_size keys if that is not 0. */
struct model_size {
    bool prefill;
    size_t length, batch;
    struct input runs;
    size_t page_size;
};

/* Parses `[N]qQ[sS],...[:pageN]`, `lens:A,B,...` or a text for trace_read(); false fills message. */
bool model_size_read(struct piece text, struct model_size *size, struct message message);

/* Whether layers of the kind compute at this size; encoders, for example, do not decode. */
bool model_size_has(const struct model_size *size, const struct model_kind *kind);

/* Makes the problem and input of a layer; returns NULL, or why there is none. */
const char *model_size_case(const struct model_size *size, const struct model_kind *kind,
                            struct problem_case *c);

/* The size in names, "prefill-2048-b8", and in sentences, "a pass over 8 x 2048 tokens". */
#define MODEL_SIZE_NAME 64
void model_size_name(const struct model_size *size, size_t most, char text[MODEL_SIZE_NAME]);
void model_size_say(const struct model_size *size, char *text, size_t text_size);

/* ---- sequences from a CSV file of a server's requests (trace.c) ------------------------------ */

/* Parses `prompts:FILE[:N]`, the prompts of the first N requests (32), or `replies:FILE[:N]`, the last token
 * of each reply on all keys before it.  Columns have the names of public traces.  False fills message, with
 * the line of an error in the file. */
bool trace_is(struct piece text);
bool trace_read(struct piece text, struct input *input, struct message message);
