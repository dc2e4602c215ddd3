/*
 * libraries: whether the libraries that kernels load are installed.
 *
 * This process loads none of them.  One worker for each library loads it, and says what is missing.
 */
#ifndef HARNESS_SESSION_LIBRARIES_H
#define HARNESS_SESSION_LIBRARIES_H

#include <stdbool.h>

#include "attention.h"

/* Asks for the libraries of all kernels in the catalogue.  Called once.  False: interrupted. */
bool libraries_ask(void);

/* What the library of a kernel lacks to be called, and how to get it; NULL where nothing, or where the
 * kernel loads none. */
const char *libraries_missing(const struct attn_kernel *kernel);

#endif
