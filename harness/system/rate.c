/*
 * rate: the best of many short repeats.
 */
#include "rate.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>

#include "base/clock.h"

/* Shortest repeat: 1000 times the 100 ns by which threads differ in leaving a barrier. */
#define REPEAT_S 2e-4

/* Least number of repeats, or as many as should take the given time: on a busy machine a thread may lose its
 * CPU for longer than that, and the only repeat would be a disturbed one. */
#define REPEATS 8

/* Units of work in a repeat; *least: how many repeats to make at least. */
static size_t calibrate(rate_work *work, const void *context, int threads, double seconds,
                        int *least)
{
    for (size_t amount = 1;; amount *= 2) {
        const double start = clock_now();
        work(context, amount, 0, threads);
        const double took = clock_now() - start;
        if (took >= REPEAT_S) {
            *least = (int)fmax(1, fmin(REPEATS, seconds / took));
            return amount;
        }
    }
}

/* The best of `least` repeats, or of as many as begin before the deadline. */
static double best_together(rate_work *work, const void *context, size_t amount, int threads,
                            int least, double deadline)
{
    int repeats = 0;
    double best = 0, sum = 0, first = INFINITY, last = 0;
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
            more = ++repeats < least || last < deadline;
            sum = last = 0;
            first = INFINITY;
        }
    }
    return best;
}

double rate_together(rate_work *work, const void *const *contexts, int count, int threads,
                     double seconds)
{
    const double share = seconds / count, start = clock_now();
    int least;
    const size_t amount = calibrate(work, contexts[0], threads, share, &least);
    double best = 0;
    for (int way = 0; way < count; way++)
        best = fmax(best, best_together(work, contexts[way], amount, threads, least,
                                        start + (way + 1) * share));
    return best;
}

double rate_apart(rate_work *work, const void *context, int threads, double seconds)
{
    int least;
    const size_t amount = calibrate(work, context, threads, seconds, &least);
    double sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
    {
        double best = 0;
#pragma omp barrier
        const double deadline = clock_now() + seconds;
        double start = clock_now();
        for (int repeats = 0; repeats < least || start < deadline; repeats++) {
            const double done = work(context, amount, omp_get_thread_num(), omp_get_num_threads());
            const double end = clock_now();
            best = fmax(best, done / (end - start));
            start = end;
        }
        sum += best;
    }
    return sum;
}
