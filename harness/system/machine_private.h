/*
 * machine_private.h: what the machine_*.c files share.
 */
#ifndef HARNESS_SYSTEM_MACHINE_PRIVATE_H
#define HARNESS_SYSTEM_MACHINE_PRIVATE_H

#include <hwloc.h>

#include "machine.h"

struct machine {
    hwloc_topology_t topology;
    enum placement placement; /* of the last machine_bind() */
    int *cpus;                /* CPU of each bound thread; NULL before machine_bind() */
    int bound;                /* threads bound */
};

/* Kinds of cores that hwloc knows and ranks by speed, the slowest as number 0; 1 where it does not. */
int machine_kinds(hwloc_topology_t topology);

/* First line of a small file of /proc or /sys without its newline; false where unreadable. */
bool machine_read_line(const char *path, char *text, size_t size);

/* Its leading number; `otherwise` where there is none. */
double machine_read_number(const char *path, double otherwise);

/* Value of the line "key...: value" of a file such as /proc/meminfo; false where absent. */
bool machine_read_field(const char *path, const char *key, char *value, size_t size);

/* Limits of this process's control group and those above it, the strictest of each: CPUs' worth of time, 0 if
 * unlimited; periods in which one of them has been throttled so far; bytes of memory left, 1e18 if
 * unlimited.  `root` is a prefix of /proc and /sys, "" except in tests. */
double machine_groups_quota(const char *root);
long machine_groups_throttled(const char *root);
double machine_groups_memory(const char *root);

/* machine_oom_kills() */
long machine_groups_ended(const char *root);

/* The words of a line of flags of /proc/cpuinfo that name vectors, matrix units and their types, in
 * alphabetical order. */
json_t *machine_flags(const char *words);

#endif
