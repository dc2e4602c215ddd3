/*
 * model_size: how much of a model is computed: a pass, a token, or a batch of sequences.  Internal to
 * model_cases.
 */
#ifndef HARNESS_PROBLEM_MODEL_SIZE_H
#define HARNESS_PROBLEM_MODEL_SIZE_H

#include "cases.h"
#include "models.h"

/* A pass over `length` tokens of each sequence, or one token on that many keys; or, if `runs` is not
 * empty, its sequences, in pages of page_size keys if that is not 0. */
struct model_size {
    bool prefill;
    size_t length, batch;
    struct input runs;
    size_t page_size;
};

/* Reads `[N]qQ[sS],...[:pageN]`, `lens:A,B,...` or what trace_read() does; false fills message. */
bool model_size_read(struct piece text, struct model_size *size, char *message,
                     size_t message_size);

/* Whether layers of that kind compute at this size: encoders, say, have no decode. */
bool model_size_has(const struct model_size *size, const struct model_kind *kind);

/* The problem and the input of such a layer; NULL, or why there is none. */
const char *model_size_case(const struct model_size *size, const struct model_kind *kind,
                            struct problem_case *c);

/* For names: "prefill-2048-b8"; for people: "a pass over 8 x 2048 tokens". */
#define MODEL_SIZE_NAME 64
void model_size_name(const struct model_size *size, size_t most, char text[MODEL_SIZE_NAME]);
void model_size_say(const struct model_size *size, char *text, size_t text_size);

/* ---- sequences from a CSV file of requests that a server had (trace.c) ----------------------- */

/* Reads `prompts:FILE[:N]`, the prompts of the first N requests (32), or `replies:FILE[:N]`, the last
 * token of each reply on all keys before it.  Columns are found by the names that public traces have.
 * False fills message, with the file's line if one is wrong. */
bool trace_is(struct piece text);
bool trace_read(struct piece text, struct input *input, char *message, size_t message_size);

#endif
