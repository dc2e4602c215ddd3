/*
 * watch: state that a call must restore, watched in every thread of its team; for check*.c only.
 */
#ifndef HARNESS_CHECK_WATCH_H
#define HARNESS_CHECK_WATCH_H

#include "trial.h"

/* Notes what the call must leave behind as it is (system/aftermath.h), and tells fault.h the
 * numbers of `threads` threads and the trial's memory, for the report of a fault. */
void check_watch_begin(const struct trial *trial, int threads);

/* Restores it for the reference and later calls; false, with a failure noted, where `who` had changed
 * it. */
bool check_watch_end(struct trial *trial, int threads, const char *who);

#endif
