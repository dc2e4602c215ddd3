/*
 * A machine as a parent hands it over: XML that hwloc reads and that we then ask.
 *
 * The reader of XML is hwloc's and not ours.  Each input describes a machine that hwloc makes up and prints,
 * and what is fuzzed is what our code makes of odd ones: no cores, no caches, huge caches, many nodes.
 */
#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "system/machine.h"

#define CPUS 64

/* A machine of so many packages, cores and threads, with caches of these sizes; hwloc makes it from a
 * text of its own. */
static void describe(const uint8_t bytes[8], char text[256])
{
    const int packages = 1 + bytes[0] % 4, cores = 1 + bytes[1] % 8, threads = 1 + bytes[2] % 4;
    int n = snprintf(text, 256, "numa:%d ", packages);
    if (bytes[3])
        n += snprintf(text + n, 256 - (size_t)n, "l3:1(size=%d) ", bytes[3] << (bytes[4] % 20));
    if (bytes[5])
        n += snprintf(text + n, 256 - (size_t)n, "l2:1(size=%d) ", bytes[5] << 8);
    if (bytes[6])
        n += snprintf(text + n, 256 - (size_t)n, "core:%d ", cores);
    snprintf(text + n, 256 - (size_t)n, "pu:%d", threads);
}

/* Its XML, free() it; NULL where hwloc refuses the text. */
static char *made_up(const char *text)
{
    hwloc_topology_t topology;
    char *xml = NULL, *copy = NULL;
    int length;
    if (hwloc_topology_init(&topology) != 0)
        return NULL;
    if (hwloc_topology_set_synthetic(topology, text) == 0 && hwloc_topology_load(topology) == 0 &&
        hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0) == 0) {
        copy = strdup(xml);
        hwloc_free_xmlbuffer(topology, xml);
    }
    hwloc_topology_destroy(topology);
    return copy;
}

static void ask(struct machine *machine, int threads)
{
    int cpus[CPUS];
    char message[256] = "";
    require(machine_cores(machine) >= 1, "a machine has cores");
    require(machine_threads(machine) >= machine_cores(machine), "and no fewer threads");
    for (int placement = PLACEMENT_CORES; placement <= PLACEMENT_NONE; placement++) {
        if (!machine_places(machine, (enum placement)placement, threads, cpus, MESSAGE(message)))
            require(placement == PLACEMENT_NONE || *message, "a refusal has a reason");
    }
    require((machine_last_level(machine) == 0) == (machine_last_level_bytes(machine) == 0),
            "the last level has a size");
    json_decref(machine_describe(machine));
    char *xml = machine_export(machine);
    struct machine *again = machine_open(xml, MESSAGE(message));
    require(again, "what is handed over is read");
    require(machine_cores(again) == machine_cores(machine), "with as many cores");
    require(machine_threads(again) == machine_threads(machine), "and threads");
    machine_close(again);
    free(xml);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char text[256], message[256] = "";
    if (size < 8)
        return 0;
    describe(bytes, text);
    char *xml = made_up(text);
    struct machine *machine = xml ? machine_open(xml, MESSAGE(message)) : NULL;
    if (machine)
        ask(machine, 1 + bytes[7] % CPUS);
    machine_close(machine);
    free(xml);
    return 0;
}
