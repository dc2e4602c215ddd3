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

WRONG_CALL(loads_threads, "starts a thread as soon as it is loaded")
{
    each_row(plan, tensors, honest_row);
}
