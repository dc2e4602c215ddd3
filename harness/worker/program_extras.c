/*
 * program_extras: sums of a program's additional numbers, by name.
 */
#include "program_copy.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/scan.h"

/* Finds or adds the number of that name; NULL: there are too many. */
static struct program_extra *named(struct program_extras *extras, const char *name)
{
    size_t n = 0;
    while (n < extras->count && strcmp(extras->item[n].name, name) != 0)
        n++;
    if (n == PROGRAM_EXTRAS)
        return NULL;
    if (n == extras->count) {
        extras->item[extras->count++] = (struct program_extra){.calls = 0};
        snprintf(extras->item[n].name, PROGRAM_NAME, "%s", name);
    }
    return &extras->item[n];
}

const char *program_extras_add(struct program_extras *extras, json_t *extra, double calls)
{
    const char *name;
    json_t *value;
    json_object_foreach (extra, name, value) {
        struct program_extra *of =
            scan_is_name(name, PROGRAM_NAME - 1) ? named(extras, name) : NULL;
        if (!of || !json_is_number(value))
            return name;
        of->sum += calls * json_number_value(value);
        of->calls += calls;
    }
    return NULL;
}

json_t *program_extras_means(const struct program_extras *extras)
{
    json_t *means = extras->count ? json_object() : NULL;
    for (size_t n = 0; n < extras->count; n++)
        json_object_set_new(means, extras->item[n].name,
                            number_json(extras->item[n].sum / extras->item[n].calls));
    return means;
}
