/*
 * environment: removes variables before the constructors of shared libraries run.
 */
#include "environment.h"

#include <stdbool.h>
#include <stddef.h>

/* A name that ends in _ stands for all names with this prefix. */
static const char *const names[] = {"OMP_PROC_BIND",         "OMP_PLACES",   "GOMP_CPU_AFFINITY",
                                    "OMP_MAX_ACTIVE_LEVELS", "KMP_AFFINITY", "HWLOC_"};
static const char *const harmless[] = {"HWLOC_HIDE_ERRORS"};
static char ignored[512];

/* Sizes of threads' stacks; without a unit, the first is in bytes, the others in KiB.  Thread-local data
 * takes part of a stack: below 100 KiB no thread can be started (OpenBLAS takes 60 KiB), and kernels need
 * some, too. */
static const char *const stacks[] = {"KMP_STACKSIZE", "OMP_STACKSIZE", "GOMP_STACKSIZE"};
#define STACK_LEAST ((size_t)512 << 10)

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
    for (; *text >= '0' && *text <= '9' && n < STACK_LEAST; text++)
        n = 10 * n + (size_t)(*text - '0');
    if (text == digits || n >= STACK_LEAST)
        return false;
    while (*text == ' ')
        text++;
    for (unsigned u = 0; *text && u < sizeof units - 1; u++)
        if (*text == units[u])
            shift = 10 * (u / 2);
    return n << shift < STACK_LEAST;
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
               used)) static void (*const early)(int, char **, char **) = remove_harmful;

const char *environment_ignored(void)
{
    return ignored;
}
