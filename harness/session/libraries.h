/*
 * libraries: whether the libraries that kernels load are installed.
 *
 * This process loads none of them.  A worker for each library loads it, and answers what is missing.
 */
#pragma once

#include <stdbool.h>

#include "attention.h"

/* Tests the libraries of all kernels in the catalogue.  Called once.  False: interrupted. */
bool libraries_ask(void);

/* Why a kernel's library cannot be called, and how to install it; NULL if it can, or if the kernel needs
 * none. */
const char *libraries_missing(const struct attn_kernel *kernel);
