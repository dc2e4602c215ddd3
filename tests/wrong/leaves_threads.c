/*
 * leaves_threads: its first call starts two threads that outlive it.
 *
 * They could finish its work while nobody looks at the clock, and they take CPUs from whoever is
 * measured next.
 */
#include <pthread.h>
#include <unistd.h>

#include "wrong.h"

static void *stay(void *nothing)
{
    for (;;)
        sleep(1);
    return nothing;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    static bool started;
    pthread_t thread;
    each_row(plan, tensors, honest_row);
    for (int n = 0; n < 2 && !started; n++)
        if (pthread_create(&thread, NULL, stay, NULL) == 0)
            pthread_detach(thread);
    started = true;
}

WRONG_KERNEL(leaves_threads, "its first call starts two threads that outlive it");
