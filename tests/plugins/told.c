/*
 * told: does what a variable of its environment says, and prints what it was told.
 *
 * MODE=wrong: its results are.  It prints MODE, OMP_WAIT_POLICY, by how many bytes the environment is
 * longer than whole pages, and how many blocks the stored rows of the reference have.
 */
#include "honest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static const char *value(const char *name)
{
    const char *found = getenv(name);
    return found ? found : "";
}

/* Blocks of the file of stored rows; 0: it is not there. */
static long stored(void)
{
    char path[64], name[64] = "";
    struct stat status;
    for (int fd = 0; fd < 64; fd++) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t n = readlink(path, name, sizeof name - 1);
        name[n > 0 ? n : 0] = '\0';
        if (strstr(name, "attnbench-reference") && fstat(fd, &status) == 0)
            return (long)status.st_blocks;
    }
    return 0;
}

static void prepare(struct attn_plan *plan)
{
    size_t bytes = 0;
    (void)plan;
    for (char **variable = environ; *variable; variable++)
        bytes += strlen(*variable) + 1 + sizeof *variable;
    fprintf(stderr, "MODE=%s OMP_WAIT_POLICY=%s misses=%zu stored=%ld\n", value("MODE"),
            value("OMP_WAIT_POLICY"), bytes % 4096, stored());
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
