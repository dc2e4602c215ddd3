/*
 * machine_groups: limits of this process's control group and of every group above it, in versions 1 and 2 of
 * the interface, at the mount points of every distribution and container.
 *
 * In a container /proc may show the group's path on the host, while the group is mounted as the root: missing
 * folders are skipped, and the root is always read.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/piece.h"
#include "machine_private.h"

#define FOLDER ((size_t)4608) /* bytes of a path */
#define NO_LIMIT 1e18 /* bytes: more than any machine has; version 1 reports 2^63 minus a page */

/* Reads the files of a group and updates a result. */
typedef void visitor(const char *folder, double *result);

struct kind {
    const char *controller;  /* of version 1 */
    visitor *first, *second; /* for versions 1 and 2 */
};

static double number_of(const char *folder, const char *file, double otherwise)
{
    char path[FOLDER + 64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return machine_read_number(path, otherwise);
}

/* The number in the line "key number" of a file; 0: absent. */
static double entry_of(const char *folder, const char *file, const char *key)
{
    char path[FOLDER + 64], value[64];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return machine_read_field(path, key, value, sizeof value) ? strtod(value, NULL) : 0;
}

/* Visits a group and those above it, the root last. */
static void climb(const char *mount, const char *group, visitor *visit, double *result)
{
    char folder[FOLDER];
    const int n = snprintf(folder, sizeof folder, "%s%s", mount, group);
    if (n < 0 || n >= (int)sizeof folder)
        return;
    const size_t root = strlen(mount);
    for (;;) {
        char *slash = strrchr(folder + root, '/');
        if (slash && !slash[1]) { /* the root's own path is "/" */
            *slash = 0;
            continue;
        }
        visit(folder, result);
        if (!slash)
            return;
        *slash = 0;
    }
}

/* One line of /proc/self/cgroup, "4:cpu,cpuacct:/a/b" or "0::/a/b". */
static void visit_line(const char *root, const struct kind *kind, char *line, double *result)
{
    /* the second is version 2's in a hybrid hierarchy */
    static const char *const mounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    char mount[FOLDER];
    char *controllers = strchr(line, ':'),
         *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return;
    *group++ = 0;
    group[strcspn(group, "\n")] = 0;
    if (!*++controllers) {
        for (size_t n = 0; n < sizeof mounts / sizeof *mounts; n++) {
            snprintf(mount, sizeof mount, "%s%s", root, mounts[n]);
            climb(mount, group, kind->second, result);
        }
    } else if (piece_listed(controllers, kind->controller)) {
        snprintf(mount, sizeof mount, "%s/sys/fs/cgroup/%s", root, kind->controller);
        climb(mount, group, kind->first, result);
    }
}

static void visit_groups(const char *root, const struct kind *kind, double *result)
{
    char path[FOLDER], line[FOLDER];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *groups = machine_read_open(path);
    while (groups && fgets(line, sizeof line, groups))
        visit_line(root, kind, line, result);
    if (groups)
        fclose(groups);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void least_quota(double quota, double period, double *least)
{
    if (quota > 0 && period > 0)
        *least = fmin(*least, quota / period);
}

static void first_quota(const char *folder, double *least)
{
    least_quota(number_of(folder, "cpu.cfs_quota_us", -1),
                number_of(folder, "cpu.cfs_period_us", 0), least);
}

/* "30000 100000", or "max 100000". */
static void second_quota(const char *folder, double *least)
{
    char path[FOLDER + 64], text[64];
    double quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", folder);
    if (machine_read_line(path, text, sizeof text) && sscanf(text, "%lf %lf", &quota, &period) == 2)
        least_quota(quota, period, least);
}

double machine_groups_quota(const char *root)
{
    static const struct kind kind = {"cpu", first_quota, second_quota};
    double least = INFINITY;
    visit_groups(root, &kind, &least);
    return isfinite(least) ? least : 0;
}

static void add_throttled(const char *folder, double *sum)
{
    *sum += entry_of(folder, "cpu.stat", "nr_throttled");
}

long machine_groups_throttled(const char *root)
{
    static const struct kind kind = {"cpu", add_throttled, add_throttled};
    double sum = 0;
    visit_groups(root, &kind, &sum);
    return (long)sum;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Memory left in a group.  The page cache's inactive files are reclaimed before an allocation fails. */
static void least_memory(double limit, double used, double files, double *least)
{
    if (limit < NO_LIMIT)
        *least = fmin(*least, fmax(limit - fmax(used - files, 0), 0));
}

static void first_memory(const char *folder, double *least)
{
    least_memory(number_of(folder, "memory.limit_in_bytes", NO_LIMIT),
                 number_of(folder, "memory.usage_in_bytes", 0),
                 entry_of(folder, "memory.stat", "total_inactive_file"), least);
}

static void second_memory(const char *folder, double *least)
{
    least_memory(number_of(folder, "memory.max", NO_LIMIT), number_of(folder, "memory.current", 0),
                 entry_of(folder, "memory.stat", "inactive_file"), least);
}

double machine_groups_memory(const char *root)
{
    static const struct kind kind = {"memory", first_memory, second_memory};
    double least = NO_LIMIT;
    visit_groups(root, &kind, &least);
    return least;
}

long machine_groups_ended(const char *root)
{
    char proc[FOLDER];
    snprintf(proc, sizeof proc, "%s/proc", root);
    return (long)entry_of(proc, "vmstat", "oom_kill");
}
