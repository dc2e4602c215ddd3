/*
 * start: raises the stack's limit, and limits the processor time before main.
 */
#include "start.h"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define PATIENCE_S \
    2 /* s of processor time; libraries take 0.05 s, under valgrind 0.3 s (Xeon, 2026-11-26) */
#define STACK_LEAST ((rlim_t)1 << 20) /* `check` takes over 128 KiB, GCC 12 */
#define STACK_USUAL ((rlim_t)8 << 20) /* Linux's default */
#define STATUS 3                      /* EXIT_ENVIRONMENT */

/* This file is compiled without lazy binding (-fno-plt), for which the stack may be too small, and uses no
 * stdio. */
static void say(const char *text)
{
    (void)!write(STDERR_FILENO, text, strlen(text));
}

static void say_kib(rlim_t bytes)
{
    char digits[24] = "", *at = digits + sizeof digits - 1;
    for (bytes >>= 10; bytes || !*at; bytes /= 10)
        *--at = (char)('0' + bytes % 10);
    say(at);
    say(" KiB");
}

/* Raises the stack's limit if that is allowed, which takes effect at once. */
static void demand_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= STACK_LEAST)
        return;
    limit.rlim_cur = limit.rlim_max < STACK_USUAL ? limit.rlim_max : STACK_USUAL;
    if (limit.rlim_cur >= STACK_LEAST && setrlimit(RLIMIT_STACK, &limit) == 0)
        return;
    say("attnbench: the stack may have ");
    say_kib(limit.rlim_cur);
    say(", ");
    say_kib(STACK_LEAST);
    say(" are needed (ulimit -s)\n");
    _exit(STATUS);
}

#ifndef __has_feature
#define __has_feature(x) 0 /* of Clang */
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1 /* its runtime intercepts these calls, before it is initialised */
#else
#define SANITIZED 0

static void give_up(int number)
{
    (void)number;
    say("attnbench: a library cannot be initialised, apparently for lack of memory: allow more "
        "(ulimit -v, -d), or ask for less (OPENBLAS_NUM_THREADS=1)\n");
    _exit(STATUS);
}

/* Runs before libraries are initialised, so it makes system calls only. */
static void watch(void)
{
    const struct itimerval patience = {.it_value.tv_sec = PATIENCE_S};
    struct sigaction action = {.sa_handler = give_up};
    demand_stack();
    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &patience, NULL);
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(void) = watch;

#endif

static void open_standard_files(void)
{
    static const int flags[] = {O_WRONLY, O_RDONLY, O_RDONLY};
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)!open("/dev/null", flags[fd]); /* gets the lowest free number */
}

void start_begun(void)
{
    const struct itimerval none = {.it_value.tv_sec = 0};
    setitimer(ITIMER_PROF, &none, NULL);
    signal(SIGPROF, SIG_DFL);
    open_standard_files();
    if (SANITIZED)
        demand_stack();
}
