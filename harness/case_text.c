/*
 * case_text: the text of one case.
 */
#include "case_text.h"

#include <stdio.h>
#include <string.h>

static bool refuse(struct parse_error *error, size_t position, struct piece quoted,
                   const char *what)
{
    char text[SCAN_QUOTED];
    error->position = position;
    snprintf(error->message, sizeof error->message, "%s %s", scan_quote(quoted, text), what);
    return false;
}

/* `input=...`, or nothing for the default. */
static bool read_input(struct piece text, struct problem_case *c, struct parse_error *error)
{
    char copy[PARSE_TEXT];
    bool named;
    struct piece value = text;
    if (!text.length)
        return parse_input("normal", &c->input, error);
    if (!piece_is(piece_split(&value, "=", &named), "input") || !named)
        return refuse(error, 0, text, "follows the problem; expected input=... or nothing");
    const size_t skipped = (size_t)(value.at - text.at);
    if (!piece_copy(value, copy, sizeof copy))
        return refuse(error, skipped, value, "is too long for an input");
    if (!parse_input(copy, &c->input, error)) {
        error->position += skipped;
        return false;
    }
    if (c->input.kind == INPUT_NEEDLE && c->input.needle >= c->problem.kv_len)
        return refuse(error, skipped, value, "lies behind the last key");
    return true;
}

bool case_text_read(struct piece text, struct problem_case *c, struct parse_error *error)
{
    char copy[PARSE_TEXT];
    bool more;
    struct piece rest = piece_trim(text);
    const struct piece problem = piece_split(&rest, SCAN_BLANKS, &more);
    const struct piece input = piece_trim(rest);
    const size_t problem_at = (size_t)(problem.at - text.at);
    const size_t input_at = (size_t)(input.at - text.at);

    if (!piece_copy(problem, copy, sizeof copy))
        return refuse(error, problem_at, problem, "is too long for a problem");
    if (!parse_problem(copy, &c->problem, error)) {
        error->position += problem_at;
        return false;
    }
    if (!read_input(input, c, error)) {
        error->position += input_at;
        return false;
    }
    return true;
}

bool case_text_same(const struct problem_case *a, const struct problem_case *b)
{
    char problems[2][PARSE_TEXT], inputs[2][PARSE_TEXT];
    parse_print_problem(&a->problem, problems[0]);
    parse_print_problem(&b->problem, problems[1]);
    parse_print_input(&a->input, inputs[0]);
    parse_print_input(&b->input, inputs[1]);
    return strcmp(problems[0], problems[1]) == 0 && strcmp(inputs[0], inputs[1]) == 0;
}

/* FNV-1a. */
static uint32_t hash(struct piece text)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < text.length; i++)
        h = (h ^ (unsigned char)text.at[i]) * 16777619u;
    return h;
}

void case_text_name(struct piece text, struct problem_case *c)
{
    const struct piece all = piece_trim(text);
    const size_t room = sizeof c->name - 1, marked = room - strlen("-01234567");
    const size_t kept = all.length <= room ? all.length : marked;
    for (size_t i = 0; i < kept; i++)
        c->name[i] = all.at[i] > ' ' && all.at[i] < 0x7f ? all.at[i] : '_';
    c->name[kept] = 0;
    if (kept < all.length)
        snprintf(c->name + kept, sizeof c->name - kept, "-%08x", hash(all));
}
