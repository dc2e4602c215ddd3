/*
 * case_text: the text of one case, `problem [input=...]`.  Internal to cases.
 */
#ifndef HARNESS_PROBLEM_CASE_TEXT_H
#define HARNESS_PROBLEM_CASE_TEXT_H

#include "cases.h"
#include "base/scan.h"

/* Reads problem and input, leaves the name alone; error->position counts from text.at. */
bool case_text_read(struct piece text, struct problem_case *c, struct parse_error *error);

/* The problem of such a text: up to the first blank that is not behind a comma; *rest is what follows. */
struct piece case_text_problem(struct piece *rest);

/* Whether two cases compute the same from the same input, whatever their names. */
bool case_text_same(const struct problem_case *a, const struct problem_case *b);

/* The name of a case that has none, after its problem and input: h8-s1024-d64-causal.  Cut where it is
 * too long for a table; `number`, from 2 on, tells cases of one name apart. */
void case_text_name(struct problem_case *c, size_t number);

/* The same for several cases: names that would be cut to the same text lose their middle instead, so that
 * the part that differs is shown.  They stay equal if they differ only in what names do not contain. */
void case_text_name_apart(struct problem_case *c, struct problem_case *others, size_t count);

#endif
