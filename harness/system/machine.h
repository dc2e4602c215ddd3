/*
 * machine: the only files that ask the operating system about the machine.
 *
 *   machine.c            topology (hwloc), caches, XML hand-over
 *   machine_bind.c       binds threads, and reads bindings back
 *   machine_memory.c     places pages: NUMA policy, huge pages
 *   machine_usage.c      counts disturbances: switches, faults, steal, throttling
 *   machine_groups.c     limits of control groups
 *   machine_describe.c   the machine as JSON, and its fingerprint
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/message.h"

struct machine; /* the topology, restricted to the CPUs this process may use */

/* ---- topology ------------------------------------------------------------------------------ */

/* Discovers the machine by hwloc, or reads a parent's machine_export() if that is not NULL. */
struct machine *machine_open(const char *topology_xml, struct message message);
void machine_close(struct machine *machine);

/* The topology as XML for workers; free() it. */
char *machine_export(const struct machine *machine);

/* Physical cores and hardware threads that this process may use (cpuset, container). */
int machine_cores(const struct machine *machine);
int machine_threads(const struct machine *machine);

/* Processor time that the control groups allow, in CPUs (1.5 = 150 %); 0: no limit. */
double machine_cpu_quota(void);

/* The smaller of quota and hardware threads; and how many CPUs of the whole machine are online. */
double machine_allowed_cpus(const struct machine *machine);
int machine_online_cpus(void);

/* Data cache at `level` reachable from one core, bytes; 0: unknown. */
size_t machine_cache_bytes(const struct machine *machine, int level);

/* The last level of cache, 0: unknown; and its size in bytes, summed over all allowed cores (two L3s of 32
 * MiB: 64 MiB). */
int machine_last_level(const struct machine *machine);
size_t machine_last_level_bytes(const struct machine *machine);

/* Memory available now, bytes: MemAvailable, or free memory if /proc lacks that; less if a control group
 * allows less. */
size_t machine_memory_available(void);

/* Processes that the system has killed for lack of memory, its own or a control group's; 0 if unknown. */
long machine_oom_kills(void);

/* ---- threads ------------------------------------------------------------------------------- */

/*
 * cores    one thread per core, neighbours first: a core's second hardware thread stays idle
 * threads  one per hardware thread, siblings first
 * numa     one thread per core, the NUMA nodes in turn
 * none     the scheduler decides
 *
 * If a machine has several kinds of cores, `cores` and `threads` begin with the fastest.
 */
enum placement { PLACEMENT_CORES, PLACEMENT_THREADS, PLACEMENT_NUMA, PLACEMENT_NONE };

extern const char *const machine_placements[]; /* their names; the last is NULL */

/* How many threads can be bound: the hardware threads with PLACEMENT_THREADS, else the cores. */
int machine_room(const struct machine *machine, enum placement placement);

/* The operating system's number of the CPU for each of threads 0..threads-1.  False fills message: the
 * placement has fewer places than threads, or is PLACEMENT_NONE. */
bool machine_places(const struct machine *machine, enum placement placement, int threads, int *cpus,
                    struct message message);

/* Binds OpenMP threads 0..threads-1 of this process and reads the bindings back.  False: a thread is
 * elsewhere.  Call it again after a parallel region of another size: the runtime may have replaced threads by
 * new ones, which inherit the binding of thread 0. */
bool machine_bind(struct machine *machine, enum placement placement, int threads,
                  struct message message);

/* The same for process number `share` of several with `threads` threads each: each gets neighbouring places,
 * with PLACEMENT_NUMA on one node.  If places run out, shares begin with the first place again. */
bool machine_bind_share(struct machine *machine, enum placement placement, int share, int threads,
                        struct message message);

/* The CPU of each bound thread, as read back; NULL: none is bound. */
const int *machine_bound(const struct machine *machine);

/* Whether every thread is still bound as machine_bind() bound it. */
bool machine_binding_holds(const struct machine *machine, int threads);

/* ---- memory -------------------------------------------------------------------------------- */

/*
 * first-touch  on the node of the thread that writes a page first (the system's default)
 * interleave   on the NUMA nodes in turn
 * bind         on the nodes of the bound threads only
 */
enum memory_policy { MEMORY_FIRST_TOUCH, MEMORY_INTERLEAVE, MEMORY_BIND };

extern const char *const machine_memories[]; /* their names; the last is NULL */

/* Sets the policy of all pages that this process touches from now on; after machine_bind(). */
bool machine_memory_set(const struct machine *machine, enum memory_policy policy,
                        struct message message);

/* Moves the pages of [data, data + bytes), which another process may have filled, to the nodes of the policy;
 * first-touch: an equal share to each thread's node. */
bool machine_memory_place(const struct machine *machine, void *data, size_t bytes,
                          enum memory_policy policy, int threads, struct message message);

/* Whether the system reports all touched pages on these nodes. */
bool machine_memory_holds(const struct machine *machine, void *data, size_t bytes,
                          enum memory_policy policy, int threads);

int machine_numa_nodes(const struct machine *machine);

/* Asks for huge pages for [data, data + bytes) before it is touched; moves touched pages onto huge pages as
 * far as the system can; and how many of the bytes lie on huge pages. */
bool machine_huge_pages(void *data, size_t bytes);
void machine_huge_collapse(void *data, size_t bytes);
size_t machine_huge_bytes(const void *data, size_t bytes);

/* Allocates the pages of [data, data + bytes) for writing in one call, if the system can.  Otherwise a page
 * that is read before it is written is allocated twice, which interrupts all other threads: a sixth of the
 * time of a check of small problems. */
void machine_populate(void *data, size_t bytes);

/* ---- usage --------------------------------------------------------------------------------- */

/* Counts since the process or the machine started: subtract two readings. */
struct machine_usage {
    long voluntary_switches, involuntary_switches;
    long minor_faults, major_faults;
    double steal_s;         /* taken by the hypervisor from the allowed CPUs; 0: unknown */
    long throttled_periods; /* by control groups' quotas; 0 without a quota */
    long thermal_throttles; /* of all CPUs; 0 if these do not count them */
    int runnable;           /* threads running or ready on the whole machine now; 0: unknown */
    size_t peak_rss_bytes;
};

/* Resident private memory of this process now, bytes; 0: unknown. */
size_t machine_own_memory(void);

/* Reads these counts; without a machine all are 0. */
void machine_usage(const struct machine *machine, struct machine_usage *usage);

/* {"cpu", "vendor", "family", "cores", "threads", "caches", "isas", "memory_bytes", "numa_nodes",
 *  "kernel", "hypervisor", "governor", "fingerprint", ...}: enough to distinguish two machines. */
json_t *machine_describe(const struct machine *machine);
