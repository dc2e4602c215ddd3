/*
 * openmp_environment: what runs before the constructors of shared libraries.
 */
#include "openmp_environment.h"

#include <stdbool.h>
#include <stddef.h>

static const char *const names[] = {"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY",
                                    "OMP_MAX_ACTIVE_LEVELS", "KMP_AFFINITY"};
static char ignored[128];

/* Nothing here calls a library, which may not be ready yet, nor is watched by a sanitizer, which is not. */
#define EARLY __attribute__((no_sanitize("address", "undefined", "thread")))

/* Whether a text begins with another, which `end` follows. */
EARLY static bool begins(const char *text, const char *with, char end)
{
    while (*with)
        if (*text++ != *with++)
            return false;
    return *text == end;
}

EARLY static void note(const char *name)
{
    size_t at = 0;
    while (ignored[at])
        at++;
    const char *const parts[] = {at ? ", " : "", name};
    for (size_t n = 0; n < 2; n++)
        for (const char *c = parts[n]; *c && at + 1 < sizeof ignored; c++)
            ignored[at++] = *c;
}

/* A worker's environment is what its parent made it. */
EARLY static void take_out(int argc, char **argv, char **variables)
{
    char **kept = variables;
    if (argc > 1 && begins(argv[1], "worker", '\0'))
        return;
    for (; *variables; variables++) {
        bool binds = false;
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (begins(*variables, names[n], '=')) {
                note(names[n]);
                binds = true;
            }
        if (!binds)
            *kept++ = *variables;
    }
    *kept = NULL;
}

__attribute__((section(".preinit_array"), used)) static void (*const early)(int, char **,
                                                                            char **) = take_out;

const char *openmp_environment_ignored(void)
{
    return ignored;
}
