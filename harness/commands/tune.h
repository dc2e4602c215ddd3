/*
 * tune: which of the library's variants are the fastest near the crossings of its rules, measured and kept.
 */
#ifndef HARNESS_COMMANDS_TUNE_H
#define HARNESS_COMMANDS_TUNE_H

#include "session/session.h"

/* Makes a run of the options: which kernels compete, and that each is checked on its own case.  The file of
 * --output is not the run's, and goes to *path.  False fills message. */
bool tune_begin(struct options *options, const char **path, char *message, size_t message_size);

/* Writes what won, for kernels/wisdom.h, and says how often the rules are overruled.  False fills message. */
bool tune_write(const struct cell *cells, size_t count, const char *path, char *message,
                size_t message_size);

/* Makes attn_kernel_best() use such a file.  False fills message. */
bool tune_load(const char *path, char *message, size_t message_size);

#endif
