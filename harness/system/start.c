/*
 * start: before main, raises the stack's limit, limits the processor time, and removes variables from the environment.
 */
#include "start.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
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

/* ---- the environment ------------------------------------------------------------------------- */

/* A name that ends in _ stands for all names with this prefix. */
static const char *const names[] = {"OMP_PROC_BIND",         "OMP_PLACES",   "GOMP_CPU_AFFINITY",
                                    "OMP_MAX_ACTIVE_LEVELS", "KMP_AFFINITY", "HWLOC_"};
static const char *const harmless[] = {"HWLOC_HIDE_ERRORS"};
static char ignored[512];

/* Sizes of threads' stacks; without a unit, the first is in bytes, the others in KiB.  Thread-local data
 * takes part of a stack: below 100 KiB no thread can be started (OpenBLAS takes 60 KiB), and kernels need
 * some, too. */
static const char *const stacks[] = {"KMP_STACKSIZE", "OMP_STACKSIZE", "GOMP_STACKSIZE"};
#define THREAD_STACK_LEAST ((size_t)512 << 10)

/* Functions that run before libraries and sanitizers are initialised: they call no library and are not
 * sanitized. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

/* The text after the prefix `with`; NULL: it has another one. */
EARLY static const char *after(const char *text, const char *with)
{
    while (*with)
        if (*text++ != *with++)
            return NULL;
    return text;
}

EARLY static bool is_one_of(const char *variable, const char *const *list, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const char *rest = after(variable, list[n]);
        if (rest && (*rest == '=' || rest[-1] == '_'))
            return true;
    }
    return false;
}

/* Appends a text up to its end or the character `end`. */
EARLY static void append(const char *text, char end)
{
    size_t at = 0;
    while (ignored[at])
        at++;
    for (; *text && *text != end && at + 1 < sizeof ignored; text++)
        ignored[at++] = *text;
}

EARLY static void note(const char *variable, const char *why)
{
    append(*ignored ? ", " : "", 0);
    append(variable, '=');
    append(why, 0);
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Whether a size such as "64k" or " 2 M" is below the minimum; false if the text is no size. */
EARLY static bool is_small(const char *text, unsigned shift)
{
    static const char units[] = "bBkKmMgG";
    size_t n = 0;
    while (*text == ' ')
        text++;
    const char *digits = text;
    for (; *text >= '0' && *text <= '9' && n < THREAD_STACK_LEAST; text++)
        n = 10 * n + (size_t)(*text - '0');
    if (text == digits || n >= THREAD_STACK_LEAST)
        return false;
    while (*text == ' ')
        text++;
    for (unsigned u = 0; *text && u < sizeof units - 1; u++)
        if (*text == units[u])
            shift = 10 * (u / 2);
    return n << shift < THREAD_STACK_LEAST;
}

EARLY static bool is_small_stack(const char *variable)
{
    for (unsigned n = 0; n < COUNT(stacks); n++) {
        const char *rest = after(variable, stacks[n]);
        if (rest && *rest == '=')
            return is_small(rest + 1, n ? 10 : 0);
    }
    return false;
}

EARLY static void remove_harmful(int argc, char **argv, char **variables)
{
    char **kept = variables;
    const char *rest = argc > 1 ? after(argv[1], "worker") : NULL;
    if (rest && !*rest)
        return;
    for (; *variables; variables++)
        if (is_one_of(*variables, names, COUNT(names)) &&
            !is_one_of(*variables, harmless, COUNT(harmless)))
            note(*variables, "");
        else if (is_small_stack(*variables))
            note(*variables, " (below 512 KiB)");
        else
            *kept++ = *variables;
    *kept = NULL;
}

__attribute__((section(".preinit_array"),
               used)) static void (*const removes)(int, char **, char **) = remove_harmful;

const char *start_ignored(void)
{
    return ignored;
}
