/*
 * teams: how long each thread of OpenMP teams works, and how long it waits for others.
 *
 * The times come from hooks into the OpenMP runtime, so kernels need not cooperate, and a library on the same
 * runtime (OpenBLAS) is recorded, too: teams_gomp.c interposes libgomp's entry points, teams_ompt.c is an
 * OMPT tool for runtimes that have this interface (libomp).  While nothing is recorded, this costs one test
 * per parallel region.
 */
#pragma once

#include <stdbool.h>

#define TEAMS_THREADS 1024 /* of a team; further ones are not recorded */

/* Start a new recording, and end it; on the thread that opens the parallel regions. */
void teams_start(void);
void teams_stop(void);

/* Seconds that thread number `thread` of a team worked between teams_start() and teams_stop(), and the rest
 * of that time.  Time outside of parallel regions counts as work of thread 0.  False: the runtime has no
 * hooks. */
bool teams_times(int thread, double *busy_s, double *waiting_s);

/* ---- for the listeners --------------------------------------------------------------------- */

bool teams_recording(void);

/* Called by the thread that opens an outermost region: the region took so many seconds. */
void teams_region(double seconds);

/* Called by each thread: it worked for so many seconds in a region; negative: it waited for so many
 * inside. */
void teams_worked(int thread, double seconds);

/* Called once by a listener whose hooks work. */
void teams_heard(void);
