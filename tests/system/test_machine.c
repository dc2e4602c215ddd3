/*
 * machine: topology, places and binding, of this machine and of others that hwloc makes up.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <omp.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "emulated.h"
#include "machines.h"
#include "system/machine_private.h"

TEST(counts_and_caches)
{
    struct machine *machine = made_up(TWO_NODES);
    assert_int_equal(machine_cores(machine), 6);
    assert_int_equal(machine_threads(machine), 12);
    assert_int_equal(machine_cache_bytes(machine, 1), 32768);
    assert_int_equal(machine_cache_bytes(machine, 2), 1048576);
    assert_int_equal(machine_cache_bytes(machine, 3), 33554432);
    assert_int_equal(machine_cache_bytes(machine, 4), 0);
    assert_int_equal(machine_cache_bytes(machine, 0), 0);
    assert_int_equal(machine_last_level(machine), 3);
    assert_int_equal(machine_last_level_bytes(machine), 2 * 33554432);
    machine_close(machine);
}

TEST(places_follow_the_placement)
{
    static const struct {
        enum placement placement;
        int threads;
        int cpus[12];
    } known[] = {
        {PLACEMENT_CORES, 6, {0, 1, 2, 3, 4, 5}},
        {PLACEMENT_THREADS, 12, {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11}},
        {PLACEMENT_NUMA, 6, {0, 3, 1, 4, 2, 5}},
        {PLACEMENT_NUMA, 3, {0, 3, 1}},
    };
    struct machine *machine = made_up(TWO_NODES);
    char message[256];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int cpus[12];
        assert_true(
            machine_places(machine, known[i].placement, known[i].threads, cpus, MESSAGE(message)));
        assert_memory_equal(cpus, known[i].cpus, (size_t)known[i].threads * sizeof *cpus);
    }
    machine_close(machine);
}

TEST(the_fastest_cores_come_first)
{
    static const int known[6] = {4, 5, 0, 1, 2, 3};
    struct machine *machine = made_up_of("core:6 pu:1", "0-3", "4-5");
    char message[256];
    int cpus[6];
    assert_true(machine_places(machine, PLACEMENT_CORES, 6, cpus, MESSAGE(message)));
    assert_memory_equal(cpus, known, sizeof known);
    assert_true(machine_places(machine, PLACEMENT_THREADS, 3, cpus, MESSAGE(message)));
    assert_memory_equal(cpus, known, 3 * sizeof *cpus);
    json_t *all = machine_describe(machine);
    json_t *expected =
        json_loads("[{\"cores\": 2, \"cpus\": \"4-5\", \"facts\": {\"LinuxCapacity\": \"1024\"}},"
                   " {\"cores\": 4, \"cpus\": \"0-3\", \"facts\": {\"LinuxCapacity\": \"446\"}}]",
                   0, NULL);
    assert_true(json_equal(json_object_get(all, "core_kinds"), expected));
    json_decref(expected);
    json_decref(all);
    machine_close(machine);
    machine = made_up("core:6 pu:1");
    all = machine_describe(machine);
    assert_null(json_object_get(all, "core_kinds"));
    json_decref(all);
    machine_close(machine);
}

/* What hwloc reads of an AArch64 processor, with this part number. */
static json_t *processor(const char *maker, const char *part)
{
    const char *facts[][2] = {{"CPUImplementer", maker},
                              {"CPUArchitecture", "8"},
                              {"CPUVariant", "0x1"},
                              {"CPUPart", part},
                              {"CPURevision", "2"}};
    hwloc_topology_t topology;
    assert_int_equal(0, hwloc_topology_init(&topology));
    assert_int_equal(0, hwloc_topology_set_synthetic(topology, "package:1 core:2 pu:1"));
    assert_int_equal(0, hwloc_topology_load(topology));
    const hwloc_obj_t package = hwloc_get_obj_by_type(topology, HWLOC_OBJ_PACKAGE, 0);
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        assert_int_equal(0, hwloc_obj_add_info(package, facts[i][0], facts[i][1]));
    struct machine *machine = opened(topology);
    json_t *all = machine_describe(machine);
    machine_close(machine);
    return all;
}

/* Numbers name them, and two with different numbers are two machines. */
TEST(processors_of_arm_have_names)
{
    static const char *const known[][2] = {
        {"vendor", "0x41"}, {"family", "8"}, {"model", "0xd4f"}, {"stepping", "r1p2"}};
    json_t *v2 = processor("0x41", "0xd4f"), *v1 = processor("0x41", "0xd40"),
           *other = processor("0x61", "0x022");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        assert_string_equal(json_string_value(json_object_get(v2, known[i][0])), known[i][1]);
    assert_string_equal(json_string_value(json_object_get(v2, "cpu")), "Neoverse V2");
    assert_string_equal(json_string_value(json_object_get(other, "cpu")),
                        "implementer 0x61, part 0x022");
    assert_false(
        json_equal(json_object_get(v2, "fingerprint"), json_object_get(v1, "fingerprint")));
    json_decref(v2);
    json_decref(v1);
    json_decref(other);
}

/* Those of an Intel Xeon and of a Neoverse V1, shortened. */
TEST(flags_are_those_of_vectors_and_matrices)
{
    static const char *const known[][2] = {
        {"fpu vme sse sse2 fma cx16 sse4_1 avx f16c hypervisor bmi1 smep avx2 avx512f avx512_bf16 "
         "avx_vnni "
         "avx512_vnni amx_bf16 avx512_fp16 amx_tile amx_int8 arch_capabilities",
         "[\"amx_bf16\", \"amx_int8\", \"amx_tile\", \"avx\", \"avx2\", \"avx512_bf16\", "
         "\"avx512_fp16\", \"avx512_vnni\", \"avx512f\", \"avx_vnni\", \"f16c\", \"fma\", "
         "\"sse4_1\"]"},
        {"fp asimd evtstrm aes fphp asimdhp cpuid asimddp sve smef32f32 asimdfhm svei8mm i8mm bf16 "
         "dgh",
         "[\"asimd\", \"asimddp\", \"asimdfhm\", \"asimdhp\", \"bf16\", \"fphp\", \"i8mm\", "
         "\"smef32f32\", \"sve\", \"svei8mm\"]"},
        {"", "[]"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        json_t *flags = machine_flags(known[i][0]);
        char *text = json_dumps(flags, 0);
        assert_string_equal(text, known[i][1]);
        free(text);
        json_decref(flags);
    }
}

TEST(too_many_threads_are_refused)
{
    struct machine *machine = made_up(TWO_NODES);
    char message[256];
    int cpus[16];
    assert_false(machine_places(machine, PLACEMENT_CORES, 7, cpus, MESSAGE(message)));
    assert_string_equal(message, "placement cores has 6 places here, 7 threads requested");
    assert_false(machine_places(machine, PLACEMENT_THREADS, 13, cpus, MESSAGE(message)));
    assert_string_equal(message, "placement threads has 12 places here, 13 threads requested");
    machine_close(machine);
}

/* Share 2 of two threads gets what the two before it leave, share 6 of one the first core again.  Where
 * threads land is another question: this machine need not have those CPUs. */
TEST(shares_of_numa_are_dealt_out_to_the_nodes)
{
    static const struct {
        int share, threads;
        int cpus[3];
    } known[] = {
        {0, 1, {0}},    {1, 1, {3}},    {2, 1, {1}},    {5, 1, {5}},       {6, 1, {0}},
        {0, 2, {0, 1}}, {1, 2, {3, 4}}, {2, 2, {2, 5}}, {0, 3, {0, 1, 2}}, {1, 3, {3, 4, 5}},
    };
    struct machine *machine = made_up(TWO_NODES);
    char message[256];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        machine_bind_share(machine, PLACEMENT_NUMA, known[i].share, known[i].threads,
                           MESSAGE(message));
        assert_non_null(machine_bound(machine));
        assert_memory_equal(machine_bound(machine), known[i].cpus,
                            (size_t)known[i].threads * sizeof *known[i].cpus);
    }
    machine_close(machine);
}

TEST(binding_lands_and_holds)
{
    struct machine *machine = this_one();
    const int threads = machine_cores(machine);
    char message[256] = "";
    int cpus[1024], wrong = 0;
    assert_true(threads <= 1024);
    assert_true(machine_places(machine, PLACEMENT_CORES, threads, cpus, MESSAGE(message)));
    if (!machine_bind(machine, PLACEMENT_CORES, threads, MESSAGE(message)))
        fail_msg("%s", message);
#pragma omp parallel num_threads(threads) reduction(+ : wrong)
    wrong += sched_getcpu() != cpus[omp_get_thread_num()];
    assert_int_equal(wrong, 0);
    assert_true(machine_binding_holds(machine, threads));
    assert_false(machine_binding_holds(machine, threads + 1));

    cpu_set_t all; /* somebody else unbinds thread 0 */
    CPU_ZERO(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        CPU_SET(cpu, &all);
    assert_int_equal(0, sched_setaffinity(0, sizeof all, &all));
    assert_int_equal(machine_binding_holds(machine, threads),
                     threads == 1 && machine_threads(machine) == 1);
    machine_close(machine);
}

TEST(no_placement_binds_nothing)
{
    struct machine *machine = this_one();
    char message[256];
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    assert_true(machine_bind(machine, PLACEMENT_NONE, 64, MESSAGE(message)));
    assert_true(machine_binding_holds(machine, 64));
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
    machine_close(machine);
}

/* A process that may use one CPU only sees a machine of one core. */
TEST(works_inside_a_smaller_cpuset)
{
    unless_emulated("has threads of its own, which stay on their CPUs");
    const pid_t child = fork();
    if (child == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(sched_getcpu(), &one);
        sched_setaffinity(0, sizeof one, &one);
        char message[256];
        struct machine *machine = machine_open(NULL, MESSAGE(message));
        if (!machine || machine_cores(machine) != 1 || machine_threads(machine) != 1)
            _exit(1);
        if (!machine_bind(machine, PLACEMENT_CORES, 1, MESSAGE(message)))
            _exit(2);
        if (machine_bind(machine, PLACEMENT_CORES, 2, MESSAGE(message)))
            _exit(3);
        _exit(0);
    }
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST(topology_survives_the_hand_over)
{
    struct machine *machine = this_one();
    char message[256], *xml = machine_export(machine);
    assert_non_null(xml);
    struct machine *copy = machine_open(xml, MESSAGE(message));
    assert_non_null(copy);
    assert_int_equal(machine_cores(copy), machine_cores(machine));
    assert_int_equal(machine_threads(copy), machine_threads(machine));
    for (int level = 1; level <= 3; level++)
        assert_int_equal(machine_cache_bytes(copy, level), machine_cache_bytes(machine, level));
    if (!machine_bind(copy, PLACEMENT_THREADS, machine_threads(copy), MESSAGE(message)))
        fail_msg("%s", message);
    json_t *a = machine_describe(machine), *b = machine_describe(copy);
    assert_string_equal(json_string_value(json_object_get(a, "fingerprint")),
                        json_string_value(json_object_get(b, "fingerprint")));
    json_decref(a);
    json_decref(b);
    free(xml);
    machine_close(copy);
    machine_close(machine);
}

/* What a plug-in of hwloc loads is loaded into every worker. */
TEST(no_plugin_is_loaded)
{
    struct machine *machine = this_one();
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    assert_non_null(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "/hwloc/hwloc_"))
            fail_msg("%s", line);
    fclose(maps);
    machine_close(machine);
}

TEST(bad_xml_is_refused)
{
    char message[256] = "";
    setenv("HWLOC_XML_VERBOSE", "0", 1);
    assert_null(machine_open("<topology", MESSAGE(message)));
    assert_string_equal(message, "hwloc cannot read the topology that was handed over");
}

TEST(description_tells_machines_apart)
{
    struct machine *machine = this_one(), *other = made_up(TWO_NODES);
    json_t *a = machine_describe(machine), *b = machine_describe(other);
    static const char *const keys[] = {
        "cpu",        "vendor",     "family",       "cores",          "threads",
        "caches",     "isas",       "memory_bytes", "numa_nodes",     "kernel",
        "hypervisor", "governor",   "host",         "fingerprint",    "microcode",
        "boost",      "page_bytes", "allowed_cpus", "online_threads", "cpu_flags"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (!json_object_get(a, keys[i]))
            fail_msg("no %s", keys[i]);
    assert_int_equal(json_integer_value(json_object_get(b, "cores")), 6);
    assert_int_equal(json_integer_value(json_object_get(b, "numa_nodes")), 2);
    const json_t *l3 = json_array_get(json_object_get(b, "caches"), 2);
    assert_int_equal(json_integer_value(json_object_get(l3, "level")), 3);
    assert_int_equal(json_integer_value(json_object_get(l3, "shared_by_threads")), 6);
    assert_int_equal(json_integer_value(json_object_get(l3, "count")), 2);
    assert_string_not_equal(json_string_value(json_object_get(a, "fingerprint")),
                            json_string_value(json_object_get(b, "fingerprint")));
    json_decref(a);
    json_decref(b);
    machine_close(other);
    machine_close(machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(works_inside_a_smaller_cpuset), /* forks: before any thread exists */
        cmocka_unit_test(counts_and_caches),
        cmocka_unit_test(places_follow_the_placement),
        cmocka_unit_test(the_fastest_cores_come_first),
        cmocka_unit_test(processors_of_arm_have_names),
        cmocka_unit_test(flags_are_those_of_vectors_and_matrices),
        cmocka_unit_test(too_many_threads_are_refused),
        cmocka_unit_test(shares_of_numa_are_dealt_out_to_the_nodes),
        cmocka_unit_test(no_placement_binds_nothing),
        cmocka_unit_test(binding_lands_and_holds),
        cmocka_unit_test(topology_survives_the_hand_over),
        cmocka_unit_test(no_plugin_is_loaded),
        cmocka_unit_test(bad_xml_is_refused),
        cmocka_unit_test(description_tells_machines_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
