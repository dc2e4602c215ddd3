/*
 * machine: topology and caches, through hwloc.
 *
 * Everything is restricted to the CPUs that this process may use, so that a taskset, a cpuset or a
 * container with fewer CPUs than the machine just looks like a smaller machine.
 */
#include "machine_private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Keeps only the CPUs that this process may run on; a parent's topology has only these already. */
static bool restrict_to_allowed(hwloc_topology_t topology)
{
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    const bool done = allowed && hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS) == 0 &&
                      hwloc_topology_restrict(topology, allowed, 0) == 0;
    hwloc_bitmap_free(allowed);
    return done;
}

static bool load(hwloc_topology_t topology, const char *xml)
{
    /* hwloc counts the terminating 0 of an XML buffer */
    if (xml && hwloc_topology_set_xmlbuffer(topology, xml, (int)strlen(xml) + 1) != 0)
        return false;
    if (xml && hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM) != 0)
        return false;
    return hwloc_topology_load(topology) == 0 && (xml || restrict_to_allowed(topology));
}

struct machine *machine_open(const char *topology_xml, struct message message)
{
    struct machine *machine = calloc(1, sizeof *machine);
    /* Switches off hwloc's plug-ins, which look for graphics cards, OpenCL and PCI devices: they cost each worker
     * 5 ms and a dozen libraries (strace on Debian 12), and their drivers may start threads in the parent, which
     * must not have any. */
    setenv("HWLOC_PLUGINS_PATH", "/dev/null", 1);
    if (machine && hwloc_topology_init(&machine->topology) == 0) {
        machine->placement = PLACEMENT_NONE;
        if (load(machine->topology, topology_xml))
            return machine;
        hwloc_topology_destroy(machine->topology);
    }
    free(machine);
    message_print(message, "hwloc cannot %s%s",
                  topology_xml ? "read the topology that was handed over"
                               : "discover the topology of this machine",
                  access("/proc/self", R_OK) == 0 ? "" : "; /proc cannot be read");
    return NULL;
}

void machine_close(struct machine *machine)
{
    if (!machine)
        return;
    hwloc_topology_destroy(machine->topology);
    free(machine->cpus);
    free(machine);
}

char *machine_export(const struct machine *machine)
{
    char *buffer, *copy = NULL;
    int length;
    if (hwloc_topology_export_xmlbuffer(machine->topology, &buffer, &length, 0) == 0) {
        copy = strdup(buffer);
        hwloc_free_xmlbuffer(machine->topology, buffer);
    }
    return copy;
}

int machine_threads(const struct machine *machine)
{
    return hwloc_get_nbobjs_by_type(machine->topology, HWLOC_OBJ_PU);
}

int machine_kinds(hwloc_topology_t topology)
{
    const int kinds = hwloc_cpukinds_get_nr(topology, 0);
    int slowest = -1;
    if (kinds > 1)
        hwloc_cpukinds_get_info(topology, 0, NULL, &slowest, NULL, NULL, 0);
    return slowest >= 0 ? kinds : 1; /* -1: they are not ranked */
}

/* On some virtual machines and in some cgroups hwloc shows no cores; each hardware thread then counts as
 * one. */
int machine_cores(const struct machine *machine)
{
    const int cores = hwloc_get_nbobjs_by_type(machine->topology, HWLOC_OBJ_CORE);
    return cores > 0 ? cores : machine_threads(machine);
}

static const hwloc_obj_type_t data_caches[] = {
    HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L5CACHE};
#define LEVELS ((int)(sizeof data_caches / sizeof *data_caches))

size_t machine_cache_bytes(const struct machine *machine, int level)
{
    if (level < 1 || level > LEVELS)
        return 0;
    const hwloc_obj_t cache = hwloc_get_obj_by_type(machine->topology, data_caches[level - 1], 0);
    return cache ? (size_t)cache->attr->cache.size : 0;
}

int machine_last_level(const struct machine *machine)
{
    for (int level = LEVELS; level > 0; level--)
        if (machine_cache_bytes(machine, level) > 0)
            return level;
    return 0;
}

size_t machine_last_level_bytes(const struct machine *machine)
{
    const int level = machine_last_level(machine);
    size_t sum = 0;
    for (hwloc_obj_t cache = NULL;
         level > 0 &&
         (cache = hwloc_get_next_obj_by_type(machine->topology, data_caches[level - 1], cache));)
        sum += (size_t)cache->attr->cache.size;
    return sum;
}
