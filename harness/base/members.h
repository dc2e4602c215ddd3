/*
 * members: members of a struct, to and from members of a JSON object, by one table.
 */
#ifndef HARNESS_BASE_MEMBERS_H
#define HARNESS_BASE_MEMBERS_H

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
#define MEMBER(of, name_, ...)                                     \
    {                                                              \
        .name = #name_, .offset = offsetof(struct of, name_),      \
        .size = sizeof((struct of *)0)->name_, .kind = __VA_ARGS__ \
    }

/* Adds the members of `of`; false where a text is none that JSON has, or memory runs out. */
bool members_print(const struct member *members, size_t count, const void *of, json_t *object);

/* Reads them; returns the name of the first that is missing or wrong: such stay as they were. */
const char *members_parse(const struct member *members, size_t count, const json_t *object,
                          void *of);

#endif
