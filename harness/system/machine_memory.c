/*
 * machine_memory: places pages, and reads back where they lie.
 */
#include "machine_private.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

const char *const machine_memories[] = {
    [MEMORY_FIRST_TOUCH] = "first-touch",
    [MEMORY_INTERLEAVE] = "interleave",
    [MEMORY_BIND] = "bind",
    NULL,
};

/* NUMA nodes of threads [first, last) if they are bound, else of the whole machine. */
static hwloc_bitmap_t nodes_of(const struct machine *machine, int first, int last)
{
    hwloc_bitmap_t cpus = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();
    if (cpus && nodes) {
        for (int thread = first; thread < last && thread < machine->bound; thread++)
            hwloc_bitmap_set(cpus, (unsigned)machine->cpus[thread]);
        if (hwloc_bitmap_iszero(cpus))
            hwloc_bitmap_copy(cpus, hwloc_topology_get_topology_cpuset(machine->topology));
        hwloc_cpuset_to_nodeset(machine->topology, cpus, nodes);
    }
    hwloc_bitmap_free(cpus);
    return nodes;
}

static const hwloc_membind_policy_t hwloc_policies[] = {
    [MEMORY_FIRST_TOUCH] = HWLOC_MEMBIND_FIRSTTOUCH,
    [MEMORY_INTERLEAVE] = HWLOC_MEMBIND_INTERLEAVE,
    [MEMORY_BIND] = HWLOC_MEMBIND_BIND,
};

bool machine_memory_set(const struct machine *machine, enum memory_policy policy,
                        struct message message)
{
    hwloc_const_nodeset_t all = hwloc_topology_get_topology_nodeset(machine->topology);
    hwloc_nodeset_t nodes =
        policy == MEMORY_BIND ? nodes_of(machine, 0, machine->bound) : hwloc_bitmap_dup(all);
    const bool set = nodes && hwloc_set_membind(machine->topology, nodes, hwloc_policies[policy],
                                                HWLOC_MEMBIND_BYNODESET) == 0;
    hwloc_bitmap_free(nodes);
    if (!set)
        message_print(message, "the system refuses memory policy %s", machine_memories[policy]);
    return set;
}

/* Shrinks [data, data + bytes) to whole pages. */
static void whole_pages(void **data, size_t *bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t start = ((uintptr_t)*data + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)*data + *bytes) / page * page;
    *data = (void *)start;
    *bytes = end > start ? end - start : 0;
}

/* An action on pages, and the nodes that they belong on. */
typedef bool (*pages_function)(const struct machine *machine, void *data, size_t bytes,
                               hwloc_nodeset_t nodes, enum memory_policy policy);

static bool move(const struct machine *machine, void *data, size_t bytes, hwloc_nodeset_t nodes,
                 enum memory_policy policy)
{
    return hwloc_set_area_membind(machine->topology, data, bytes, nodes,
                                  policy == MEMORY_INTERLEAVE ? HWLOC_MEMBIND_INTERLEAVE
                                                              : HWLOC_MEMBIND_BIND,
                                  HWLOC_MEMBIND_BYNODESET | HWLOC_MEMBIND_MIGRATE) == 0;
}

/* Whether pages lie on the nodes; interleaved ones on all of them, if there are enough pages. */
static bool lie_there(const struct machine *machine, void *data, size_t bytes,
                      hwloc_nodeset_t nodes, enum memory_policy policy)
{
    hwloc_nodeset_t found = hwloc_bitmap_alloc();
    bool there = found && hwloc_get_area_memlocation(machine->topology, data, bytes, found,
                                                     HWLOC_MEMBIND_BYNODESET) == 0;
    there = there && hwloc_bitmap_isincluded(found, nodes);
    if (there && policy == MEMORY_INTERLEAVE &&
        bytes / (size_t)sysconf(_SC_PAGESIZE) >= (size_t)hwloc_bitmap_weight(nodes))
        there = hwloc_bitmap_isequal(found, nodes);
    hwloc_bitmap_free(found);
    return there;
}

/* Applies the action to each part of the range with nodes of its own.  First-touch: each thread's share of
 * the data in a static schedule. */
static bool each_part(const struct machine *machine, void *data, size_t bytes,
                      enum memory_policy policy, int threads, pages_function act)
{
    const int parts = policy == MEMORY_FIRST_TOUCH ? threads : 1;
    bool right = true;
    for (int part = 0; part < parts && right; part++) {
        const size_t from = bytes / (size_t)parts * (size_t)part;
        size_t length = (part + 1 < parts ? from + bytes / (size_t)parts : bytes) - from;
        void *start = (char *)data + from;
        hwloc_nodeset_t nodes =
            policy == MEMORY_INTERLEAVE
                ? hwloc_bitmap_dup(hwloc_topology_get_topology_nodeset(machine->topology))
            : parts > 1 ? nodes_of(machine, part, part + 1)
                        : nodes_of(machine, 0, machine->bound);
        whole_pages(&start, &length);
        right = length == 0 || (nodes && act(machine, start, length, nodes, policy));
        hwloc_bitmap_free(nodes);
    }
    return right;
}

bool machine_memory_place(const struct machine *machine, void *data, size_t bytes,
                          enum memory_policy policy, int threads, struct message message)
{
    const bool placed = each_part(machine, data, bytes, policy, threads, move);
    if (!placed)
        message_print(message, "the system refuses to place memory by %s",
                      machine_memories[policy]);
    return placed;
}

bool machine_memory_holds(const struct machine *machine, void *data, size_t bytes,
                          enum memory_policy policy, int threads)
{
    return machine_numa_nodes(machine) == 1 || /* saves a query, 0.1 us per page */
           each_part(machine, data, bytes, policy, threads, lie_there);
}

int machine_numa_nodes(const struct machine *machine)
{
    return hwloc_get_nbobjs_by_type(machine->topology, HWLOC_OBJ_NUMANODE);
}

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static bool advise(void *data, size_t bytes, int advice)
{
    whole_pages(&data, &bytes);
    return bytes > 0 && madvise(data, bytes, advice) == 0;
}

bool machine_huge_pages(void *data, size_t bytes)
{
    return advise(data, bytes, MADV_HUGEPAGE);
}

void machine_huge_collapse(void *data, size_t bytes)
{
    advise(data, bytes, MADV_COLLAPSE);
}

void machine_populate(void *data, size_t bytes)
{
    advise(data, bytes, MADV_POPULATE_WRITE);
}

/* Sums AnonHugePages and its like in /proc/self/smaps over the mappings that overlap the range; one that
 * extends beyond it counts in full. */
size_t machine_huge_bytes(const void *data, size_t bytes)
{
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file)
        return 0;
    const uintptr_t from = (uintptr_t)data, to = from + bytes;
    char line[512];
    bool inside = false;
    size_t sum = 0;
    while (fgets(line, sizeof line, file)) {
        unsigned long start, end, kib;
        if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
            inside = start < to && end > from;
        else if (inside && (sscanf(line, "AnonHugePages: %lu kB", &kib) == 1 ||
                            sscanf(line, "ShmemPmdMapped: %lu kB", &kib) == 1 ||
                            sscanf(line, "Private_Hugetlb: %lu kB", &kib) == 1 ||
                            sscanf(line, "Shared_Hugetlb: %lu kB", &kib) == 1))
            sum += (size_t)kib * 1024;
    }
    fclose(file);
    return sum < bytes ? sum : bytes;
}
