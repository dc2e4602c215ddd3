/*
 * task: reads affinities, and /proc/PID/task/TID.
 */
#define _GNU_SOURCE
#include "task.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_private.h"

#define CPUS 8192 /* most of any machine */

struct allowed {
    cpu_set_t part[CPUS / CPU_SETSIZE];
};

/* The affinity of a thread, 0: the calling one; false: there is no such thread. */
static bool read_allowed(pid_t thread, struct allowed *allowed)
{
    memset(allowed, 0, sizeof *allowed);
    return sched_getaffinity(thread, sizeof *allowed, allowed->part) == 0;
}

size_t task_cpus_own(int *cpus, size_t capacity)
{
    struct allowed allowed;
    size_t count = 0;
    if (read_allowed(0, &allowed))
        for (int cpu = 0; cpu < CPUS && count < capacity; cpu++)
            if (CPU_ISSET_S((size_t)cpu, sizeof allowed, allowed.part))
                cpus[count++] = cpu;
    return count;
}

pid_t task_next(DIR *folder)
{
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        const long id = strtol(entry->d_name, NULL, 10);
        if (id > 0)
            return (pid_t)id;
    }
    if (folder)
        closedir(folder);
    return 0;
}

static DIR *threads_of(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return opendir(path);
}

bool task_cpus_within(pid_t pid, const int *cpus, size_t cpu_count, struct message why)
{
    struct allowed allowed;
    DIR *threads = threads_of(pid);
    bool within = threads || refuse(why, "its threads cannot be listed");
    for (pid_t thread; (thread = task_next(threads));) {
        if (!within || !read_allowed(thread, &allowed))
            continue; /* the thread has ended meanwhile */
        for (size_t i = 0; i < cpu_count; i++)
            CPU_CLR_S((size_t)cpus[i], sizeof allowed, allowed.part);
        for (int cpu = 0; within && cpu < CPUS; cpu++)
            within = !CPU_ISSET_S((size_t)cpu, sizeof allowed, allowed.part) ||
                     refuse(why, "a thread may run on CPU %d, which is not one of the team's", cpu);
    }
    return within;
}

/* Of a thread of a process. */
static double thread_waited_s(pid_t pid, pid_t thread)
{
    char path[64] = "/proc/thread-self/schedstat", line[128];
    double ran_ns, waited_ns;
    if (pid)
        snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)thread);
    return machine_read_line(path, line, sizeof line) &&
                   sscanf(line, "%lf %lf", &ran_ns, &waited_ns) == 2
               ? waited_ns / 1e9
               : 0;
}

double task_waited_s(pid_t pid)
{
    return thread_waited_s(pid, pid);
}

double task_all_waited_s(void)
{
    char line[128];
    unsigned long long us;
    return machine_read_line("/proc/pressure/cpu", line, sizeof line) &&
                   sscanf(line, "some %*s %*s %*s total=%llu", &us) == 1
               ? (double)us / 1e6
               : 0;
}

double task_waited_longest_s(pid_t pid)
{
    double longest = 0;
    DIR *threads = threads_of(pid);
    for (pid_t thread; (thread = task_next(threads));)
        longest = fmax(longest, thread_waited_s(pid, thread));
    return longest;
}

size_t task_peak_bytes(pid_t pid)
{
    char path[64], kilobytes[64];
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    if (!machine_read_field(path, "VmHWM", kilobytes, sizeof kilobytes))
        return 0;
    return (size_t)strtoull(kilobytes, NULL, 10) * 1024;
}
