/*
 * case_text: parses and names cases.
 */
#include "cases.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Parses `input=...`, or nothing for the default. */
static bool read_input(struct piece text, struct problem_case *c, struct parse_error *error)
{
    char copy[PARSE_TEXT], quoted[SCAN_QUOTED];
    bool named;
    struct piece value = text;
    if (!text.length)
        return parse_input("normal", &c->input, error);
    if (!piece_is(piece_split(&value, "=", &named), "input") || !named)
        return parse_refuse(error, 0, "%s follows the problem; expected input=... or nothing",
                            scan_quote(text, quoted));
    const size_t skipped = (size_t)(value.at - text.at);
    if (!piece_copy(value, copy, sizeof copy))
        return parse_refuse(error, skipped, "%s is too long for an input",
                            scan_quote(value, quoted));
    if (!parse_input_for(copy, &c->problem, &c->input, error)) {
        error->position += skipped;
        return false;
    }
    return true;
}

struct piece case_text_problem(struct piece *rest)
{
    *rest = piece_trim(*rest);
    const char *const end = rest->at + rest->length, *at = rest->at;
    bool goes_on = false;
    for (; at < end && (goes_on || !strchr(PIECE_BLANKS, *at)); at++)
        if (!strchr(PIECE_BLANKS, *at))
            goes_on = *at == ',';
    const struct piece problem = piece_trim(piece_from(rest->at, at));
    *rest = piece_from(at, end);
    return problem;
}

bool case_text_read(struct piece text, struct problem_case *c, struct parse_error *error)
{
    char copy[PARSE_TEXT], quoted[SCAN_QUOTED];
    struct piece rest = text;
    const struct piece problem = case_text_problem(&rest);
    const struct piece input = piece_trim(rest);
    const size_t problem_at = (size_t)(problem.at - text.at);
    const size_t input_at = (size_t)(input.at - text.at);

    if (!piece_copy(problem, copy, sizeof copy))
        return parse_refuse(error, problem_at, "%s is too long for a problem",
                            scan_quote(problem, quoted));
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

/* ---- names --------------------------------------------------------------------------------- */

#define NAME_SHOWN \
    ((size_t)60) /* bytes; a table without room for them prints names on their own lines */

/* Bytes kept of the beginning of a name that loses its middle. */
#define NAME_BEGIN 8

/* Appends "-part" to a name of PARSE_TEXT bytes, as far as it fits; characters not allowed in names become
 * _. */
__attribute__((format(printf, 2, 3))) static void add_part(char *name, const char *format, ...)
{
    char part[PARSE_TEXT];
    size_t n = strlen(name);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    if (n && n + 1 < PARSE_TEXT)
        name[n++] = '-';
    for (const char *c = part; *c && n + 1 < PARSE_TEXT; c++)
        name[n++] = isalnum((unsigned char)*c) || *c == '.' || *c == '-' ? *c : '_';
    while (n && strchr("-_.", name[n - 1]))
        n--;
    name[n] = 0;
}

static void add_sizes(char *name, const struct attn_problem *p)
{
    if (p->batch > 1)
        add_part(name, "b%zu", p->batch);
    if (p->q_heads == p->kv_heads)
        add_part(name, "h%zu", p->q_heads);
    else
        add_part(name, "h%zux%zu", p->q_heads, p->kv_heads);
    if (p->q_len == p->kv_len)
        add_part(name, "s%zu", p->q_len);
    else
        add_part(name, "sq%zu-skv%zu", p->q_len, p->kv_len);
    add_part(name, "d%zu", p->qk_dim);
    if (p->v_dim != p->qk_dim)
        add_part(name, "dv%zu", p->v_dim);
}

/* Adds options that differ from the default: words unchanged, numbers after their keys. */
static void add_options(char *name, const struct attn_problem *p)
{
    static const char *const sizes[] = {"b", "hq", "hkv", "sq", "skv", "d", "dv"};
    char text[PARSE_TEXT];
    parse_print_problem(p, text);
    struct piece rest = piece_of(text);
    for (bool more = true; more;) {
        struct piece value = piece_split(&rest, ",", &more);
        const struct piece key = piece_split(&value, "=", &(bool){false});
        bool size = false;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            size |= piece_is(key, sizes[i]);
        const bool number = strcspn(value.at, "-0123456789") == 0;
        if (!size)
            add_part(name, "%.*s%.*s", number ? (int)key.length : 0, key.at, (int)value.length,
                     value.at);
    }
}

static void add_input(char *name, const struct input *input)
{
    char text[PARSE_TEXT];
    parse_print_input(input, text);
    struct piece clauses = piece_of(text);
    bool more = false;
    const char *slash = strrchr(input->path, '/');
    if (input->kind == INPUT_FILE) {
        add_part(name, "%s", *input->prefix ? input->prefix : slash ? slash + 1 : input->path);
        return;
    }
    struct piece argument = piece_split(&clauses, "+", &more);
    const struct piece kind = piece_split(&argument, ":", &(bool){false});
    if (input->kind != INPUT_NORMAL || input->seed != 1)
        add_part(name, "%.*s%.*s", (int)kind.length, kind.at, (int)argument.length, argument.at);
    while (more) {
        const struct piece clause = piece_split(&clauses, "+", &more);
        add_part(name, "%.*s", (int)clause.length, clause.at);
    }
}

static void whole_name(const struct problem_case *c, char name[PARSE_TEXT])
{
    *name = 0;
    add_sizes(name, &c->problem);
    add_options(name, &c->problem);
    add_input(name, &c->input);
}

/* Truncates a name to NAME_SHOWN; if `end` is not 0, drops its middle and keeps what begins there. */
static void shorten(struct problem_case *c, const char *whole, size_t end)
{
    const size_t length = strlen(whole), most = NAME_SHOWN - NAME_BEGIN - 2;
    const size_t rest = length - end < most ? length - end : most, begin = NAME_SHOWN - 2 - rest;
    if (length > NAME_SHOWN && end > begin)
        snprintf(c->name, sizeof c->name, "%.*s..%.*s", (int)begin, whole, (int)rest, whole + end);
    else
        snprintf(c->name, sizeof c->name, "%.*s", (int)NAME_SHOWN, whole);
    for (size_t n = strlen(c->name); n && strchr("-_.", c->name[n - 1]); n--)
        c->name[n - 1] = 0;
}

void case_text_name(struct problem_case *c, size_t number)
{
    char suffix[24], whole[PARSE_TEXT];
    whole_name(c, whole);
    shorten(c, whole, 0);
    if (number < 2)
        return;
    const size_t length = (size_t)snprintf(suffix, sizeof suffix, "-%zu", number);
    const size_t at = strlen(c->name) + length > NAME_SHOWN ? NAME_SHOWN - length : strlen(c->name);
    memcpy(c->name + at, suffix, length + 1);
}

void case_text_name_apart(struct problem_case *c, struct problem_case *others, size_t count)
{
    char whole[PARSE_TEXT], other[PARSE_TEXT];
    size_t end = 0;
    case_text_name(c, 1);
    whole_name(c, whole);
    for (size_t i = 0; strlen(whole) > NAME_SHOWN && i < count; i++) {
        if (strncmp(others[i].name, whole, NAME_BEGIN) != 0 || case_text_same(&others[i], c))
            continue;
        size_t same = 0;
        whole_name(&others[i], other);
        while (whole[same] && whole[same] == other[same])
            same++;
        for (; same && whole[same - 1] != '-'; same--) /* to the beginning of the part */
            ;
        if (strncmp(other, whole, strlen(c->name)) != 0)
            continue;
        if (strcmp(others[i].name, c->name) == 0)
            shorten(&others[i], other, same);
        end = same > end ? same : end;
    }
    if (end)
        shorten(c, whole, end);
}
