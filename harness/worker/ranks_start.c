/*
 * ranks_start: whether ranks can be started here, and with what environment.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks_start.h"
#include "system/process.h"

static bool rank_program(char *path, size_t size)
{
    const char *chosen = getenv("ATTNBENCH_RANK");
    if (chosen)
        return snprintf(path, size, "%s", chosen) < (int)size;
    return process_beside("attnbench-rank", path, size);
}

bool ranks_available(char *why, size_t why_size)
{
    char path[4096];
    if (!*ATTNBENCH_MPIEXEC)
        snprintf(why, why_size,
                 "this build found no MPI: install one (Debian and Ubuntu: openmpi-bin "
                 "libopenmpi-dev), then build again");
    else if (access(ATTNBENCH_MPIEXEC, X_OK) != 0)
        snprintf(why, why_size, "%s, which starts ranks, is not there", ATTNBENCH_MPIEXEC);
    else if (!rank_program(path, sizeof path) || access(path, X_OK) != 0)
        snprintf(why, why_size,
                 "attnbench-rank is not beside the program; build it: scripts/build");
    else
        return true;
    return false;
}

/* What mpiexec and the ranks go by.  Options of mpiexec differ from one MPI to the other; these
 * variables are for Open MPI and MPICH alike, each ignores those of the other.  Ranks bind their own
 * threads, may be more than there are cores, and root may start them as it may start workers. */
struct environment {
    char threads[32], hosts[2][4200];
    const char *variables[20];
};

static bool is_set(const char *variable)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(variable, "="), variable);
    return getenv(name);
}

static void environment_init(struct environment *e, const struct protocol_request *r)
{
    static const char *const fixed[] = {
        "OMPI_ALLOW_RUN_AS_ROOT=1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
        "OMPI_MCA_rmaps_base_oversubscribe=1",
        "OMPI_MCA_hwloc_base_binding_policy=none",
    };
    /* Unless the user sets them: else Open MPI fills the first host before it takes the next.  Each host has
     * neighbours in the ring. */
    static const char *const dealt[] = {
        "OMPI_MCA_rmaps_base_mapping_policy=node",
        "OMPI_MCA_rmaps_base_ranking_policy=slot",
    };
    size_t n = 0;
    snprintf(e->threads, sizeof e->threads, "OMP_NUM_THREADS=%d", r->threads);
    e->variables[n++] = e->threads;
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
        e->variables[n++] = fixed[i];
    for (size_t i = 0; i < sizeof dealt / sizeof *dealt; i++)
        if (!is_set(dealt[i]))
            e->variables[n++] = dealt[i];
    for (size_t i = 0; i < PROCESS_OPENMP; i++)
        e->variables[n++] = process_openmp[i];
    if (*r->hostfile) {
        snprintf(e->hosts[0], sizeof e->hosts[0], "OMPI_MCA_orte_default_hostfile=%s", r->hostfile);
        snprintf(e->hosts[1], sizeof e->hosts[1], "HYDRA_HOST_FILE=%s", r->hostfile);
        e->variables[n++] = e->hosts[0];
        e->variables[n++] = e->hosts[1];
    }
    e->variables[n] = NULL;
}

/* Any CPU that this process's machine has: this thread is bound to one. */
static size_t all_cpus(const struct machine *machine, int *cpus, size_t capacity)
{
    char message[128];
    const int count = machine_threads(machine);
    if (count > (int)capacity ||
        !machine_places(machine, PLACEMENT_THREADS, count, cpus, message, sizeof message))
        return 0;
    return (size_t)count;
}

struct conversation *ranks_start(const struct worker *worker, char *why, size_t why_size)
{
    const struct protocol_request *r = &worker->request;
    struct environment environment = {.threads = ""};
    char program[4096], count[16], threads[16];
    int cpus[1024];
    snprintf(count, sizeof count, "%d", r->ranks);
    snprintf(threads, sizeof threads, "%d", r->threads);
    snprintf(why, why_size, "attnbench-rank has too long a path");
    if (!rank_program(program, sizeof program))
        return NULL;
    const char *const arguments[] = {"-n",    count, program, machine_placement_name(r->placement),
                                     threads, NULL};
    environment_init(&environment, r);
    const struct conversation_spec spec = {
        .program = ATTNBENCH_MPIEXEC,
        .arguments = arguments,
        .launcher = true,
        .environment = environment.variables,
        .cpus = cpus,
        .cpu_count = all_cpus(worker->machine, cpus, sizeof cpus / sizeof *cpus),
        .file = -1};
    return conversation_open(&spec, why, why_size);
}
