/*
 * watch: before and after each call of a kernel, in every thread of its team; for check*.c only.
 *
 * The threads of a team outlive a parallel region, and so does what a kernel does to them.
 */
#ifndef HARNESS_CHECK_WATCH_H
#define HARNESS_CHECK_WATCH_H

#include "trial.h"

/* Sets the floating-point environment that a program starts with in `threads` threads, and tells
 * fault.h their numbers and the trial's memory, for the report of a fault. */
void check_watch_begin(const struct trial *trial, int threads);

/* Restores that environment, so that the reference and later calls compute in it; false, and a
 * failure noted, where `who` left another one. */
bool check_watch_end(struct trial *trial, int threads, const char *who);

#endif
