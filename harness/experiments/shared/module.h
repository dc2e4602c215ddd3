/*
 * module: code of kernels that lies beside the program, for experiments that build some anew.
 *
 * The parent loads nothing that starts threads, so that only workers open a module.
 */
#ifndef HARNESS_EXPERIMENTS_SHARED_MODULE_H
#define HARNESS_EXPERIMENTS_SHARED_MODULE_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the module of that name, a path relative to the program's folder, is there; false fills
 * message with how to build it. */
bool module_built(const char *name, char *message, size_t message_size);

/* A symbol of a module; NULL fills message: it is absent, cannot be loaded, or is of another build
 * than the program. */
void *module_symbol(const char *name, const char *symbol, char *message, size_t message_size);

#endif
