/*
 * fields: computes the numbers of a row from its launches, and prints fields of a row for tables.
 */
#include "fields.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/units.h"
#include "launches.h"

enum join {
    JOIN_ELSEWHERE,
    JOIN_MEDIAN,
    JOIN_EACH,
    JOIN_WORK,
    JOIN_RATE,
    JOIN_SHARE,
    JOIN_STATISTIC
};

#define ELSEWHERE JOIN_ELSEWHERE, 0, NULL
#define MEDIAN JOIN_MEDIAN, 0, NULL
#define EACH JOIN_EACH, 0, NULL
#define WORK(m) JOIN_WORK, offsetof(struct attn_work, m), NULL
#define RATE(m) JOIN_RATE, offsetof(struct attn_work, m), NULL
#define SHARE(m, ceiling) JOIN_SHARE, offsetof(struct attn_work, m), ceiling
#define STATISTIC(m) JOIN_STATISTIC, offsetof(struct stats_launches, m), NULL

static const struct {
    const char *object, *name;
    enum field_unit unit;
    const char *meaning;
    enum join join;
    size_t offset; /* in struct attn_work or struct stats_launches */
    const char *ceiling;
} kinds[FIELD_END] = {
#define KIND(constant, object, name, unit, meaning, ...) \
    [FIELD_##constant] = {object, name, UNIT_##unit, meaning, __VA_ARGS__},
    FIELDS(KIND)
#undef KIND
#define KIND(constant, object, name) [FIELD_##constant] = {object, name, .meaning = NULL},
        FIELDS_BESIDE(KIND)
#undef KIND
};

const char *field_object(enum field field)
{
    return kinds[field].object;
}

const char *field_name(enum field field)
{
    return kinds[field].name;
}

const char *field_unit(enum field field)
{
    static const char *const units[] = {
        [UNIT_SECONDS] = "s",         [UNIT_BYTES] = "bytes", [UNIT_SHARE] = "share",
        [UNIT_RATE] = "1e9 a second", [UNIT_COUNT] = "count", [UNIT_FLOPS] = "flop",
        [UNIT_RATIO] = "ratio",
    };
    return units[kinds[field].unit];
}

const char *field_meaning(enum field field)
{
    return kinds[field].meaning;
}

json_t *field_json(const json_t *row, enum field field)
{
    const char *object = kinds[field].object;
    return json_object_get(object ? json_object_get(row, object) : row, kinds[field].name);
}

double field_of(const json_t *row, enum field field)
{
    const json_t *value = field_json(row, field);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *field_word(const json_t *row, enum field field)
{
    const char *word = json_string_value(field_json(row, field));
    return word ? word : "";
}

static double member(const void *of, size_t offset)
{
    double x;
    memcpy(&x, (const char *)of + offset, sizeof x);
    return x;
}

/* A count or a size; null if no integer holds it, as a worker may send any number. */
static json_t *whole_json(double x)
{
    return fabs(x) < 0x1p63 ? json_integer((json_int_t)x) : json_null();
}

/* Null where no launch has such an array. */
static json_t *each(const struct cell *cell, const char *object, const char *name)
{
    json_t *array = json_array();
    double x;
    for (size_t i = 0; !isnan(x = launches_median_in(cell, object, name, i)); i++)
        json_array_append_new(array, json_real(x));
    if (json_array_size(array))
        return array;
    json_decref(array);
    return json_null();
}

static json_t *joined(const struct cell *cell, enum field field, const struct stats_launches *s)
{
    const char *object = kinds[field].object, *name = kinds[field].name;
    const struct attn_work work = cell_work(cell);
    const double amount =
        kinds[field].join == JOIN_STATISTIC ? NAN : member(&work, kinds[field].offset);
    const bool whole = kinds[field].unit == UNIT_BYTES || kinds[field].unit == UNIT_COUNT;
    switch (kinds[field].join) {
    case JOIN_MEDIAN:
        /* a launch's record has the numbers of "time" and of the row itself at its top level */
        object = object && strcmp(object, "time") == 0 ? NULL : object;
        return (whole ? whole_json : number_json)(launches_median_of(cell, object, name));
    case JOIN_EACH:
        return each(cell, object, name);
    case JOIN_WORK:
        return number_json(amount);
    case JOIN_RATE:
        return number_json(amount / launches_median_of(cell, NULL, "median_s") / 1e9);
    case JOIN_SHARE:
        return number_json(launches_fraction(cell, amount, kinds[field].ceiling));
    case JOIN_STATISTIC:
        return number_json(s ? member(s, kinds[field].offset) : NAN);
    case JOIN_ELSEWHERE:
        break;
    }
    return NULL;
}

void fields_add(const struct cell *cell, const char *object,
                const struct stats_launches *statistics, json_t *to)
{
    for (int f = FIELD_NONE + 1; f < FIELD_COUNT; f++) {
        const char *of = kinds[f].object;
        if (kinds[f].join != JOIN_ELSEWHERE && (of ? object && strcmp(of, object) == 0 : !object))
            json_object_set_new(to, kinds[f].name, joined(cell, (enum field)f, statistics));
    }
}

void field_text(const json_t *row, enum field field, char text[UNITS_TEXT])
{
    const double x = field_of(row, field);
    *text = 0;
    switch (kinds[field].unit) {
    case UNIT_SECONDS:
        units_seconds(x, text);
        break;
    case UNIT_BYTES:
        units_bytes(x, text);
        break;
    case UNIT_SHARE:
        units_number(100 * x, text);
        break;
    case UNIT_COUNT:
        if (isfinite(x))
            snprintf(text, UNITS_TEXT, "%.0f", x);
        break;
    case UNIT_RATE:
    case UNIT_RATIO:
        units_number(x, text);
        break;
    case UNIT_FLOPS:
        units_flops(x, text);
        break;
    }
}
