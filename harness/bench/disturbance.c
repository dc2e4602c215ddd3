/*
 * disturbance: one table of the struct's fields, for writing and for reading JSON.
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
