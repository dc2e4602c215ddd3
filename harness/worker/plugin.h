/*
 * plugin: kernels from a shared object, built with this or another version of attention.h.
 */
#pragma once

#include "session/protocol.h"

#define PLUGIN_KERNELS 64 /* most kernels of a file */

/* The variant that the request names; NULL fills why. */
const struct attn_kernel *plugin_load(const struct protocol_request *request, struct message why);

/* Adds "kernels" to the answer, their descriptions for the parent, which never loads the file; or "program":
 * true if the file is an executable. */
bool plugin_describe(const char *path, json_t *answer, struct message why);

/* Copies a plug-in's struct, which may be shorter or longer than ours: common fields are copied, our other
 * fields are 0.  `number` identifies the kernel in messages.  False fills why. */
bool plugin_copy(const struct attn_kernel *theirs, size_t number, struct attn_kernel *ours,
                 struct message why);
