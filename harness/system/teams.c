/*
 * teams: sums of working time per thread.
 */
#include "teams.h"

#include <stdalign.h>

#include "base/clock.h"

/* Each thread writes its own cache lines, which have 64 bytes on x86, up to 256 on AArch64. */
static struct {
    alignas(256) double worked_s;
} of_thread[TEAMS_THREADS];

static bool recording, heard;
static double started, stopped, regions_s;

void teams_start(void)
{
    for (int t = 0; t < TEAMS_THREADS; t++)
        of_thread[t].worked_s = 0;
    regions_s = 0;
    recording = true;
    started = clock_now();
}

void teams_stop(void)
{
    stopped = clock_now();
    recording = false;
}

bool teams_recording(void)
{
    return recording;
}

void teams_region(double seconds)
{
    regions_s += seconds;
}

void teams_worked(int thread, double seconds)
{
    if (thread < TEAMS_THREADS)
        of_thread[thread].worked_s += seconds;
}

void teams_heard(void)
{
    heard = true;
}

bool teams_times(int thread, double *busy_s, double *waiting_s)
{
    const double elapsed = stopped - started;
    if (!heard || thread >= TEAMS_THREADS)
        return false;
    *busy_s = of_thread[thread].worked_s + (thread == 0 ? elapsed - regions_s : 0);
    *waiting_s = elapsed - *busy_s;
    return true;
}
