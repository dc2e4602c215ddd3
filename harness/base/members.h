/*
 * members: members of JSON objects, one by one, or those of a struct by a table.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

enum member_kind {
    MEMBER_REAL, /* double; null where it is not finite */
    MEMBER_INT,
    MEMBER_LONG, /* any integer of that size */
    MEMBER_BOOL,
    MEMBER_TEXT, /* an array of char */
    MEMBER_WORD, /* an int or an enum: index of a word */
};

struct member {
    const char *name;
    size_t offset, size;
    enum member_kind kind;
    const char *const *words; /* of MEMBER_WORD; NULL ends them */
};

/* The member of struct `of`; after its kind come the words of a MEMBER_WORD. */
#define MEMBER(of, member, ...) MEMBER_AT(of, member, #member, __VA_ARGS__)
/* The same with another name in the object. */
#define MEMBER_AT(of, member, name_, ...)                           \
    {                                                               \
        .name = (name_), .offset = offsetof(struct of, member),     \
        .size = sizeof((struct of *)0)->member, .kind = __VA_ARGS__ \
    }

/* Adds the members of `of` to the object; false where a text is not UTF-8 or memory runs out. */
bool members_print(const struct member *members, size_t count, const void *of, json_t *object);

/* Reads the members from the object.  Those that are missing or wrong stay as they were; returns the name
 * of the first of them, NULL where there is none. */
const char *members_parse(const struct member *members, size_t count, const json_t *object,
                          void *of);

/* Number `key` of an object; NaN where there is none. */
double member_number(const json_t *object, const char *key);

/* Text `key` of an object; "" where there is none. */
const char *member_text(const json_t *object, const char *key);
