/*
 * sweep: texts that stand for several values, and problems that stand for several cases.
 *
 *     A..B      the whole numbers from A to B
 *     A..B*K    A, K A, K K A, ... up to B
 *     A..B+K    A, A + K, A + 2 K, ... up to B
 *     X|Y|Z     one after the other; each may be a range
 *
 * A, B and K are whole numbers; A and B may have a unit, as in 1k.  Any key of a problem may have such a
 * value.  The problem is then one case, with a text without sweeps, for each combination, the last key
 * fastest.
 */
#pragma once

#include "cases.h"

#define SWEEP_MOST ((size_t)512) /* cases of a text, and values of a list */
#define SWEEP_VALUE 64           /* bytes of one value */

/* How many values a text stands for, 1 if it is no sweep.  False: a range is wrong; *at is the wrong part,
 * *why a static string such as "is not a whole number". */
bool sweep_count(struct piece text, size_t *count, struct piece *at, const char **why);

/* Value number `index` of the text, below the count; false: it does not fit. */
bool sweep_value(struct piece text, size_t index, char value[SWEEP_VALUE]);

/* A text `problem [input=...]`. */
struct sweep {
    struct piece text;
    size_t axis_count;
    struct sweep_axis {
        struct piece name, value;
        size_t count;
    } axes[8];
    size_t count; /* of cases */
};

/* Parses a sweep.  False: a range is wrong, or there are too many cases; error->position counts from
 * text.at. */
bool sweep_begin(struct sweep *sweep, struct piece text, struct parse_error *error);

/* Case number `index`, below sweep->count, without a name; and the suffix of its name, as in "-s128-d64", ""
 * if the text has no sweep. */
bool sweep_case(const struct sweep *sweep, size_t index, struct problem_case *c,
                struct parse_error *error);
void sweep_suffix(const struct sweep *sweep, size_t index, char suffix[PARSE_TEXT]);
