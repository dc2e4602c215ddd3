/*
 * build: which build of the program this is.
 */
#pragma once

#include <jansson.h>

/* {"version", "commit", "dirty", "compiler", "flags", "type"}; commit is null outside git. */
json_t *build_describe(void);

/* "0.1.0" */
const char *build_version(void);

/* "attnbench 0.1.0 (commit 0123456789ab, modified) GNU 12.2.0" */
void build_line(char text[160]);
