/*
 * rate: the highest work per second of threads, for ceilings.
 */
#pragma once

#include <stddef.h>

/* A thread's work, done `amount` times; returns operations or bytes. */
typedef double rate_work(const void *context, size_t amount, int thread, int threads);

/* Keeps a result alive. */
static inline void rate_consume(double x)
{
    __asm__ volatile("" : : "g"(&x) : "memory");
}

/* Work per second if threads share a resource (memory): in the best repeat that all begin together, from the
 * first thread's start to the last one's end.  Each of `count` contexts is a way to do the same work, and gets
 * its share of the seconds and at least one repeat. */
double rate_together(rate_work *work, const void *const *contexts, int count, int threads,
                     double seconds);

/* Work per second if each thread has its own units (arithmetic): the sum of each one's best repeat while all
 * work.  A thread that loses its CPU for a while does not make the machine look slower: 4 ms are enough for
 * an undisturbed repeat, and there are at least eight if so many should fit into the time. */
double rate_apart(rate_work *work, const void *context, int threads, double seconds);
