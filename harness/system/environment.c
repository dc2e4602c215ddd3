/*
 * environment: what runs before the constructors of shared libraries.
 */
#include "environment.h"

#include <stdbool.h>
#include <stddef.h>

/* One that ends in _ stands for all that begin so. */
static const char *const names[] = {"OMP_PROC_BIND",         "OMP_PLACES",   "GOMP_CPU_AFFINITY",
                                    "OMP_MAX_ACTIVE_LEVELS", "KMP_AFFINITY", "HWLOC_"};
static const char *const harmless[] = {"HWLOC_HIDE_ERRORS"};
static char ignored[512];

/* Nothing here calls a library, which may not be ready yet, nor is watched by a sanitizer, which is not. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

/* What follows `with` where a text begins so; NULL where it does not. */
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

EARLY static void note(const char *variable)
{
    size_t at = 0;
    while (ignored[at])
        at++;
    for (const char *c = at ? ", " : ""; *c && at + 1 < sizeof ignored; c++)
        ignored[at++] = *c;
    for (const char *c = variable; *c && *c != '=' && at + 1 < sizeof ignored; c++)
        ignored[at++] = *c;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))

EARLY static void take_out(int argc, char **argv, char **variables)
{
    char **kept = variables;
    const char *rest = argc > 1 ? after(argv[1], "worker") : NULL;
    if (rest && !*rest)
        return;
    for (; *variables; variables++)
        if (is_one_of(*variables, names, COUNT(names)) &&
            !is_one_of(*variables, harmless, COUNT(harmless)))
            note(*variables);
        else
            *kept++ = *variables;
    *kept = NULL;
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **,
                                                                            char **) = take_out;

const char *environment_ignored(void)
{
    return ignored;
}
