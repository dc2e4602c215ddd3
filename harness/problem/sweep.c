/*
 * sweep: parses ranges and choices in the text of a problem, and expands them.
 */
#include "sweep.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/message.h"

#define MOST_VALUE ((uint64_t)1 << 60) /* so that a step beyond it does not overflow */
#define TEXT ((size_t)4 * PARSE_TEXT)

/* ---- values ---------------------------------------------------------------------------------- */

struct range {
    uint64_t from, to, by;
    bool times;
};

static const char *find_dots(struct piece text)
{
    for (size_t i = 0; i + 1 < text.length; i++)
        if (text.at[i] == '.' && text.at[i + 1] == '.')
            return text.at + i;
    return NULL;
}

/* What is wrong with a range of valid numbers; NULL: nothing. */
static const char *range_fault(const struct range *r)
{
    return r->from > r->to           ? "runs from more to less"
           : r->times && !r->from    ? "begins with 0, which no factor changes"
           : r->times && r->by < 2   ? "has a factor below 2"
           : !r->times && r->by == 0 ? "has a step of 0"
                                     : NULL;
}

static bool read_range(struct piece text, const char *dots, struct range *r, struct piece *at,
                       const char **why)
{
    bool stepped;
    struct piece by = piece_from(dots + 2, text.at + text.length);
    const struct piece from = piece_from(text.at, dots), to = piece_split(&by, "*+", &stepped);
    *r = (struct range){.by = 1, .times = stepped && to.at[to.length] == '*'};
    *at = from;
    if (!scan_count(from, MOST_VALUE, &r->from, why))
        return false;
    *at = to;
    if (!scan_count(to, MOST_VALUE, &r->to, why))
        return false;
    *at = by;
    if (stepped && !scan_number(by, MOST_VALUE, &r->by, why))
        return false;
    *at = text;
    *why = range_fault(r);
    return !*why;
}

/* Counts steps within the range, at most `most`; returns the number after these. */
static uint64_t walk(const struct range *r, size_t most, size_t *steps)
{
    uint64_t x = r->from, next;
    for (*steps = 0; *steps < most; ++*steps) {
        const bool over = r->times ? __builtin_mul_overflow(x, r->by, &next)
                                   : __builtin_add_overflow(x, r->by, &next);
        if (over || next > r->to)
            break;
        x = next;
    }
    return x;
}

bool sweep_count(struct piece text, size_t *count, struct piece *at, const char **why)
{
    *count = 0;
    for (bool more = true; more;) {
        const struct piece part = piece_split(&text, "|", &more);
        const char *dots = find_dots(part);
        struct range r;
        size_t steps = 0;
        if (dots && !read_range(part, dots, &r, at, why))
            return false;
        if (dots && !r.times)
            steps = (r.to - r.from) / r.by; /* may be too many to walk */
        else if (dots)
            walk(&r, SIZE_MAX, &steps);
        *count += steps + 1;
    }
    return true;
}

bool sweep_value(struct piece text, size_t index, char value[SWEEP_VALUE])
{
    for (bool more = true; more;) {
        const struct piece part = piece_split(&text, "|", &more);
        const char *dots = find_dots(part), *why;
        struct piece at;
        struct range r;
        size_t steps;
        if (!dots && index-- == 0)
            return piece_copy(part, value, SWEEP_VALUE);
        if (!dots || !read_range(part, dots, &r, &at, &why))
            continue;
        const uint64_t x = walk(&r, index, &steps);
        if (steps == index)
            return snprintf(value, SWEEP_VALUE, "%llu", (unsigned long long)x) > 0;
        index -= steps + 1;
    }
    return false;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* A key for a message, quoted if it has bytes that keys cannot have. */
static const char *key_text(struct piece name, char text[SCAN_QUOTED])
{
    for (size_t i = 0; i < name.length; i++)
        if (!isalnum((unsigned char)name.at[i]) && name.at[i] != '_')
            return scan_quote(name, text);
    return piece_copy(name, text, SCAN_QUOTED) ? text : scan_quote(name, text);
}

/* Adds an axis if the value of key=value is a sweep. */
static bool add_axis(struct sweep *s, struct piece item, struct parse_error *error)
{
    struct piece value = item, at;
    const struct piece name = piece_trim(piece_split(&value, "=", &(bool){false}));
    struct sweep_axis *axis = &s->axes[s->axis_count];
    char quoted[SCAN_QUOTED], key[SCAN_QUOTED];
    const char *why;
    if (!find_dots(value) && !(value.length && memchr(value.at, '|', value.length)))
        return true;
    if (s->axis_count == sizeof s->axes / sizeof *s->axes)
        return parse_refuse(error, (size_t)(name.at - s->text.at), "more than %zu keys are swept",
                            s->axis_count);
    *axis = (struct sweep_axis){name, value, 0};
    if (!sweep_count(value, &axis->count, &at, &why))
        return parse_refuse(error, (size_t)(at.at - s->text.at), "%s=%s %s", key_text(name, key),
                            scan_quote(at, quoted), why);
    s->axis_count++;
    if (__builtin_mul_overflow(s->count, axis->count, &s->count) || s->count > SWEEP_MOST)
        return parse_refuse(error, (size_t)(value.at - s->text.at),
                            "%s=%s makes more than %zu cases of one problem", key_text(name, key),
                            scan_quote(value, quoted), SWEEP_MOST);
    return true;
}

bool sweep_begin(struct sweep *sweep, struct piece text, struct parse_error *error)
{
    *sweep = (struct sweep){.text = text, .count = 1};
    struct piece rest = text;
    struct piece problem = case_text_problem(&rest);
    for (bool more = true; more;)
        if (!add_axis(sweep, piece_split(&problem, ",", &more), error))
            return false;
    return true;
}

/* The index of an axis's value in case number `index`; the last axis is the fastest. */
static size_t turn(const struct sweep *s, size_t axis, size_t index)
{
    for (size_t i = s->axis_count; i-- > axis + 1;)
        index /= s->axes[i].count;
    return index % s->axes[axis].count;
}

/* The text with each sweep replaced by a value; false: it is too long. */
static bool expand(const struct sweep *s, size_t index, char text[TEXT])
{
    const char *at = s->text.at, *const end = at + s->text.length;
    size_t n = 0;
    for (size_t i = 0; i <= s->axis_count; i++) {
        const struct sweep_axis *axis = i < s->axis_count ? &s->axes[i] : NULL;
        const size_t length = (size_t)((axis ? axis->value.at : end) - at);
        char value[SWEEP_VALUE] = "";
        if (axis && !sweep_value(axis->value, turn(s, i, index), value))
            return false;
        if (n + length + SWEEP_VALUE >= TEXT)
            return false;
        memcpy(text + n, at, length);
        n += length + (size_t)sprintf(text + n + length, "%s", value);
        at = axis ? axis->value.at + axis->value.length : end;
    }
    text[n] = 0;
    return true;
}

/* The position in the given text of a position in the expanded one. */
static size_t original(const struct sweep *s, size_t index, size_t position)
{
    size_t grown = 0; /* bytes by which the given text is longer up to here */
    for (size_t i = 0; i < s->axis_count; i++) {
        const struct sweep_axis *axis = &s->axes[i];
        const size_t begin = (size_t)(axis->value.at - s->text.at);
        char value[SWEEP_VALUE];
        if (position + grown < begin)
            break;
        sweep_value(axis->value, turn(s, i, index), value);
        if (position + grown == begin || position + grown < begin + strlen(value))
            return begin;
        grown += axis->value.length - strlen(value);
    }
    return position + grown;
}

bool sweep_case(const struct sweep *sweep, size_t index, struct problem_case *c,
                struct parse_error *error)
{
    char text[TEXT];
    if (!sweep->axis_count)
        return case_text_read(sweep->text, c, error);
    if (!expand(sweep, index, text))
        return parse_refuse(error, 0, "is too long for a sweep");
    if (case_text_read(piece_of(text), c, error))
        return true;
    error->position = original(sweep, index, error->position);
    return false;
}

void sweep_suffix(const struct sweep *sweep, size_t index, char suffix[PARSE_TEXT])
{
    *suffix = 0;
    for (size_t i = 0; i < sweep->axis_count; i++) {
        const struct sweep_axis *axis = &sweep->axes[i];
        char value[SWEEP_VALUE] = "";
        sweep_value(axis->value, turn(sweep, i, index), value);
        const bool number = isdigit((unsigned char)*value) || *value == '-';
        message_add(suffix, PARSE_TEXT, "-%.*s%s",
                    number ? (int)(axis->name.length < 16 ? axis->name.length : 16) : 0,
                    axis->name.at, value);
    }
    for (char *at = suffix; *at; at++) /* replace characters not allowed in names */
        if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
            *at = '_';
}
