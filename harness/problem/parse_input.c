/*
 * parse_input: parses and prints inputs.
 */
#include <stdio.h>

#include "clause.h"

enum argument { ARGUMENT_NONE, ARGUMENT_SEED, ARGUMENT_KEY, ARGUMENT_FILE };

static const struct {
    const char *name;
    const char *form; /* for messages */
    enum argument argument;
} kinds[] = {
    [INPUT_NORMAL] = {"normal", "normal or normal:SEED", ARGUMENT_SEED},
    [INPUT_UNIFORM] = {"uniform", "uniform or uniform:SEED", ARGUMENT_SEED},
    [INPUT_NEEDLE] = {"needle", "needle:J, the key's position", ARGUMENT_KEY},
    [INPUT_NEGATIVE] = {"negative", "negative", ARGUMENT_NONE},
    [INPUT_SINK] = {"sink", "sink", ARGUMENT_NONE},
    [INPUT_ASCENDING] = {"ascending", "ascending", ARGUMENT_NONE},
    [INPUT_DESCENDING] = {"descending", "descending", ARGUMENT_NONE},
    [INPUT_FILE] = {"file", "file:PATH:PREFIX, PREFIX may be empty", ARGUMENT_FILE},
};

#define KINDS (sizeof kinds / sizeof *kinds)

static bool unknown_kind(struct piece name, struct parse_error *error)
{
    struct scan_choice choice = {.given = name};
    for (size_t i = 0; i < KINDS; i++)
        scan_offer(&choice, kinds[i].name);
    error->position = 0;
    return scan_refuse(&choice, "unknown input", "inputs are", MESSAGE(error->message));
}

/* Parses PATH:PREFIX, separated by the last colon. */
static bool read_file(struct piece value, struct input *input, const char **why)
{
    const char *end = value.at + value.length, *colon = end;
    while (colon > value.at && *colon != ':')
        colon--;
    *why = "has no PATH:PREFIX";
    if (colon == value.at)
        return false;
    *why = "is not plain UTF-8 text";
    if (!piece_is_text(value))
        return false;
    *why = "is too long";
    return piece_copy(piece_from(value.at, colon), input->path, sizeof input->path) &&
           piece_copy(piece_from(colon + 1, end), input->prefix, sizeof input->prefix);
}

static bool read_argument(struct input *input, struct piece value, bool has_value, const char **why)
{
    uint64_t n = 0;
    switch (kinds[input->kind].argument) {
    case ARGUMENT_NONE:
        *why = "takes no value";
        return !has_value;
    case ARGUMENT_SEED:
        return !has_value || scan_number(value, UINT64_MAX, &input->seed, why);
    case ARGUMENT_KEY:
        if (!scan_count(value, PTRDIFF_MAX, &n, why))
            return false;
        input->needle = n;
        return true;
    case ARGUMENT_FILE:
        break;
    }
    return read_file(value, input, why);
}

/* Splits off the clauses; a file has none, and a + may be part of its name. */
static struct piece split_clauses(struct piece *text, bool *more)
{
    struct piece value = *text;
    *more = false;
    if (piece_skip(&value, kinds[INPUT_FILE].name) && value.length && *value.at == ':')
        return *text;
    return piece_split(text, "+", more);
}

bool parse_input_for(const char *text, const struct attn_problem *problem, struct input *input,
                     struct parse_error *error)
{
    bool has_value, has_clauses;
    struct piece clauses = piece_of(text);
    const struct piece kind = split_clauses(&clauses, &has_clauses);
    struct piece value = kind;
    const struct piece name = piece_split(&value, ":", &has_value);
    struct input read = {.seed = 1};
    const char *why;
    char quoted[SCAN_QUOTED];

    while (read.kind < KINDS && !piece_is(name, kinds[read.kind].name))
        read.kind++;
    if (read.kind == KINDS)
        return unknown_kind(name, error);
    if (!read_argument(&read, value, has_value, &why))
        return parse_refuse(error, (size_t)(value.at - text), "input %s: %s %s; expected %s",
                            kinds[read.kind].name, scan_quote(value, quoted), why,
                            kinds[read.kind].form);
    if (problem && read.kind == INPUT_NEEDLE && read.needle >= problem->kv_len)
        return parse_refuse(error, 0, "%s is past the last key", scan_quote(kind, quoted));
    if (has_clauses && !parse_clauses(text, clauses, problem, &read, error))
        return false;
    *input = read;
    return true;
}

bool parse_input(const char *text, struct input *input, struct parse_error *error)
{
    return parse_input_for(text, NULL, input, error);
}

void parse_print_input(const struct input *input, char text[PARSE_TEXT])
{
    const char *name = kinds[input->kind].name;
    int n = 0;
    switch (kinds[input->kind].argument) {
    case ARGUMENT_NONE:
        n = snprintf(text, PARSE_TEXT, "%s", name);
        break;
    case ARGUMENT_SEED:
        n = snprintf(text, PARSE_TEXT, "%s:%llu", name, (unsigned long long)input->seed);
        break;
    case ARGUMENT_KEY:
        n = snprintf(text, PARSE_TEXT, "%s:%zu", name, input->needle);
        break;
    case ARGUMENT_FILE:
        n = snprintf(text, PARSE_TEXT, "%s:%s:%s", name, input->path, input->prefix);
        break;
    }
    parse_print_clauses(input, text + n, PARSE_TEXT - (size_t)n);
}
