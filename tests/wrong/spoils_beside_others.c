/*
 * spoils_beside_others: wrong as long as another program runs, as where both share a file or a device:
 * the process whose number stands in the file that SPOILS_BESIDE names.
 */
#include <signal.h>
#include <stdio.h>

#include "spoil.h"

static bool other_runs(void)
{
    const char *path = getenv("SPOILS_BESIDE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char text[32] = "";
    const bool read = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    const long pid = read ? strtol(text, NULL, 10) : 0;
    return pid > 0 && kill((pid_t)pid, 0) == 0;
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    honest_unless(plan, tensors, other_runs());
}

WRONG_KERNEL(spoils_beside_others, "wrong as long as another program runs");
