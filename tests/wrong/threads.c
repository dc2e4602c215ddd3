/*
 * threads: what a call leaves behind: threads, memory, the floating-point environment.
 */
#define _GNU_SOURCE
#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <omp.h>

#include "flush.h"
#include "wrong.h"

/* Right, but allocates 256 KiB at every call and never frees them, and says so on standard error. */
WRONG_CALL(leaks, "right, but allocates at every call and prints")
{
    static char *volatile last;
    last = malloc(256 << 10);
    if (last)
        memset(last, 1, 256 << 10);
    fprintf(stderr, "allocated\n");
    each_row(plan, tensors, honest_row);
}

WRONG_CALL(leaves_flush,
           "flushes subnormal numbers to zero from its first call on, in the calling thread")
{
    each_row(plan, tensors, honest_row);
    flush_subnormals(true);
}

WRONG_CALL(leaves_flush_in_others,
           "flushes subnormal numbers to zero in every thread and restores its own only")
{
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    flush_subnormals(omp_get_thread_num() != 0);
}

WRONG_CALL(leaves_rounding, "rounds upward from its first call on")
{
    each_row(plan, tensors, honest_row);
    fesetround(FE_UPWARD);
}

static void *stay(void *nothing)
{
    for (;;)
        sleep(1);
    return nothing;
}

/* They could finish its work while nobody looks at the clock, and they take CPUs from whoever is
 * measured next. */
WRONG_CALL(leaves_threads, "its first call starts two threads that outlive it")
{
    static bool started;
    pthread_t thread;
    each_row(plan, tensors, honest_row);
    for (int n = 0; n < 2 && !started; n++)
        if (pthread_create(&thread, NULL, stay, NULL) == 0)
            pthread_detach(thread);
    started = true;
}

static void move(void)
{
    cpu_set_t at;
    if (sched_getaffinity(0, sizeof at, &at) != 0)
        return;
    const int bound = CPU_COUNT(&at) == 1;
    int cpu = 0;
    while (!CPU_ISSET(cpu, &at))
        cpu++;
    CPU_ZERO(&at);
    for (int other = 0; other < CPU_SETSIZE; other++)
        if (bound || other == cpu)
            CPU_SET(other, &at);
    sched_setaffinity(0, sizeof at, &at);
}

/* What is measured afterwards runs where nobody put it, perhaps two threads on one CPU. */
WRONG_CALL(moves_thread, "lets the last thread of its team run elsewhere than where it was bound")
{
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    if (omp_get_thread_num() == plan->threads - 1)
        move();
}

static void flush_from_now_on(struct attn_plan *plan)
{
    (void)plan;
    flush_subnormals(true);
}

WRONG_CALL(prepares_flush, "flushes subnormal numbers to zero from prepare on",
           .prepare = flush_from_now_on)
{
    each_row(plan, tensors, honest_row);
}

WRONG(restores_flush, ROW, "flushes subnormal numbers while it compares scores, which is allowed")
{
    make_scores(w);
    flush_subnormals(true);
    find_maximum(w);
    flush_subnormals(false);
    exponentiate(w);
    sum_values(w);
    store(w);
}
