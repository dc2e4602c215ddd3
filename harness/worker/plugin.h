/*
 * plugin: kernels from a shared object, of this or another version of attention.h.
 */
#ifndef HARNESS_WORKER_PLUGIN_H
#define HARNESS_WORKER_PLUGIN_H

#include "session/protocol.h"

#define PLUGIN_KERNELS 64 /* most of one file */

/* The variant that the request names; NULL fills why. */
const struct attn_kernel *plugin_load(const struct protocol_request *request, char *why,
                                      size_t why_size);

/* "kernels" of the answer: what they are, as data for the parent, which never loads the file.  "program":
 * true where it is one. */
bool plugin_describe(const char *path, json_t *answer, char *why, size_t why_size);

/* Converts a plug-in's struct, which may be shorter or longer than ours: common fields are copied, our
 * further fields are 0. `number` names the kernel in messages.  False fills why. */
bool plugin_copy(const struct attn_kernel *theirs, size_t number, struct attn_kernel *ours,
                 char *why, size_t why_size);

#endif
