/*
 * machine_bind: binds threads, and reads bindings back.
 *
 * hwloc, which can read bindings back, binds threads; the OpenMP runtime does not (the parent sets
 * OMP_PROC_BIND=false), as two mechanisms would conflict.
 */
#include "machine_private.h"

#include <assert.h>
#include <omp.h>
#include <sched.h>
#include <stdlib.h>

const char *const machine_placements[] = {
    [PLACEMENT_CORES] = "cores",
    [PLACEMENT_THREADS] = "threads",
    [PLACEMENT_NUMA] = "numa",
    [PLACEMENT_NONE] = "none",
    NULL,
};

/* First hardware thread of a core, which is itself one if the topology shows no cores. */
static hwloc_obj_t first_thread(hwloc_topology_t topology, hwloc_obj_t core)
{
    const hwloc_obj_t thread =
        hwloc_get_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, 0);
    assert(thread); /* hwloc has no core without one */
    return thread;
}

static hwloc_obj_type_t core_type(hwloc_topology_t topology)
{
    return hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
}

/* Core number `round` of NUMA node number `node`; NULL: it has fewer. */
static hwloc_obj_t core_of_node(hwloc_topology_t topology, int node, int round)
{
    const hwloc_obj_t numa = hwloc_get_obj_by_type(topology, HWLOC_OBJ_NUMANODE, (unsigned)node);
    assert(numa); /* the caller counted them */
    return hwloc_get_obj_inside_cpuset_by_type(topology, numa->cpuset, core_type(topology),
                                               (unsigned)round);
}

static int numa_places(hwloc_topology_t topology, int threads, int *cpus)
{
    const int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    const int cores = hwloc_get_nbobjs_by_type(topology, core_type(topology));
    int found = 0;
    for (int round = 0; round < cores && found < threads; round++)
        for (int node = 0; node < nodes && found < threads; node++) {
            const hwloc_obj_t core = core_of_node(topology, node, round);
            if (core)
                cpus[found++] = (int)first_thread(topology, core)->os_index;
        }
    return found;
}

/* The first `threads` CPUs of a type, cores or hardware threads, the fastest kind first; returns how many. */
static int places_of_type(hwloc_topology_t topology, hwloc_obj_type_t type, int threads, int *cpus)
{
    const int kinds = machine_kinds(topology);
    int found = 0;
    for (int kind = kinds; kind-- > 0;)
        for (hwloc_obj_t obj = NULL;
             found < threads && (obj = hwloc_get_next_obj_by_type(topology, type, obj));)
            if (kinds == 1 || hwloc_cpukinds_get_by_cpuset(topology, obj->cpuset, 0) == kind)
                cpus[found++] = (int)first_thread(topology, obj)->os_index;
    return found;
}

int machine_room(const struct machine *machine, enum placement placement)
{
    return placement == PLACEMENT_THREADS ? machine_threads(machine) : machine_cores(machine);
}

bool machine_places(const struct machine *machine, enum placement placement, int threads, int *cpus,
                    struct message message)
{
    hwloc_topology_t topology = machine->topology;
    int found = 0;
    switch (placement) {
    case PLACEMENT_CORES:
        found = places_of_type(topology, core_type(topology), threads, cpus);
        break;
    case PLACEMENT_THREADS:
        found = places_of_type(topology, HWLOC_OBJ_PU, threads, cpus);
        break;
    case PLACEMENT_NUMA:
        found = numa_places(topology, threads, cpus);
        break;
    case PLACEMENT_NONE:
        break;
    }
    if (found < threads)
        message_print(message, "placement %s has %d places here, %d threads requested",
                      machine_placements[placement], found, threads);
    return found == threads;
}

/* Whether the calling thread may run on `cpu` and nowhere else, and runs there. */
static bool is_at(hwloc_topology_t topology, int cpu)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    const bool bound = set && hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_THREAD) == 0 &&
                       hwloc_bitmap_weight(set) == 1 && hwloc_bitmap_isset(set, (unsigned)cpu);
    const bool there = bound &&
                       hwloc_get_last_cpu_location(topology, set, HWLOC_CPUBIND_THREAD) == 0 &&
                       hwloc_bitmap_isset(set, (unsigned)cpu);
    hwloc_bitmap_free(set);
    return there;
}

static bool go_to(hwloc_topology_t topology, int cpu)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    const bool bound =
        set && hwloc_bitmap_only(set, (unsigned)cpu) == 0 &&
        hwloc_set_cpubind(topology, set, HWLOC_CPUBIND_THREAD | HWLOC_CPUBIND_STRICT) == 0;
    hwloc_bitmap_free(set);
    return bound && is_at(topology, cpu);
}

/* A barrier that yields the CPU.  In the runtime's barrier a thread spins, perhaps on the CPU that another
 * one must get to move away from it, for milliseconds, until the scheduler intervenes. */
static void wait_for_team(int *arrived)
{
    __atomic_add_fetch(arrived, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(arrived, __ATOMIC_RELAXED) < omp_get_num_threads())
        sched_yield();
}

/* Binds each thread to its CPU; the machine becomes the owner of the array. */
static bool bind_to(struct machine *machine, int *cpus, int threads, struct message message)
{
    int landed = 0, arrived = 0;
#pragma omp parallel num_threads(threads) reduction(+ : landed)
    {
        landed += go_to(machine->topology, cpus[omp_get_thread_num()]);
        wait_for_team(&arrived); /* the team may be smaller than requested */
    }
    machine->cpus = cpus;
    machine->bound = threads;
    if (landed < threads)
        message_print(message, "%d of %d threads are not on the CPU they were bound to",
                      threads - landed, threads);
    return landed == threads;
}

/* ---- shares ---------------------------------------------------------------------------------- */

/* CPUs of share number `share`, neighbouring cores of a node; shares take the nodes in turn.  Returns how
 * many. */
static int share_of_node(hwloc_topology_t topology, int share, int threads, int *cpus)
{
    const int nodes = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE);
    int found = 0;
    for (hwloc_obj_t core; nodes > 0 && found < threads; found++) {
        core = core_of_node(topology, share % nodes, share / nodes * threads + found);
        if (!core)
            break;
        cpus[found] = (int)first_thread(topology, core)->os_index;
    }
    return found;
}

/* CPUs of share number `share` of all places, from the first place on again if there are too few. */
static bool share_of_all(const struct machine *machine, enum placement placement, int share,
                         int threads, int *cpus, struct message message)
{
    const int there = machine_room(machine, placement);
    const int places = there > threads ? there : threads;
    int *all = calloc((size_t)places, sizeof *all);
    const bool found = all && machine_places(machine, placement, places, all, message);
    for (int t = 0; found && t < threads; t++)
        cpus[t] = all[(share * threads + t) % places];
    free(all);
    return found;
}

/* CPUs for a process alone, share -1, or for one of several. */
static bool find_places(const struct machine *machine, enum placement placement, int share,
                        int threads, int *cpus, struct message message)
{
    if (share < 0)
        return machine_places(machine, placement, threads, cpus, message);
    return (placement == PLACEMENT_NUMA &&
            share_of_node(machine->topology, share, threads, cpus) == threads) ||
           share_of_all(machine, placement, share, threads, cpus, message);
}

bool machine_bind_share(struct machine *machine, enum placement placement, int share, int threads,
                        struct message message)
{
    free(machine->cpus);
    machine->cpus = NULL;
    machine->bound = 0;
    machine->placement = placement;
    if (placement == PLACEMENT_NONE)
        return true;
    int *cpus = calloc((size_t)threads, sizeof *cpus);
    message_print(message, "out of memory");
    if (cpus && find_places(machine, placement, share, threads, cpus, message))
        return bind_to(machine, cpus, threads, message);
    free(cpus);
    return false;
}

bool machine_bind(struct machine *machine, enum placement placement, int threads,
                  struct message message)
{
    return machine_bind_share(machine, placement, -1, threads, message);
}

const int *machine_bound(const struct machine *machine)
{
    return machine->cpus;
}

bool machine_binding_holds(const struct machine *machine, int threads)
{
    if (machine->placement == PLACEMENT_NONE)
        return true;
    if (threads > machine->bound)
        return false;
    int holding = 0;
#pragma omp parallel num_threads(threads) reduction(+ : holding)
    holding += is_at(machine->topology, machine->cpus[omp_get_thread_num()]);
    return holding == threads;
}
