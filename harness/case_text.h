/*
 * case_text: the text of one case, `problem [input=...]`.  Internal to cases.
 */
#ifndef HARNESS_CASE_TEXT_H
#define HARNESS_CASE_TEXT_H

#include "cases.h"
#include "scan.h"

/* Reads problem and input, leaves the name alone; error->position counts from text.at. */
bool case_text_read(struct piece text, struct problem_case *c, struct parse_error *error);

/* Whether two cases compute the same from the same input, whatever their names. */
bool case_text_same(const struct problem_case *a, const struct problem_case *b);

/* The name of a case that has none: its text, cut and marked by a hash of the whole where it is
 * too long for a name. */
void case_text_name(struct piece text, struct problem_case *c);

#endif
