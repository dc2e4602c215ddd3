/*
 * check_watch: what a kernel must leave alone in the threads that it runs on.
 */
#include "check_watch.h"

#include <omp.h>
#include <string.h>

#include "float_env.h"

void check_watch_begin(int threads)
{
#pragma omp parallel num_threads(threads)
    float_env_reset();
}

bool check_watch_end(struct trial *trial, int threads, const char *who)
{
    char first[FLOAT_ENV_TEXT] = "";
    int thread = threads;
#pragma omp parallel num_threads(threads)
    {
        char text[FLOAT_ENV_TEXT];
        const bool changed = float_env_changed(text);
        float_env_reset();
#pragma omp critical
        if (changed && omp_get_thread_num() < thread) {
            thread = omp_get_thread_num();
            memcpy(first, text, sizeof first);
        }
    }
    return thread == threads ||
           check_fail(trial, "%s leaves the floating-point environment changed: %s in thread %d",
                      who, first, thread);
}
