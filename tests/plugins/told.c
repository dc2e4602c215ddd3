/*
 * told: does what a variable of its environment says, and prints what it was told.
 *
 * MODE=wrong: its results are.  It prints MODE, OMP_WAIT_POLICY, and by how many bytes the environment is
 * longer than whole pages.
 */
#include "honest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static const char *value(const char *name)
{
    const char *found = getenv(name);
    return found ? found : "";
}

static void prepare(struct attn_plan *plan)
{
    size_t bytes = 0;
    (void)plan;
    for (char **variable = environ; *variable; variable++)
        bytes += strlen(*variable) + 1 + sizeof *variable;
    fprintf(stderr, "MODE=%s OMP_WAIT_POLICY=%s misses=%zu\n", value("MODE"),
            value("OMP_WAIT_POLICY"), bytes % 4096);
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    honest_execute(plan, t);
    if (strcmp(value("MODE"), "wrong") == 0)
        *(float *)attn_row(&t->o, 0, 0, 0) += 1;
}

static const struct attn_kernel kernel = {
    HONEST, .name = "told", .isa = ATTN_ISA_BASELINE, .prepare = prepare, .execute = execute,
};

HONEST_ENTRY(kernel)
