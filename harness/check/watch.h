/*
 * watch: around each call of a kernel, in every thread of its team; for check*.c only.
 *
 * The threads of a team outlive a parallel region, and so does what a kernel does to them.
 */
#ifndef HARNESS_CHECK_WATCH_H
#define HARNESS_CHECK_WATCH_H

#include "trial.h"

/* The floating-point environment that a program starts with, in `threads` threads, which a fault
 * will be told of by number; and what it will be looked up in. */
void check_watch_begin(const struct trial *trial, int threads);

/* Restores it, so that the reference and later calls compute in it; false, and a failure noted,
 * where `who` left another one. */
bool check_watch_end(struct trial *trial, int threads, const char *who);

#endif
