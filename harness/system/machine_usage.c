/*
 * machine_usage: the system's counts of disturbances, and available memory.
 */
#include "machine_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "task.h"

/* Seconds that the hypervisor took from the allowed CPUs; and the runnable threads. */
static void read_stat(const struct machine *machine, struct machine_usage *usage)
{
    FILE *file = fopen("/proc/stat", "re");
    if (!file)
        return;
    hwloc_const_cpuset_t allowed = hwloc_topology_get_topology_cpuset(machine->topology);
    const double tick = 1.0 / (double)sysconf(_SC_CLK_TCK);
    char line[4096];
    while (fgets(line, sizeof line, file)) {
        unsigned cpu;
        unsigned long long steal;
        int runnable;
        if (sscanf(line, "cpu%u %*u %*u %*u %*u %*u %*u %*u %llu", &cpu, &steal) == 2 &&
            hwloc_bitmap_isset(allowed, cpu))
            usage->steal_s += (double)steal * tick;
        else if (sscanf(line, "procs_running %d", &runnable) == 1)
            usage->runnable = runnable;
    }
    fclose(file);
}

/* Thermal throttles, which Intel counts per core; AMD and virtual machines do not. */
static long read_thermal(const struct machine *machine)
{
    char path[128];
    double sum = 0;
    unsigned cpu;
    hwloc_bitmap_foreach_begin(cpu, hwloc_topology_get_topology_cpuset(machine->topology))
    {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%u/thermal_throttle/core_throttle_count", cpu);
        sum += machine_read_number(path, 0);
    }
    hwloc_bitmap_foreach_end();
    return (long)sum;
}

size_t machine_own_memory(void)
{
    char value[64];
    if (!machine_read_field("/proc/self/status", "RssAnon", value, sizeof value))
        return 0;
    return (size_t)strtoull(value, NULL, 10) * 1024;
}

void machine_usage(const struct machine *machine, struct machine_usage *usage)
{
    struct rusage self;
    *usage = (struct machine_usage){0};
    if (!machine)
        return;
    getrusage(RUSAGE_SELF, &self);
    *usage = (struct machine_usage){
        .voluntary_switches = self.ru_nvcsw,
        .involuntary_switches = self.ru_nivcsw,
        .minor_faults = self.ru_minflt,
        .major_faults = self.ru_majflt,
        .throttled_periods = machine_groups_throttled(""),
        .thermal_throttles = read_thermal(machine),
        /* Not ru_maxrss, which fork and exec inherit: it would show the parent's peak. */
        .peak_rss_bytes = task_peak_bytes(getpid()),
    };
    read_stat(machine, usage);
}

double machine_cpu_quota(void)
{
    return machine_groups_quota("");
}

double machine_allowed_cpus(const struct machine *machine)
{
    const double threads = machine_threads(machine), quota = machine_cpu_quota();
    return quota > 0 && quota < threads ? quota : threads;
}

int machine_online_cpus(void)
{
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

long machine_oom_kills(void)
{
    return machine_groups_ended("");
}

size_t machine_memory_available(void)
{
    char value[64];
    const double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double available =
        machine_read_field("/proc/meminfo", "MemAvailable", value, sizeof value)
            ? strtod(value, NULL) * 1024
            : free_bytes;
    const double left = machine_groups_memory("");
    return (size_t)(available < left ? available : left);
}
