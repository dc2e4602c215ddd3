/*
 * cases: named problems with their inputs, and suites of them.
 *
 * A suite is text, one case a line: `name: problem [input=...]`, `#` starts a comment.  Names are
 * letters, digits and . _ -, unique within a suite.  Built-in suites are written the same way.
 *
 * Messages are one line: what is wrong, and where.  Files say file:line:column, counted from 1 as
 * compilers do; a text of the command line says its position, counted from 0.
 */
#ifndef HARNESS_PROBLEM_CASES_H
#define HARNESS_PROBLEM_CASES_H

#include "parse.h"

/* A forward pass of a model, or a token of it: cases, each with the layers that compute it. */
struct pass {
    char name[128]; /* as of a case: llama-3.1-8b-prefill-2048 */
    char model[48];
    char what[80];     /* "a pass over 2048 tokens" */
    char without[256]; /* layers that are left out, "" none: "36 layers of gated delta net" */
    size_t layers;     /* of all its cases, whether they are selected or not */
};

#define CASE_PASSES 8

struct problem_case {
    char name[64];
    struct attn_problem problem;
    struct input input;
    struct pass_share { /* the passes that it is part of; behind the last one a NULL */
        const struct pass *pass;
        size_t layers;
    } passes[CASE_PASSES];
};

struct case_list {
    struct problem_case *items; /* owned, cases_free() */
    size_t count;
    struct pass **passes; /* owned likewise */
    size_t pass_count;
};

/* Appends the cases of `suites`: a comma list of built-in names and file paths, or "all".  A case
 * that is in the list already is not added twice; the same name for something else is refused. */
bool cases_load(struct case_list *list, const char *suites, char *message, size_t message_size);

/* Appends one case, unless it is there already; false where another one has its name, with a static
 * string in *why. */
bool cases_append(struct case_list *list, const struct problem_case *c, const char **why);

/* Index of the case of that name; list->count where there is none. */
size_t cases_find(const struct case_list *list, const char *name);

/* Appends the case of a text `problem [input=...]`, named after it, unless it is there already. */
bool cases_add_problem(struct case_list *list, const char *text, char *message,
                       size_t message_size);

/* Keeps the cases whose names match one of a comma list of names or patterns (* and ?); false
 * where an item matches none. */
bool cases_select(struct case_list *list, const char *names, char *message, size_t message_size);

void cases_free(struct case_list *list);

/* Where an input's file is: its path as written, otherwise in the data directory, which is
 * $ATTNBENCH_DATA or the one of the build or the installation, out of which neither `..` nor a link
 * leads.  False: nowhere; found is as written, and message says where it was looked for. */
#define CASES_PATH 4096
bool cases_find_file(const char *path, char found[CASES_PATH], char *message, size_t message_size);

/* Built-in suites: name, one-line description, text; the last one has a NULL name. */
struct suite {
    const char *name;
    const char *summary;
    const char *text;
};
extern const struct suite cases_builtin[];

#endif
