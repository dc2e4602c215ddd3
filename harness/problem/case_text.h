/*
 * case_text: the text of one case, `problem [input=...]`.  Internal to cases.
 */
#ifndef HARNESS_PROBLEM_CASE_TEXT_H
#define HARNESS_PROBLEM_CASE_TEXT_H

#include "cases.h"
#include "base/scan.h"

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

#endif
