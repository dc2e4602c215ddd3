/*
 * A library by the name of an OpenMP runtime, whose threads stay as such a runtime's do.
 */
#include <pthread.h>
#include <unistd.h>

void second_openmp(void);

static void *stay(void *nothing)
{
    for (;;)
        sleep(1);
    return nothing;
}

void second_openmp(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, stay, NULL) == 0)
        pthread_detach(thread);
}
