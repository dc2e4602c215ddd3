/*
 * members: writes and reads members of every kind.
 */
#include "members.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

static json_t *print(const struct member *member, const void *at)
{
    switch (member->kind) {
    case MEMBER_REAL:
        return number_json(*(const double *)at);
    case MEMBER_INT:
        return json_integer(*(const int *)at);
    case MEMBER_LONG:
        return json_integer(*(const long *)at);
    case MEMBER_BOOL:
        return json_boolean(*(const bool *)at);
    case MEMBER_TEXT:
        return json_string(at);
    case MEMBER_WORD:
        return json_string(member->words[*(const int *)at]);
    }
    return NULL;
}

bool members_print(const struct member *members, size_t count, const void *of, json_t *object)
{
    int failed = 0;
    for (size_t i = 0; i < count; i++)
        failed |= json_object_set_new(object, members[i].name,
                                      print(&members[i], (const char *)of + members[i].offset));
    return !failed;
}

static bool parse(const struct member *member, const json_t *value, void *at)
{
    const char *text = json_string_value(value);
    switch (member->kind) {
    case MEMBER_REAL:
        if (json_is_number(value))
            *(double *)at = json_number_value(value);
        return json_is_number(value);
    case MEMBER_INT:
        if (json_is_integer(value))
            *(int *)at = (int)json_integer_value(value);
        return json_is_integer(value);
    case MEMBER_LONG:
        if (json_is_integer(value))
            *(long *)at = (long)json_integer_value(value);
        return json_is_integer(value);
    case MEMBER_BOOL:
        if (json_is_boolean(value))
            *(bool *)at = json_is_true(value);
        return json_is_boolean(value);
    case MEMBER_TEXT:
        return text && (size_t)snprintf(at, member->size, "%s", text) < member->size;
    case MEMBER_WORD:
        for (int i = 0; text && member->words[i]; i++)
            if (strcmp(member->words[i], text) == 0) {
                *(int *)at = i;
                return true;
            }
        return false;
    }
    return false;
}

const char *members_parse(const struct member *members, size_t count, const json_t *object,
                          void *of)
{
    const char *wrong = NULL;
    for (size_t i = 0; i < count; i++)
        if (!parse(&members[i], json_object_get(object, members[i].name),
                   (char *)of + members[i].offset) &&
            !wrong)
            wrong = members[i].name;
    return wrong;
}

double member_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}
