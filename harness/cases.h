/*
 * cases: named problems with their inputs, and suites of them.
 *
 * A suite is text, one case a line: `name: problem [input=...]`, `#` starts a comment.  Built-in
 * suites are written the same way.
 */
#ifndef HARNESS_CASES_H
#define HARNESS_CASES_H

#include "parse.h"

struct problem_case {
    char name[64];
    struct attn_problem problem;
    struct input input;
};

struct case_list {
    struct problem_case *items; /* owned, cases_free() */
    size_t count;
};

/* Appends the cases of `suites`: a comma list of built-in names and file paths, or "all".  False
 * fills message (one line: what, which file and line, which position). */
bool cases_load(struct case_list *list, const char *suites, char *message, size_t message_size);

/* Appends one case per problem text, named after its text. */
bool cases_add_problem(struct case_list *list, const char *text, char *message,
                       size_t message_size);

void cases_free(struct case_list *list);

/* Built-in suites: name, one-line description, text; the last one has a NULL name. */
struct suite {
    const char *name;
    const char *summary;
    const char *text;
};
extern const struct suite cases_builtin[];

#endif
