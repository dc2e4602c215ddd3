/*
 * loads_threads: starts a thread as soon as it is loaded.
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

__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay, NULL) == 0)
        pthread_detach(thread);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    each_row(plan, tensors, honest_row);
}

WRONG_KERNEL(loads_threads, "starts a thread as soon as it is loaded");
