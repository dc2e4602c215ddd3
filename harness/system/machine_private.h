/*
 * machine_private.h: what the machine_*.c files share.
 */
#pragma once

#include <hwloc.h>
#include <stdio.h>

#include "machine.h"

struct machine {
    hwloc_topology_t topology;
    enum placement placement; /* of the last machine_bind() */
    int *cpus;                /* CPU of each bound thread; NULL before machine_bind() */
    int bound;                /* threads bound */
};

/* Kinds of cores that hwloc ranks by speed, number 0 the slowest; 1 if it does not rank them. */
int machine_kinds(hwloc_topology_t topology);

/* Opens a file of /proc or /sys; NULL: it is not there, or memory or descriptors ran out, which is noted. */
FILE *machine_read_open(const char *path);

/* First line of a small file of /proc or /sys, without its newline; false: unreadable. */
bool machine_read_line(const char *path, char *text, size_t size);

/* Leading number of such a file; `otherwise` if there is none. */
double machine_read_number(const char *path, double otherwise);

/* Value of the first line "key: value" or "key value" of a file such as /proc/meminfo; false: absent. */
bool machine_read_field(const char *path, const char *key, char *value, size_t size);

/* The strictest limits of this process's control group and those above it: processor time in CPUs, 0 if
 * unlimited; periods throttled so far; bytes of memory left, 1e18 if unlimited.  `root`: prefix of /proc and
 * /sys, "" except in tests. */
double machine_groups_quota(const char *root);
long machine_groups_throttled(const char *root);
double machine_groups_memory(const char *root);

/* machine_oom_kills() */
long machine_groups_ended(const char *root);

/* The words of /proc/cpuinfo's flags that name vectors, matrix units and their types, in alphabetical
 * order. */
json_t *machine_flags(const char *words);
