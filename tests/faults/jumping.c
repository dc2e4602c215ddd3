/*
 * jumping: a time of day that jumps by a day, forth and back, at each call; other clocks go on.
 *
 * Loaded by LD_PRELOAD, into children too.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define DAY ((time_t)86400)

static time_t jump(void)
{
    static unsigned calls;
    return (__atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED) % 3 + (unsigned)getpid() % 2) * DAY;
}

EXPORT int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
        now->tv_sec += jump();
    return result;
}

EXPORT int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    *now = (struct timeval){precise.tv_sec, precise.tv_nsec / 1000};
    return 0;
}

EXPORT time_t time(time_t *now)
{
    struct timespec precise;
    clock_gettime(CLOCK_REALTIME, &precise);
    if (now)
        *now = precise.tv_sec;
    return precise.tv_sec;
}
