/*
 * clock: the only file that reads clocks.
 *
 * CLOCK_MONOTONIC_RAW, because NTP slews CLOCK_MONOTONIC by up to 500 ppm and a benchmark must
 * not see that as drift.
 */
#include "clock.h"

#include <assert.h>
#include <time.h>

double clock_now(void)
{
    struct timespec t;
    const int failed = clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    assert(!failed);
    (void)failed;
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_resolution(void)
{
    enum { READS = 20000 };
    double last = clock_now(), step = 1;
    for (int i = 0; i < READS; i++) {
        const double now = clock_now();
        if (now > last && now - last < step)
            step = now - last;
        last = now;
    }
    return step;
}

void clock_utc(char text[32])
{
    const time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    (void)strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
