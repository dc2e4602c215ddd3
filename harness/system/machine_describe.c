/*
 * machine_describe: the machine as JSON, and its fingerprint.
 *
 * Values that cannot be read are null.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#if defined __x86_64__
#include <cpuid.h>
#endif

#include "attention.h"
#include "machine_private.h"

static json_t *text_or_null(bool known, const char *text)
{
    return known && *text ? json_string(text) : json_null();
}

static json_t *line_of(const char *path)
{
    char text[256];
    const bool known = machine_read_line(path, text, sizeof text);
    return text_or_null(known, text);
}

/* "always [madvise] never" -> "madvise" */
static json_t *choice_of(const char *path)
{
    char text[256];
    char *open = NULL, *close = NULL;
    if (machine_read_line(path, text, sizeof text)) {
        open = strchr(text, '[');
        close = open ? strchr(open, ']') : NULL;
    }
    if (!close)
        return json_null();
    *close = 0;
    return json_string(open + 1);
}

static json_t *cpuinfo(const char *key)
{
    char value[256];
    const bool known = machine_read_field("/proc/cpuinfo", key, value, sizeof value);
    return text_or_null(known, value);
}

/* A fact about the processor from hwloc, also from a parent's XML; NULL: unknown. */
static const char *processor_says(const struct machine *machine, const char *name)
{
    const hwloc_obj_t package = hwloc_get_obj_by_type(machine->topology, HWLOC_OBJ_PACKAGE, 0);
    const char *text = package ? hwloc_obj_get_info_by_name(package, name) : NULL;
    return text ? text : hwloc_obj_get_info_by_name(hwloc_get_root_obj(machine->topology), name);
}

/* The same, by its name on x86 or on AArch64. */
static json_t *processor_fact(const struct machine *machine, const char *x86, const char *aarch64)
{
    const char *text = processor_says(machine, x86) ?: processor_says(machine, aarch64);
    return text_or_null(text != NULL, text);
}

/* On AArch64, which has no name, from the numbers in MIDR_EL1 (each core's Technical Reference Manual). */
static json_t *processor_name(const struct machine *machine)
{
    static const struct {
        const char *part, *name;
    } of_arm[] = {{"0xd08", "Cortex-A72"},
                  {"0xd0c", "Neoverse N1"},
                  {"0xd40", "Neoverse V1"},
                  {"0xd49", "Neoverse N2"},
                  {"0xd4f", "Neoverse V2"}};
    const char *name = processor_says(machine, "CPUModel");
    const char *maker = processor_says(machine, "CPUImplementer");
    const char *part = processor_says(machine, "CPUPart");
    if (name || !maker || !part)
        return text_or_null(name != NULL, name);
    for (size_t i = 0; i < sizeof of_arm / sizeof *of_arm; i++)
        if (strcmp(maker, "0x41") == 0 && strcmp(part, of_arm[i].part) == 0)
            return json_string(of_arm[i].name);
    return json_sprintf("implementer %s, part %s", maker, part);
}

static json_t *stepping(const struct machine *machine)
{
    const char *variant = processor_says(machine, "CPUVariant");
    const char *revision = processor_says(machine, "CPURevision");
    return variant && revision ? json_sprintf("r%ldp%s", strtol(variant, NULL, 0), revision)
                               : processor_fact(machine, "CPUStepping", "CPURevision");
}

/* The hypervisor's signature from its CPUID leaf, "KVMKVMKVM"; null on bare metal.  Not on x86 few systems
 * tell: null means unknown. */
static json_t *hypervisor(void)
{
#if defined __x86_64__
    unsigned a, b, c, d, signature[4] = {0};
    if (__get_cpuid(1, &a, &b, &c, &d) && (c & (1u << 31))) {
        __cpuid(0x40000000, a, signature[0], signature[1], signature[2]);
        return text_or_null(true, (const char *)signature);
    }
    return json_null();
#else
    return line_of("/sys/hypervisor/type");
#endif
}

static json_t *caches(const struct machine *machine)
{
    json_t *list = json_array();
    const int depth = hwloc_topology_get_depth(machine->topology);
    for (int at = depth - 1; at >= 0; at--) { /* innermost first */
        const hwloc_obj_t obj = hwloc_get_obj_by_depth(machine->topology, at, 0);
        if (!hwloc_obj_type_is_dcache(obj->type))
            continue;
        json_array_append_new(
            list, json_pack("{s:i, s:I, s:i, s:i, s:i, s:i}", "level", (int)obj->attr->cache.depth,
                            "bytes", (json_int_t)obj->attr->cache.size, "line_bytes",
                            (int)obj->attr->cache.linesize, "ways", obj->attr->cache.associativity,
                            "count", (int)hwloc_get_nbobjs_by_depth(machine->topology, at),
                            "shared_by_threads", hwloc_bitmap_weight(obj->cpuset)));
    }
    return list;
}

static json_t *set_text(hwloc_const_bitmap_t set)
{
    char text[1024];
    hwloc_bitmap_list_snprintf(text, sizeof text, set);
    return json_string(text);
}

/* The system's facts about a kind of core, such as its maximum frequency or relative capacity. */
static json_t *facts_of(const struct hwloc_info_s *infos, unsigned count)
{
    json_t *facts = json_object();
    for (unsigned i = 0; i < count; i++)
        json_object_set_new(facts, infos[i].name, json_string(infos[i].value));
    return facts;
}

/* The kinds of cores, the fastest first; NULL: all are alike. */
static json_t *core_kinds(const struct machine *machine)
{
    const hwloc_topology_t topology = machine->topology;
    const int kinds = machine_kinds(topology);
    const hwloc_bitmap_t set = hwloc_bitmap_alloc();
    json_t *list = kinds > 1 && set ? json_array() : NULL;
    for (int kind = kinds; list && kind-- > 0;) {
        unsigned count = 0;
        struct hwloc_info_s *infos = NULL;
        hwloc_cpukinds_get_info(topology, (unsigned)kind, set, NULL, &count, &infos, 0);
        json_array_append_new(
            list, json_pack("{s:i, s:o, s:o}", "cores",
                            hwloc_get_nbobjs_inside_cpuset_by_type(topology, set, HWLOC_OBJ_CORE),
                            "cpus", set_text(set), "facts", facts_of(infos, count)));
    }
    hwloc_bitmap_free(set);
    return list;
}

static json_t *isas(void)
{
    json_t *list = json_array();
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (attn_isa_available((enum attn_isa)isa))
            json_array_append_new(list, json_string(attn_isa_name((enum attn_isa)isa)));
    return list;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

json_t *machine_flags(const char *words)
{
    /* prefixes on x86, then on AArch64; SME's names are like smei8i32, so that x86's smep does not match */
    static const char *const matter[] = {"amx",  "avx",  "f16c", "fma",  "sse4", "asimd", "bf16",
                                         "fphp", "i8mm", "sme2", "smeb", "smef", "smei",  "sve"};
    char text[4096], *found[256] = {NULL}, *rest = text;
    size_t count = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *word; count < sizeof found / sizeof *found && (word = strtok_r(rest, " ", &rest));)
        for (size_t i = 0; i < sizeof matter / sizeof *matter; i++)
            if (strncmp(word, matter[i], strlen(matter[i])) == 0) {
                found[count++] = word;
                break;
            }
    qsort(found, count, sizeof *found, by_name);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_string(found[i]));
    return list;
}

/* The processor's instruction sets by /proc/cpuinfo, also those that no variant uses. */
static json_t *cpu_flags(void)
{
    char words[4096];
    const bool known =
        machine_read_field("/proc/cpuinfo", "flags", words, sizeof words) ||  /* x86 */
        machine_read_field("/proc/cpuinfo", "Features", words, sizeof words); /* AArch64 */
    return known ? machine_flags(words) : json_null();
}

static json_t *allowed_cpus(const struct machine *machine)
{
    return set_text(hwloc_topology_get_topology_cpuset(machine->topology));
}

static size_t memory_bytes(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* What determines the machine's speed and does not change between boots. */
static json_t *hardware(const struct machine *machine)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:i, s:i, s:i, s:i, s:o*, s:o, s:o, s:I, s:o}", "cpu",
        processor_name(machine), "vendor", processor_fact(machine, "CPUVendor", "CPUImplementer"),
        "family", processor_fact(machine, "CPUFamilyNumber", "CPUArchitecture"), "model",
        processor_fact(machine, "CPUModelNumber", "CPUPart"), "stepping", stepping(machine),
        "microcode", cpuinfo("microcode"), "architecture",
        hwloc_obj_get_info_by_name(hwloc_get_root_obj(machine->topology), "Architecture")
            ?: "unknown",
        "packages", hwloc_get_nbobjs_by_type(machine->topology, HWLOC_OBJ_PACKAGE), "numa_nodes",
        hwloc_get_nbobjs_by_type(machine->topology, HWLOC_OBJ_NUMANODE), "cores",
        machine_cores(machine), "threads", machine_threads(machine), "core_kinds",
        core_kinds(machine), "caches", caches(machine), "isas", isas(), "memory_bytes",
        (json_int_t)memory_bytes(), "hypervisor", hypervisor());
}

/* Its present settings. */
static json_t *settings(const struct machine *machine)
{
    struct utsname system;
    uname(&system);
    const double quota = machine_cpu_quota();
    return json_pack("{s:s, s:s, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:o, s:o, s:o}",
                     "kernel", system.release, "os", system.sysname, "allowed_cpus",
                     allowed_cpus(machine), "online_threads", machine_online_cpus(), "cpu_quota",
                     quota > 0 ? json_real(quota) : json_null(), "governor",
                     line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
                     "frequency_driver",
                     line_of("/sys/devices/system/cpu/cpu0/cpufreq/scaling_driver"), "boost",
                     line_of("/sys/devices/system/cpu/cpufreq/boost"), "smt",
                     line_of("/sys/devices/system/cpu/smt/control"), "transparent_huge_pages",
                     choice_of("/sys/kernel/mm/transparent_hugepage/enabled"), "page_bytes",
                     (json_int_t)sysconf(_SC_PAGESIZE), "numa_balancing",
                     line_of("/proc/sys/kernel/numa_balancing"), "perf_event_paranoid",
                     line_of("/proc/sys/kernel/perf_event_paranoid"), "clocksource",
                     line_of("/sys/devices/system/clocksource/clocksource0/current_clocksource"));
}

/* FNV-1a, 64 bit (Fowler, Noll, Vo; RFC 9923): names a text; not for security. */
static void hash_text(const char *text, char hex[17])
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *text; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
    snprintf(hex, 17, "%016" PRIx64, hash);
}

/* The fingerprint identifies the hardware, so that two like machines share it; `host` distinguishes them
 * without revealing a name.  Flags are not part of it, as a later system may report more of them. */
json_t *machine_describe(const struct machine *machine)
{
    json_t *description = hardware(machine);
    char *text = json_dumps(description, JSON_SORT_KEYS | JSON_COMPACT);
    char hex[17], host[256];
    if (text) {
        hash_text(text, hex);
        json_object_set_new(description, "fingerprint", json_string(hex));
    }
    free(text);
    if (machine_read_line("/etc/machine-id", host, sizeof host) ||
        gethostname(host, sizeof host) == 0) {
        hash_text(host, hex);
        json_object_set_new(description, "host", json_string(hex));
    }
    json_object_set_new(description, "cpu_flags", cpu_flags());
    json_t *now = settings(machine);
    json_object_update(description, now);
    json_decref(now);
    return description;
}
