/*
 * cases: named problems with their inputs, and suites of them.
 *
 * A suite is text, one case a line: `name: problem [input=...]`, `#` starts a comment.  Names are
 * letters, digits and . _ -, unique within a suite.  Built-in suites are written the same way.
 *
 * Messages are one line: the error and its position: file:line:column from 1 for files, as compilers count;
 * for a text of the command line the byte from 0.
 */
#pragma once

#include "base/scan.h"
#include "parse.h"

/* A forward pass of a model, or of one token: cases, each computed by a number of layers. */
struct pass {
    char name[128]; /* "llama-3.1-8b-prefill-2048" */
    char model[48];
    char what[80];     /* "a pass over 2048 tokens" */
    char without[256]; /* layers left out, "36 layers of gated delta net"; "": none */
    size_t layers;     /* of all its cases, selected or not */
};

#define CASE_PASSES 8

struct problem_case {
    char name[64];
    struct attn_problem problem;
    struct input input;
    struct pass_share { /* the passes that it belongs to, ended by a NULL pass */
        const struct pass *pass;
        size_t layers;
    } passes[CASE_PASSES];
};

struct case_list {
    struct problem_case *items; /* owned, cases_free() */
    size_t count;
    struct pass **passes; /* owned, too */
    size_t pass_count;
};

/* Appends the cases of `suites`, a comma-separated list of built-in names and file paths, or "all".  A case
 * that is in the list is not added twice; its name for another case is refused. */
bool cases_load(struct case_list *list, const char *suites, struct message message);

/* Appends a case unless it is in the list; false sets *why, a static string: another case has its name. */
bool cases_append(struct case_list *list, const struct problem_case *c, const char **why);

/* Index of the case with this name; list->count if there is none. */
size_t cases_find(const struct case_list *list, const char *name);

/* Names a case after its problem and input, and appends it unless it is in the list; false sets *why. */
bool cases_add_named(struct case_list *list, struct problem_case *c, const char **why);

/* The same for the cases of a text `problem [input=...]`. */
bool cases_add_problem(struct case_list *list, const char *text, struct message message);

/* Keeps the cases whose names match an item of a comma-separated list of names or patterns (* and ?); false:
 * an item matches none. */
bool cases_select(struct case_list *list, const char *names, struct message message);

void cases_free(struct case_list *list);

/* Finds an input's file: at its path, else in the data directory, $ATTNBENCH_DATA or that of the build or the
 * installation; neither `..` nor a link may lead out of it.  False: not found; `found` is the path as
 * written, and message names the folders searched. */
#define CASES_PATH 4096
bool cases_find_file(const char *path, char found[CASES_PATH], struct message message);

/* ---- the text of one case, `problem [input=...]` (case_text.c) -------------------------------- */

/* Parses problem and input and leaves the name alone; error->position counts from text.at. */
bool case_text_read(struct piece text, struct problem_case *c, struct parse_error *error);

/* The problem of such a text, which ends at the first blank that does not follow a comma; *rest: the
 * remainder. */
struct piece case_text_problem(struct piece *rest);

/* Whether two cases compute the same from the same input, whatever their names. */
bool case_text_same(const struct problem_case *a, const struct problem_case *b);

/* Names a case after its problem and input, h8-s1024-d64-causal, truncated if too long for a table; `number`,
 * from 2 on, distinguishes cases of the same name. */
void case_text_name(struct problem_case *c, size_t number);

/* The same for several cases: names that would be truncated to the same text lose their middle instead, so
 * that they differ.  They stay equal if the cases differ only in properties that names do not contain. */
void case_text_name_apart(struct problem_case *c, struct problem_case *others, size_t count);

/* ---- built-in suites ---------------------------------------------------------------------------- */

/* Built-in suites: name, one-line description, text; the last one has a NULL name. */
struct suite {
    const char *name;
    const char *summary;
    const char *text;
};
extern const struct suite cases_builtin[];
