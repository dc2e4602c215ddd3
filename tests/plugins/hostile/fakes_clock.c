/*
 * fakes_clock: brings clocks of its own that stand still, and takes a millisecond.
 */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "wrong.h"

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 1};
    return 0;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    (void)zone;
    *now = (struct timeval){.tv_sec = 1};
    return 0;
}

time_t time(time_t *now)
{
    if (now)
        *now = 1;
    return 1;
}

WRONG_CALL(fakes_clock, "brings clocks of its own that stand still")
{
    const struct timespec millisecond = {.tv_nsec = 1000000};
    each_row(plan, tensors, honest_row);
    syscall(SYS_nanosleep, &millisecond, NULL);
}
