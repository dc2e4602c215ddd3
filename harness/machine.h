/*
 * machine: the only file that asks the operating system about the machine.
 */
#ifndef HARNESS_MACHINE_H
#define HARNESS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

enum placement { PLACEMENT_CORES, PLACEMENT_THREADS, PLACEMENT_NUMA, PLACEMENT_NONE };

const char *machine_placement_name(enum placement placement);
bool machine_placement_parse(const char *name, enum placement *placement);

struct machine; /* the topology, restricted to the CPUs this process may use */

/* Discovers through hwloc, or from the XML that a parent handed over (not NULL). */
struct machine *machine_open(const char *topology_xml, char *message, size_t message_size);
void machine_close(struct machine *machine);

/* The topology as XML for workers; free() it. */
char *machine_export(const struct machine *machine);

/* Physical cores and hardware threads that this process may use (cpuset, container). */
int machine_cores(const struct machine *machine);
int machine_threads(const struct machine *machine);

/* Data cache at `level` reachable from one core, bytes; 0 where unknown. */
size_t machine_cache_bytes(const struct machine *machine, int level);
size_t machine_memory_available(void);

/* Binds the OpenMP threads 0..threads-1 of this process and reads the binding back.  False where
 * a thread did not land where asked. */
bool machine_bind(const struct machine *machine, enum placement placement, int threads,
                  char *message, size_t message_size);

/* Whether every thread still is where machine_bind() put it. */
bool machine_binding_holds(const struct machine *machine, int threads);

/* {"cpu", "vendor", "family", "cores", "threads", "caches", "isas", "memory_bytes", "numa_nodes",
 *  "kernel", "hypervisor", "governor", "fingerprint", ...}: enough to tell two machines apart. */
json_t *machine_describe(const struct machine *machine);

#endif
