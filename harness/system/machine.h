/*
 * machine: the only files that ask the operating system about the machine.
 *
 *   machine.c            topology (hwloc), caches, XML hand-over
 *   machine_bind.c       where threads go, and whether they are there
 *   machine_memory.c     where pages go: NUMA policy, huge pages
 *   machine_usage.c      what the process suffered: switches, faults, steal, throttling
 *   machine_groups.c     what control groups grant
 *   machine_describe.c   the machine as JSON, and its fingerprint
 */
#ifndef HARNESS_SYSTEM_MACHINE_H
#define HARNESS_SYSTEM_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

struct machine; /* the topology, restricted to the CPUs this process may use */

/* ---- topology ------------------------------------------------------------------------------ */

/* Discovers through hwloc, or from the XML that a parent handed over (not NULL). */
struct machine *machine_open(const char *topology_xml, char *message, size_t message_size);
void machine_close(struct machine *machine);

/* The topology as XML for workers; free() it. */
char *machine_export(const struct machine *machine);

/* Physical cores and hardware threads that this process may use (cpuset, container). */
int machine_cores(const struct machine *machine);
int machine_threads(const struct machine *machine);

/* CPUs' worth of time that a control group grants (1.5 = 150 %), or 0 where it sets no limit. */
double machine_cpu_quota(void);

/* The smaller of quota and hardware threads; and the CPUs of the whole machine that are online. */
double machine_allowed_cpus(const struct machine *machine);
int machine_online_cpus(void);

/* Data cache at `level` reachable from one core, bytes; 0 where unknown. */
size_t machine_cache_bytes(const struct machine *machine, int level);

/* The largest level there is, 0 where none is known; its size reached from all allowed cores
 * together (two L3s of 32 MiB each: 64 MiB). */
int machine_last_level(const struct machine *machine);
size_t machine_last_level_bytes(const struct machine *machine);

/* Memory available now: MemAvailable (what is free where /proc does not say), less where a control
 * group allows less. */
size_t machine_memory_available(void);

/* Processes that the system has killed for lack of memory, its own or a control group's; 0 if unknown. */
long machine_oom_kills(void);

/* ---- threads ------------------------------------------------------------------------------- */

/*
 * cores    one thread a core, neighbours first: a core's second hardware thread stays idle
 * threads  every hardware thread, siblings first
 * numa     one thread a core, dealt out to the NUMA nodes in turn
 * none     the scheduler decides
 *
 * Where a machine has several kinds of cores, `cores` and `threads` begin with the fastest.
 */
enum placement { PLACEMENT_CORES, PLACEMENT_THREADS, PLACEMENT_NUMA, PLACEMENT_NONE };

extern const char *const machine_placements[]; /* their names; the last is NULL */
const char *machine_placement_name(enum placement placement);

/* How many threads have a place of their own: hardware threads with PLACEMENT_THREADS, else cores. */
int machine_room(const struct machine *machine, enum placement placement);

/* Operating system's number of the CPU for each of threads 0..threads-1 into cpus.  False where
 * the placement has fewer places than threads (message says how many), and for PLACEMENT_NONE. */
bool machine_places(const struct machine *machine, enum placement placement, int threads, int *cpus,
                    char *message, size_t message_size);

/* Binds the OpenMP threads 0..threads-1 of this process and reads the binding back.  False where
 * a thread did not land where asked.  To be called again after a parallel region of another size:
 * the runtime may have replaced threads by new ones, which inherit the binding of thread 0. */
bool machine_bind(struct machine *machine, enum placement placement, int threads, char *message,
                  size_t message_size);

/* The same for one of several processes that share the machine, each with `threads` threads: they get
 * neighbouring places, with PLACEMENT_NUMA on one node each.  Where places run out, shares begin with the
 * first place again. */
bool machine_bind_share(struct machine *machine, enum placement placement, int share, int threads,
                        char *message, size_t message_size);

/* The CPU of each bound thread, as read back; NULL where none is bound. */
const int *machine_bound(const struct machine *machine);

/* Whether every thread still is where machine_bind() put it. */
bool machine_binding_holds(const struct machine *machine, int threads);

/* ---- memory -------------------------------------------------------------------------------- */

/*
 * first-touch  on the node of the thread that writes a page first (the system's default)
 * interleave   pages dealt out to the NUMA nodes in turn
 * bind         on the nodes of the bound threads only
 */
enum memory_policy { MEMORY_FIRST_TOUCH, MEMORY_INTERLEAVE, MEMORY_BIND };

extern const char *const machine_memories[]; /* their names; the last is NULL */
const char *machine_memory_name(enum memory_policy policy);

/* Policy of all pages that this process touches first from now on; after machine_bind(). */
bool machine_memory_set(const struct machine *machine, enum memory_policy policy, char *message,
                        size_t message_size);

/* Moves the pages of [data, data + bytes) to where the policy wants them: for operands that
 * another process has filled.  First-touch: an equal share to the node of each thread. */
bool machine_memory_place(const struct machine *machine, void *data, size_t bytes,
                          enum memory_policy policy, int threads, char *message,
                          size_t message_size);

/* Whether they lie there: the pages that have been touched, as the system locates them. */
bool machine_memory_holds(const struct machine *machine, void *data, size_t bytes,
                          enum memory_policy policy, int threads);

int machine_numa_nodes(const struct machine *machine);

/* Asks for huge pages under [data, data + bytes), before it is touched; moves what is touched already
 * onto huge pages, as far as the system does that; and how many bytes of it lie on huge pages now. */
bool machine_huge_pages(void *data, size_t bytes);
void machine_huge_collapse(void *data, size_t bytes);
size_t machine_huge_bytes(const void *data, size_t bytes);

/* Allocates the pages of [data, data + bytes) for writing in one call, where the system can.  Otherwise
 * each page that is read before it is written is allocated twice, and every other thread is interrupted
 * for it: a sixth of the time of a check of small problems. */
void machine_populate(void *data, size_t bytes);

/* ---- what happened ------------------------------------------------------------------------- */

/* Counted by the system since the start of the process or of the machine: subtract two readings. */
struct machine_usage {
    long voluntary_switches, involuntary_switches;
    long minor_faults, major_faults;
    double steal_s;         /* taken by the hypervisor from the allowed CPUs; 0 unreadable */
    long throttled_periods; /* of the control groups' quotas; 0 where there is none */
    long thermal_throttles; /* of all CPUs, by heat; 0 where they do not count */
    int runnable;           /* threads that want a CPU now, on the whole machine; 0 unreadable */
    size_t peak_rss_bytes;
};

/* Memory that is this process's alone and resident now, bytes; 0 unreadable. */
size_t machine_own_memory(void);

void machine_usage(const struct machine *machine, struct machine_usage *usage);

/* {"cpu", "vendor", "family", "cores", "threads", "caches", "isas", "memory_bytes", "numa_nodes",
 *  "kernel", "hypervisor", "governor", "fingerprint", ...}: enough to tell two machines apart. */
json_t *machine_describe(const struct machine *machine);

#endif
