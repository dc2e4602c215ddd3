/*
 * task_cpus: /proc/PID/task/TID.
 */
#include "task_cpus.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "machine_private.h"

#define LIST ((size_t)4096) /* bytes of a list of CPUs, "0-3,8" */

/* Calls `found` for each CPU of a list until one call returns false; whether none did. */
static bool each_cpu(const char *list, bool (*found)(void *context, int cpu), void *context)
{
    while (*list) {
        char *end;
        long from = strtol(list, &end, 10), to = from;
        if (end == list)
            return true;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        for (; from <= to; from++)
            if (!found(context, (int)from))
                return false;
        list = *end == ',' ? end + 1 : end;
    }
    return true;
}

/* ---- one's own ------------------------------------------------------------------------------- */

struct collected {
    int *cpus;
    size_t count, capacity;
};

static bool collect(void *context, int cpu)
{
    struct collected *c = context;
    if (c->count < c->capacity)
        c->cpus[c->count++] = cpu;
    return true;
}

size_t task_cpus_own(int *cpus, size_t capacity)
{
    char list[LIST];
    struct collected collected = {cpus, 0, capacity};
    if (machine_read_field("/proc/thread-self/status", "Cpus_allowed_list", list, sizeof list))
        each_cpu(list, collect, &collected);
    return collected.count;
}

/* ---- another's ------------------------------------------------------------------------------- */

struct allowed {
    const int *cpus;
    size_t count;
    int stray; /* the first CPU that is not among them */
};

static bool is_allowed(void *context, int cpu)
{
    struct allowed *a = context;
    for (size_t i = 0; i < a->count; i++)
        if (a->cpus[i] == cpu)
            return true;
    a->stray = cpu;
    return false;
}

bool task_cpus_within(pid_t pid, const int *cpus, size_t cpu_count, char *why, size_t why_size)
{
    char path[300], list[LIST];
    struct allowed allowed = {cpus, cpu_count, -1};
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    bool within = folder;
    if (!folder)
        snprintf(why, why_size, "its threads cannot be listed");
    while (within && (entry = readdir(folder))) {
        if (*entry->d_name == '.')
            continue;
        snprintf(path, sizeof path, "/proc/%d/task/%s/status", (int)pid, entry->d_name);
        if (!machine_read_field(path, "Cpus_allowed_list", list, sizeof list))
            continue; /* the thread has ended meanwhile */
        within = each_cpu(list, is_allowed, &allowed);
        if (!within)
            snprintf(why, why_size, "a thread may run on CPU %d, which is not one of the team's",
                     allowed.stray);
    }
    if (folder)
        closedir(folder);
    return within;
}

static double waited_s(const char *path)
{
    char line[128];
    double ran_ns, waited_ns;
    return machine_read_line(path, line, sizeof line) &&
                   sscanf(line, "%lf %lf", &ran_ns, &waited_ns) == 2
               ? waited_ns / 1e9
               : 0;
}

double task_waited_s(pid_t pid)
{
    char path[64] = "/proc/thread-self/schedstat";
    if (pid)
        snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)pid, (int)pid);
    return waited_s(path);
}

double task_waited_longest_s(pid_t pid)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    double longest = 0;
    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)pid, entry->d_name);
        longest = fmax(longest, *entry->d_name == '.' ? 0 : waited_s(path));
    }
    if (folder)
        closedir(folder);
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
