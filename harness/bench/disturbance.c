/*
 * disturbance: one table of the struct's fields, for writing and for reading JSON.
 */
#include "disturbance.h"

#include <stddef.h>

#include "base/number.h"

enum kind { REAL, LONG, INT, BOOL };

#define FIELD(name, kind)                                     \
    {                                                         \
#name, kind, offsetof(struct bench_disturbance, name) \
    }

static const struct {
    const char *name;
    enum kind kind;
    size_t offset;
} fields[] = {
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
    for (size_t i = 0; i < COUNT; i++) {
        const void *field = (const char *)disturbance + fields[i].offset;
        json_t *value = fields[i].kind == REAL   ? number_json(*(const double *)field)
                        : fields[i].kind == LONG ? json_integer(*(const long *)field)
                        : fields[i].kind == INT  ? json_integer(*(const int *)field)
                                                 : json_boolean(*(const bool *)field);
        json_object_set_new(object, fields[i].name, value);
    }
    return object;
}

struct bench_disturbance disturbance_parse(const json_t *object)
{
    struct bench_disturbance disturbance = {0};
    for (size_t i = 0; i < COUNT; i++) {
        void *field = (char *)&disturbance + fields[i].offset;
        const json_t *value = json_object_get(object, fields[i].name);
        switch (fields[i].kind) {
        case REAL:
            *(double *)field = json_number_value(value);
            break;
        case LONG:
            *(long *)field = (long)json_integer_value(value);
            break;
        case INT:
            *(int *)field = (int)json_integer_value(value);
            break;
        case BOOL:
            *(bool *)field = json_is_true(value);
            break;
        }
    }
    return disturbance;
}
