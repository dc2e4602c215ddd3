/*
 * counters: perf_event_open(2) per thread, energy per package.
 */
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/number.h"
#include "base/message.h"
#include "machine_private.h"

static const struct {
    const char *name;
    uint64_t config; /* of PERF_TYPE_HARDWARE */
} events[COUNTER_COUNT] = {
    [COUNTER_CYCLES] = {"cycles", PERF_COUNT_HW_CPU_CYCLES},
    [COUNTER_INSTRUCTIONS] = {"instructions", PERF_COUNT_HW_INSTRUCTIONS},
    [COUNTER_CACHE_MISSES] = {"cache_misses", PERF_COUNT_HW_CACHE_MISSES},
    [COUNTER_BRANCH_MISSES] = {"branch_misses", PERF_COUNT_HW_BRANCH_MISSES},
};

const char *counter_name(enum counter counter)
{
    return events[counter].name;
}

struct counters {
    int threads;
    int error; /* errno of the first event that could not be opened */
    struct energy before;
    double energy_j;
    int fd[]; /* threads * COUNTER_COUNT; -1: not open */
};

/* ---- events -------------------------------------------------------------------------------- */

/* Opens an event of the calling thread on any CPU, without kernel and hypervisor, for which
 * perf_event_paranoid = 2, the usual default, is enough. */
static int open_event(enum counter counter)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_HARDWARE,
        .size = sizeof attr,
        .config = events[counter].config,
        .disabled = 1,
        .exclude_kernel = 1,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static void open_thread(struct counters *counters, int thread)
{
    for (int c = 0; c < COUNTER_COUNT; c++) {
        const int fd = open_event((enum counter)c);
        counters->fd[thread * COUNTER_COUNT + c] = fd;
        if (fd < 0) {
            const int error = errno;
#pragma omp critical(counters_error)
            counters->error = counters->error ? counters->error : error;
        }
    }
}

struct counters *counters_open(int threads)
{
    const size_t fds = (size_t)threads * COUNTER_COUNT;
    struct counters *counters = calloc(1, sizeof *counters + fds * sizeof *counters->fd);
    if (!counters)
        return NULL;
    counters->threads = threads;
    for (size_t i = 0; i < fds; i++)
        counters->fd[i] = -1;
#pragma omp parallel num_threads(threads)
    open_thread(counters, omp_get_thread_num());
    return counters;
}

void counters_close(struct counters *counters)
{
    if (!counters)
        return;
    for (int i = 0; i < counters->threads * COUNTER_COUNT; i++)
        if (counters->fd[i] >= 0)
            close(counters->fd[i]);
    free(counters);
}

static void command(const struct counters *counters, unsigned long request)
{
    for (int i = 0; i < counters->threads * COUNTER_COUNT; i++)
        if (counters->fd[i] >= 0)
            ioctl(counters->fd[i], request, 0);
}

void counters_start(struct counters *counters)
{
    if (!counters)
        return;
    counters->before = counters_energy(NULL);
    command(counters, PERF_EVENT_IOC_ENABLE);
}

void counters_stop(struct counters *counters)
{
    if (!counters)
        return;
    command(counters, PERF_EVENT_IOC_DISABLE);
    const struct energy after = counters_energy(NULL);
    counters->energy_j += counters_energy_between(&counters->before, &after);
}

/* The count, scaled up by the share of the time in which the event had a counter; NaN: it never had one. */
static double read_event(int fd)
{
    uint64_t value[3]; /* count, time enabled, time running */
    if (fd < 0 || read(fd, value, sizeof value) != (ssize_t)sizeof value || value[2] == 0)
        return NAN;
    return (double)value[0] * ((double)value[1] / (double)value[2]);
}

/* The sum over threads; idle threads, which never had a counter, are left out. */
static double sum_of_threads(const struct counters *counters, int counter)
{
    double sum = NAN;
    for (int thread = 0; thread < counters->threads; thread++) {
        const double x = read_event(counters->fd[thread * COUNTER_COUNT + counter]);
        if (!isnan(x))
            sum = isnan(sum) ? x : sum + x;
    }
    return sum;
}

static void explain_events(int error, struct message why)
{
    switch (error) {
    case 0:
        message_print(why, "hardware events were never scheduled");
        break;
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        message_print(why, "no hardware events: this (virtual) machine has no counters for them");
        break;
    case EACCES:
    case EPERM:
        message_print(why, "no hardware events: not permitted "
                           "(kernel.perf_event_paranoid above 2, or a container's seccomp)");
        break;
    default:
        message_print(why, "no hardware events: %s", strerror(error));
    }
}

void counters_read(const struct counters *counters, struct counter_values *values)
{
    bool all = true;
    const struct message why = MESSAGE(values->why);
    *values = (struct counter_values){.energy_j = counters->energy_j};
    for (int c = 0; c < COUNTER_COUNT; c++) {
        values->value[c] = sum_of_threads(counters, c);
        all = all && !isnan(values->value[c]);
    }
    if (!all)
        explain_events(counters->error, why);
    if (isnan(values->energy_j))
        message_add(why.text, why.size,
                    "%sno energy: no package under /sys/class/powercap can be read",
                    all ? "" : "; ");
}

json_t *counters_json(const struct counter_values *values, double calls)
{
    json_t *object = json_object();
    for (int c = 0; c < COUNTER_COUNT; c++)
        json_object_set_new(object, events[c].name, number_json(values->value[c] / calls));
    json_object_set_new(object, "energy_j", number_json(values->energy_j / calls));
    json_object_set_new(object, "why", *values->why ? json_string(values->why) : json_null());
    return object;
}

/* ---- energy -------------------------------------------------------------------------------- */

/* A number of a zone, in microjoules; NaN: unreadable. */
static double read_zone(const char *powercap, int zone, const char *file)
{
    char path[512];
    snprintf(path, sizeof path, "%s/intel-rapl:%d/%s", powercap, zone, file);
    return machine_read_number(path, NAN);
}

/* Zones are called intel-rapl on AMD, too; packages are numbered without gaps. */
struct energy counters_energy(const char *powercap)
{
    struct energy energy = {.zones = 0};
    const char *root = powercap ? powercap : "/sys/class/powercap";
    while (energy.zones < COUNTERS_ZONES) {
        const double used = read_zone(root, energy.zones, "energy_uj");
        if (isnan(used))
            break;
        energy.joules[energy.zones] = used * 1e-6;
        energy.range[energy.zones] = read_zone(root, energy.zones, "max_energy_range_uj") * 1e-6;
        energy.zones++;
    }
    return energy;
}

double counters_energy_between(const struct energy *before, const struct energy *after)
{
    double joules = 0;
    for (int zone = 0; zone < before->zones && zone < after->zones; zone++) {
        const double used = after->joules[zone] - before->joules[zone];
        joules += used >= 0 ? used : used + before->range[zone];
    }
    return before->zones > 0 && after->zones == before->zones ? joules : NAN;
}
