/*
 * journal_identity: the fields that identify a cell, as one string.
 *
 * They are the key in results/schema.json; tests/results/test_schema.c compares the two.
 */
#include <stdio.h>
#include <string.h>

#include "base/refuse.h"

#include "journal.h"

/* In the order of the text.  A field with a usual value, which older files lack, is added, with its name,
 * only if its value differs. */
static const struct {
    const char *name, *usual;
} keys[] = {
    {"kernel", NULL},        {"isa", NULL},   {"problem", NULL},   {"input", NULL},
    {"threads", NULL},       {"ranks", "1"},  {"placement", NULL}, {"memory", "first-touch"},
    {"huge_pages", "false"}, {"cache", NULL}, {"plugin", NULL},    {"environment", ""},
};

static void print_value(const json_t *value, const char *absent, char *text, size_t size)
{
    if (json_is_integer(value))
        snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
    else
        snprintf(text, size, "%s", json_is_string(value) ? json_string_value(value) : absent);
}

void journal_identity(const json_t *cell, char *text, size_t size)
{
    char value[JOURNAL_IDENTITY];
    *text = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *usual = keys[i].usual;
        print_value(json_object_get(cell, keys[i].name), usual ? usual : "", value, sizeof value);
        if (usual && strcmp(value, usual) == 0)
            continue;
        message_add(text, size, "%s%s%s%s", i ? "|" : "", usual ? keys[i].name : "",
                    usual ? "=" : "", value);
    }
}
