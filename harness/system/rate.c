/*
 * rate: the best of many short stretches.
 */
#include "rate.h"

#include <math.h>
#include <omp.h>

#include "base/clock.h"

/* Shortest stretch: 1000 times the difference, 100 ns, at which threads leave a barrier. */
#define STRETCH_S 2e-4

/* At least so many: on a busy machine a thread may lose its CPU for longer than all stretches should take,
 * and the only one measured would be the one that waited. */
#define STRETCHES 8

static size_t calibrate(rate_work *work, const void *context, int threads)
{
    for (size_t amount = 1;; amount *= 2) {
        const double start = clock_now();
        work(context, amount, 0, threads);
        if (clock_now() - start >= STRETCH_S)
            return amount;
    }
}

double rate_together(rate_work *work, const void *context, int threads, double seconds)
{
    const double deadline = clock_now() + seconds;
    const size_t amount = calibrate(work, context, threads);
    double best = 0, sum = 0, first = INFINITY, last = 0;
    int stretches = 0;
    bool more = true;
#pragma omp parallel num_threads(threads)
    while (more) {
#pragma omp barrier
        const double start = clock_now();
        const double done = work(context, amount, omp_get_thread_num(), omp_get_num_threads());
        const double end = clock_now();
#pragma omp critical
        {
            sum += done;
            first = start < first ? start : first;
            last = end > last ? end : last;
        }
#pragma omp barrier
#pragma omp single
        {
            best = fmax(best, sum / (last - first));
            more = ++stretches < STRETCHES || last < deadline;
            sum = last = 0;
            first = INFINITY;
        }
    }
    return best;
}

double rate_apart(rate_work *work, const void *context, int threads, double seconds)
{
    const size_t amount = calibrate(work, context, threads);
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        double best = 0;
#pragma omp barrier
        const double deadline = clock_now() + seconds;
        double start = clock_now();
        for (int stretches = 0; stretches < STRETCHES || start < deadline; stretches++) {
            const double done = work(context, amount, omp_get_thread_num(), omp_get_num_threads());
            const double end = clock_now();
            best = fmax(best, done / (end - start));
            start = end;
        }
        sum += best;
    }
    return sum;
}
