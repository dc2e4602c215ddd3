/*
 * machines: this one through hwloc, and others that hwloc makes up; for tests.
 *
 * Included after cmocka.h.
 */
#pragma once

#include <hwloc.h>

#include "system/machine.h"

/* Two packages of one NUMA node, three cores of two threads each; CPUs are numbered the way Linux
 * does on PCs: first the first threads of all cores, then the second ones. */
#define TWO_NODES                                                                      \
    "package:2 [numa] l3:1(size=33554432) l2:3(size=1048576) l1:1(size=32768) core:1 " \
    "pu:2(indexes=0,6,1,7,2,8,3,9,4,10,5,11)"

/* Says that these CPUs are of a kind; a faster one ranks higher. */
static inline void add_kind(hwloc_topology_t topology, const char *cpus, int rank, char *capacity)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    struct hwloc_info_s fact = {"LinuxCapacity", capacity};
    hwloc_bitmap_list_sscanf(set, cpus);
    assert_int_equal(0, hwloc_cpukinds_register(topology, set, rank, 1, &fact, 0));
    hwloc_bitmap_free(set);
}

/* The machine of a topology, which is given up. */
static inline struct machine *opened(hwloc_topology_t topology)
{
    char *xml, message[256];
    int length;
    assert_int_equal(0, hwloc_topology_export_xmlbuffer(topology, &xml, &length, 0));
    struct machine *machine = machine_open(xml, MESSAGE(message));
    assert_non_null(machine);
    hwloc_free_xmlbuffer(topology, xml);
    hwloc_topology_destroy(topology);
    return machine;
}

/* Of two kinds where `little` names the CPUs of the slower one and `big` those of the faster. */
static inline struct machine *made_up_of(const char *description, const char *little,
                                         const char *big)
{
    hwloc_topology_t topology;
    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_set_synthetic(topology, description));
    assert_int_equal(0, hwloc_topology_load(topology));
    if (little) {
        add_kind(topology, little, 0, "446");
        add_kind(topology, big, 1, "1024");
    }
    return opened(topology);
}

static inline struct machine *made_up(const char *description)
{
    return made_up_of(description, NULL, NULL);
}

static inline struct machine *this_one(void)
{
    char message[256];
    struct machine *machine = machine_open(NULL, MESSAGE(message));
    assert_non_null(machine);
    return machine;
}
