/*
 * parse_kinds: parses and prints each kind of value that a key can have.
 */
#include <stdio.h>
#include <string.h>

#include "parse_keys.h"

static void *field(const struct parse_key *key, struct attn_problem *problem)
{
    return (char *)problem + key->offset;
}

static const void *field_of(const struct parse_key *key, const struct attn_problem *problem)
{
    return (const char *)problem + key->offset;
}

static void set_option(struct attn_problem *problem, unsigned option, bool on)
{
    problem->options = on ? problem->options | option : problem->options & ~option;
}

static bool read_size(const struct parse_key *key, struct piece value, struct attn_problem *problem,
                      const char **why)
{
    uint64_t n;
    if (key->option ? !scan_count(value, PTRDIFF_MAX, &n, why)
                    : !scan_length(value, PTRDIFF_MAX, &n, why))
        return false;
    set_option(problem, key->option, n);
    *(size_t *)field(key, problem) = n;
    return true;
}

static void print_size(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    const bool off = key->option && !(problem->options & key->option);
    snprintf(text, PARSE_VALUE, "%zu", off ? 0 : *(const size_t *)field_of(key, problem));
}

static bool read_group(const struct parse_key *key, struct piece value,
                       struct attn_problem *problem, const char **why)
{
    *why = "is no such size";
    if (!piece_is(value, "32") && !piece_is(value, "64"))
        return false;
    *(size_t *)field(key, problem) = piece_is(value, "32") ? 32 : 64;
    return true;
}

static void print_group(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    const size_t group = *(const size_t *)field_of(key, problem);
    snprintf(text, PARSE_VALUE, "%zu", group ? group : 32);
}

static bool read_flag(const struct parse_key *key, struct piece value, struct attn_problem *problem,
                      const char **why)
{
    *why = "is neither 0 nor 1";
    if (!piece_is(value, "0") && !piece_is(value, "1"))
        return false;
    set_option(problem, key->option, piece_is(value, "1"));
    return true;
}

static void print_flag(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    snprintf(text, PARSE_VALUE, "%d", (problem->options & key->option) != 0);
}

static bool read_float(const struct parse_key *key, struct piece value,
                       struct attn_problem *problem, const char **why)
{
    float x;
    if (!scan_float(value, &x, why))
        return false;
    *why = "is negative";
    if (key->option && x < 0)
        return false;
    set_option(problem, key->option, x != 0);
    *(float *)field(key, problem) = x;
    return true;
}

static void print_float(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    const bool off = key->option && !(problem->options & key->option);
    scan_print_float(off ? 0 : *(const float *)field_of(key, problem), text);
}

static bool read_dtype(const struct parse_key *key, struct piece value,
                       struct attn_problem *problem, const char **why)
{
    char name[PARSE_VALUE];
    enum attn_dtype dtype;
    *why = "is no such type";
    if (!piece_copy(value, name, sizeof name) || !attn_dtype_parse(name, &dtype) ||
        !(key->dtypes & 1u << dtype))
        return false;
    *(enum attn_dtype *)field(key, problem) = dtype;
    return true;
}

static void print_dtype(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    const enum attn_dtype dtype = *(const enum attn_dtype *)field_of(key, problem);
    snprintf(text, PARSE_VALUE, "%s", attn_dtype_name(dtype));
}

static const struct parse_name *find_name(const struct parse_name *names, struct piece word)
{
    for (; names->name; names++)
        if (piece_is(word, names->name))
            return names;
    return NULL;
}

/* Names of types in other programs. */
static const struct scan_synonym types[] = {
    {"float", "f32"},       {"float32", "f32"},
    {"single", "f32"},      {"fp32", "f32"},
    {"half", "f16"},        {"float16", "f16"},
    {"fp16", "f16"},        {"bfloat", "bf16"},
    {"double", "f64"},      {"bfloat16", "bf16"},
    {"float64", "f64"},     {"fp64", "f64"},
    {"int8", "i8"},         {"fp8", "f8e4m3"},
    {"fp8_e4m3", "f8e4m3"}, {"float8_e4m3fn", "f8e4m3"},
    {"fp8_e5m2", "f8e5m2"}, {"float8_e5m2", "f8e5m2"},
    {NULL, NULL},
};

/* Offers the key's types, but none for a word that is another type. */
static void offer_types(const struct parse_key *key, struct piece value, struct scan_choice *choice)
{
    char name[PARSE_VALUE];
    enum attn_dtype dtype;
    if (piece_copy(value, name, sizeof name) && attn_dtype_parse(name, &dtype))
        return;
    for (size_t i = 0; i < ATTN_DTYPE_COUNT; i++)
        if (key->dtypes & 1u << i)
            scan_offer(choice, attn_dtype_name((enum attn_dtype)i));
    const char *const near = choice->nearest;
    scan_offer_synonyms(choice, types);
    if (choice->nearest &&
        (!attn_dtype_parse(choice->nearest, &dtype) || !(key->dtypes & 1u << dtype)))
        choice->nearest = near;
}

bool parse_meant(const struct parse_key *key, struct piece value, char text[SCAN_ADVICE])
{
    struct scan_choice choice = {.given = value};
    if (key->dtypes)
        offer_types(key, value, &choice);
    /* no layout is suggested: others, too, are a permutation of these letters */
    const bool words = key->kind == &parse_kind_set && key != &parse_keys[KEY_LAYOUT];
    for (bool more = words; more && !choice.nearest;) {
        choice = (struct scan_choice){.given = piece_split(&value, "+", &more)};
        const bool known = find_name(key->names, choice.given);
        for (const struct parse_name *name = key->names; name->name && !known; name++)
            scan_offer(&choice, name->name);
    }
    scan_advice(&choice, "", text);
    return choice.nearest;
}

/* Parses a sum of names; the name of 0, if there is one, must be alone. */
static bool read_set(const struct parse_key *key, struct piece value, struct attn_problem *problem,
                     const char **why)
{
    unsigned set = 0;
    for (bool more = true; more;) {
        const struct parse_name *found = find_name(key->names, piece_split(&value, "+", &more));
        *why = "is unknown";
        if (!found || (!found->value && (set || more)))
            return false;
        *why = "has a part twice";
        if (set & found->value)
            return false;
        set |= found->value;
    }
    memcpy(field(key, problem), &set, sizeof set);
    return true;
}

static void print_set(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    const unsigned set = *(const unsigned *)field_of(key, problem);
    char *end = text;
    for (const struct parse_name *name = key->names; name->name; name++)
        if (set ? set & name->value : !name->value)
            end += sprintf(end, "%s%s", end > text ? "+" : "", name->name);
}

/* Parses -1 or a number, at most half of the range, so that adding a position cannot overflow. */
static bool read_limit(struct piece value, ptrdiff_t *limit, const char **why)
{
    uint64_t n;
    *limit = -1;
    if (piece_is(value, "-1"))
        return true;
    if (!scan_count(value, PTRDIFF_MAX / 2, &n, why))
        return false;
    *limit = (ptrdiff_t)n;
    return true;
}

static bool read_window(const struct parse_key *key, struct piece value,
                        struct attn_problem *problem, const char **why)
{
    bool two;
    ptrdiff_t right = -1;
    const struct piece left = piece_split(&value, ":", &two);
    if (!read_limit(left, &problem->window_left, why) || (two && !read_limit(value, &right, why)))
        return false;
    problem->window_right = right;
    set_option(problem, key->option, problem->window_left >= 0 || right >= 0);
    return true;
}

static void print_window(const struct parse_key *key, const struct attn_problem *problem,
                         char *text)
{
    const bool on = problem->options & key->option;
    const ptrdiff_t left = on && problem->window_left >= 0 ? problem->window_left : -1;
    text += sprintf(text, "%td", left);
    if (on && problem->window_right >= 0)
        sprintf(text, ":%td", problem->window_right);
}

/* Parses all, index:COUNT or index:COUNT:QUERIES. */
static bool read_keys(const struct parse_key *key, struct piece value, struct attn_problem *problem,
                      const char **why)
{
    bool count, queries = false;
    uint64_t entries = 0, block = 0;
    const bool index = !piece_is(value, "all");
    *why = "is neither all nor a list";
    if (index && (!piece_is(piece_split(&value, ":", &count), "index") || !count))
        return false;
    if (index && (!scan_count(piece_split(&value, ":", &queries), PTRDIFF_MAX, &entries, why) ||
                  (queries && !scan_count(value, PTRDIFF_MAX, &block, why))))
        return false;
    *why = !entries ? "has a COUNT of 0" : "has QUERIES of 0";
    if (index && (!entries || (queries && !block)))
        return false;
    set_option(problem, key->option, index);
    problem->index_count = entries;
    problem->index_block = index && !queries ? 1 : block;
    return true;
}

static void print_keys(const struct parse_key *key, const struct attn_problem *problem, char *text)
{
    if (!(problem->options & key->option))
        sprintf(text, "all");
    else if (problem->index_block == 1)
        sprintf(text, "index:%zu", problem->index_count);
    else
        sprintf(text, "index:%zu:%zu", problem->index_count, problem->index_block);
}

const struct parse_kind parse_kind_size = {read_size, print_size};
const struct parse_kind parse_kind_flag = {read_flag, print_flag};
const struct parse_kind parse_kind_float = {read_float, print_float};
const struct parse_kind parse_kind_dtype = {read_dtype, print_dtype};
const struct parse_kind parse_kind_set = {read_set, print_set};
const struct parse_kind parse_kind_window = {read_window, print_window};
const struct parse_kind parse_kind_group = {read_group, print_group};
const struct parse_kind parse_kind_keys = {read_keys, print_keys};
