/*
 * guest_kernels: proxies in the catalogue from a worker's description of a guest's kernels.
 */
#ifndef HARNESS_SESSION_GUEST_KERNELS_H
#define HARNESS_SESSION_GUEST_KERNELS_H

#include <jansson.h>

#include "problem/catalogue.h"

/* `list` is "kernels" of the answer to `describe`, kept for as long as the program runs.  False fills why
 * with what is wrong with one of them; then none is added. */
bool guest_kernels_add(const struct guest *guest, json_t *list, char *why, size_t why_size);

#endif
