/*
 * moves_thread: lets the last thread of its team run elsewhere than where it was bound.
 *
 * What is measured afterwards runs where nobody put it, perhaps two threads on one CPU.
 */
#define _GNU_SOURCE
#include <omp.h>
#include <sched.h>

#include "wrong.h"

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

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
#pragma omp parallel num_threads(plan->threads)
    if (omp_get_thread_num() == plan->threads - 1)
        move();
}

WRONG_KERNEL(moves_thread,
             "lets the last thread of its team run elsewhere than where it was bound");
