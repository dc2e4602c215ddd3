/*
 * start: a clock that runs until main, and the stack's limit.
 */
#include "start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S \
    2 /* of processor time; libraries take 0.05 s, under valgrind 0.3 s (Xeon, 2026-11-26) */
#define STACK_LEAST ((rlim_t)1 << 20) /* `check` takes over 128 KiB, GCC 12 */
#define STACK_USUAL ((rlim_t)8 << 20) /* Linux's own */
#define STATUS 3                      /* EXIT_ENVIRONMENT */

#ifndef __has_feature
#define __has_feature(x) 0 /* of Clang */
#endif
/* A sanitizer takes these calls, before it is ready. */
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && \
    !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

static void give_up(int number)
{
    static const char text[] =
        "attnbench: a library cannot be initialised, for lack of memory it seems: allow more "
        "(ulimit -v, -d), or ask for less (OPENBLAS_NUM_THREADS=1)\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    _exit(STATUS);
}

/* No library is ready yet: these calls are the system's and nothing more. */
static void watch(void)
{
    const struct itimerval patience = {.it_value.tv_sec = PATIENCE_S};
    struct sigaction action = {.sa_handler = give_up};
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &patience, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = watch;

#endif

/* Raises the limit of the stack where that is allowed; it grows by the limit of the moment. */
static bool has_stack(char *message, size_t size)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_LEAST)
        return true;
    limit.rlim_cur = limit.rlim_max < STACK_USUAL ? limit.rlim_max : STACK_USUAL;
    if (limit.rlim_cur >= STACK_LEAST && setrlimit(RLIMIT_STACK, &limit) == 0)
        return true;
    snprintf(message, size, "the stack may have %llu KiB, %llu are needed (ulimit -s)",
             (unsigned long long)limit.rlim_cur >> 10, (unsigned long long)STACK_LEAST >> 10);
    return false;
}

static void open_standard_files(void)
{
    static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", flags[fd]); /* the lowest number that is free */
}

bool start_begun(char *message, size_t message_size)
{
    const struct itimerval none = {.it_value.tv_sec = 0};
    setitimer(ITIMER_PROF, &none, NULL);
    signal(SIGPROF, SIG_DFL);
    open_standard_files();
    return has_stack(message, message_size);
}
