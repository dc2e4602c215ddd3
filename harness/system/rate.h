/*
 * rate: how much work per second threads do at best, for the ceilings.
 */
#ifndef HARNESS_SYSTEM_RATE_H
#define HARNESS_SYSTEM_RATE_H

#include <stddef.h>

/* What one thread does, `amount` times; returns its work (operations or bytes). */
typedef double rate_work(const void *context, size_t amount, int thread, int threads);

/* Keeps a result alive. */
static inline void rate_consume(double x)
{
    __asm__ volatile("" : : "g"(&x) : "memory");
}

/* Work per second where threads share what is measured (memory): of the best repeat that all begin
 * together, from the first thread's start to the last one's end.  Each of `count` contexts, which name ways to
 * do the same work, gets its share of the seconds, and one repeat at least. */
double rate_together(rate_work *work, const void *const *contexts, int count, int threads,
                     double seconds);

/* Work per second where each thread has units of its own (arithmetic): the sum of each one's best
 * repeat while all are at work.  A thread that loses its CPU for a while does not make the machine
 * look slower: 4 ms are long enough for an undisturbed repeat, and there are eight at least
 * where so many should fit into the time. */
double rate_apart(rate_work *work, const void *context, int threads, double seconds);

#endif
