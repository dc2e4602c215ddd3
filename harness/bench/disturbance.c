/*
 * disturbance: the differences of two readings of the system's counts, and the table of their JSON fields.
 */
#include "disturbance.h"

#include "base/members.h"

#define FIELD(name, kind) MEMBER(bench_disturbance, name, MEMBER_##kind)

static const struct member fields[] = {
    FIELD(wall_s, REAL),
    FIELD(involuntary_switches, LONG),
    FIELD(voluntary_switches, LONG),
    FIELD(minor_faults, LONG),
    FIELD(major_faults, LONG),
    FIELD(steal_s, REAL),
    FIELD(throttled_periods, LONG),
    FIELD(thermal_throttles, LONG),
    FIELD(halts, LONG),
    FIELD(runnable, INT),
    FIELD(allowed_cpus, REAL),
    FIELD(online_cpus, INT),
    FIELD(migrated, BOOL),
    FIELD(probe_before_gflops, REAL),
    FIELD(probe_after_gflops, REAL),
    FIELD(grown_bytes, LONG),
    FIELD(clock_ghz, REAL),
};
#define COUNT (sizeof fields / sizeof *fields)

json_t *disturbance_json(const struct bench_disturbance *disturbance)
{
    json_t *object = json_object();
    members_print(fields, COUNT, disturbance, object);
    return object;
}

struct bench_disturbance disturbance_parse(const json_t *object)
{
    struct bench_disturbance disturbance = {0};
    members_parse(fields, COUNT, object, &disturbance);
    return disturbance;
}

void disturbance_between(const struct machine *machine, const struct machine_usage *before,
                         const struct machine_usage *after, struct bench_disturbance *d)
{
    d->involuntary_switches = after->involuntary_switches - before->involuntary_switches;
    d->voluntary_switches = after->voluntary_switches - before->voluntary_switches;
    d->minor_faults = after->minor_faults - before->minor_faults;
    d->major_faults = after->major_faults - before->major_faults;
    d->steal_s = after->steal_s - before->steal_s;
    d->throttled_periods = after->throttled_periods - before->throttled_periods;
    d->runnable = after->runnable > before->runnable ? after->runnable : before->runnable;
    d->thermal_throttles = after->thermal_throttles - before->thermal_throttles;
    if (machine) {
        d->allowed_cpus = machine_allowed_cpus(machine);
        d->online_cpus = machine_online_cpus();
    }
}
