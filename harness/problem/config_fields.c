/*
 * config_fields: the fields of a config.json, and what is wrong with them.
 */
#include "config_fields.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/refuse.h"
#include "base/scan.h"

#define MOST 1000000 /* of a count in a configuration */

void config_fail(struct config *c, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!c->failed)
        refuse_file_message(c->message, c->message_size, c->path, "%s", text);
    c->failed = true;
}

const json_t *config_field(const struct config *c, const char *names)
{
    char name[64];
    struct piece rest = {names, strlen(names)};
    for (bool more = true; more;) {
        if (!piece_copy(piece_split(&rest, ",", &more), name, sizeof name))
            continue;
        const json_t *value = json_object_get(c->own, name);
        value = value ? value : json_object_get(c->outer, name);
        if (value && !json_is_null(value))
            return value;
    }
    return NULL;
}

size_t config_count(struct config *c, const char *names, bool needed)
{
    const json_t *value = config_field(c, names);
    const json_int_t n = json_integer_value(value);
    if (!value && needed)
        config_fail(c, "no field %s", names);
    else if (value && (!json_is_integer(value) || n < 1 || n > MOST))
        config_fail(c, "%s is not a whole number from 1 to %d", names, MOST);
    return n >= 1 && n <= MOST ? (size_t)n : 0;
}

bool config_is_true(const struct config *c, const char *name)
{
    return json_is_true(config_field(c, name));
}

bool config_is_type(const struct config *c, const char *types)
{
    const char *type = json_string_value(config_field(c, "model_type"));
    struct piece rest = {types, strlen(types)};
    for (bool more = type; more;)
        if (piece_is(piece_split(&rest, ",", &more), type))
            return true;
    return false;
}
