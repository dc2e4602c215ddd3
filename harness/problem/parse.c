/*
 * parse: parses and prints problems; parse_keys.c has the table of keys.
 *
 * Keys that a text leaves out are parsed from the table's standard values, so that there is one way into the
 * struct; printing leaves out keys with these values.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "parse_keys.h"

/* A text that is being parsed. */
struct reading {
    const char *text;
    struct attn_problem problem;
    bool given[KEY_COUNT];           /* the key, or a shorthand for it */
    enum parse_key_id by[KEY_COUNT]; /* the one of these in the text */
    size_t position[KEY_COUNT];      /* of that name */
    struct parse_error *error;
};

#define fail(r, at, ...) parse_refuse((r)->error, (size_t)((at) - (r)->text), __VA_ARGS__)

const struct parse_key_help *parse_key_help(size_t index)
{
    return index < KEY_COUNT ? &parse_keys[index].help : NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static bool unknown_key(struct reading *r, struct piece name)
{
    struct scan_choice choice = {.given = name};
    for (size_t i = 0; i < KEY_COUNT; i++)
        scan_offer(&choice, parse_keys[i].help.name);
    r->error->position = (size_t)(name.at - r->text);
    return scan_refuse(&choice, "unknown key", "keys are", MESSAGE(r->error->message));
}

/* Records that `by` sets `key`; false: it is set already. */
static bool claim(struct reading *r, enum parse_key_id key, enum parse_key_id by, const char *at)
{
    const char *name = parse_keys[key].help.name;
    if (!r->given[key]) {
        r->given[key] = true;
        r->by[key] = by;
        r->position[key] = (size_t)(at - r->text);
        return true;
    }
    if (r->by[key] == by)
        return fail(r, at, "%s is given twice, first at position %zu", parse_keys[by].help.name,
                    r->position[key]);
    return fail(r, at, "%s sets %s, which %s at position %zu sets too; give one of them",
                parse_keys[by].help.name, name, parse_keys[r->by[key]].help.name, r->position[key]);
}

static bool read_value(struct reading *r, enum parse_key_id id, struct piece value)
{
    const struct parse_key *key = &parse_keys[id];
    const size_t targets = key->kind ? 1 : 2;
    for (size_t i = 0; i < targets; i++) {
        const struct parse_key *target = key->kind ? key : &parse_keys[key->sets[i]];
        const char *why;
        char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
        if (target->kind->read(target, value, &r->problem, &why))
            continue;
        scan_quote(value, quoted);
        if (parse_meant(target, value, advice))
            return fail(r, value.at, "%s=%s %s; %s", key->help.name, quoted, why, advice);
        return fail(r, value.at, "%s=%s %s; expected %s", key->help.name, quoted, why,
                    key->help.form);
    }
    return true;
}

/* Parses key=value. */
static bool read_item(struct reading *r, struct piece item)
{
    bool has_value;
    struct piece value = item;
    const struct piece name = piece_split(&value, "=", &has_value);
    enum parse_key_id id = 0;
    char quoted[SCAN_QUOTED];
    while (id < KEY_COUNT && !piece_is(name, parse_keys[id].help.name))
        id++;
    if (!item.length)
        return fail(r, item.at, "an empty item; expected key=value");
    if (id == KEY_COUNT && has_value)
        return unknown_key(r, name);
    if (!has_value)
        return fail(r, item.at, "%s has no value; expected key=value", scan_quote(item, quoted));
    if (!value.length)
        return fail(r, value.at, "%s has an empty value; expected %s", parse_keys[id].help.name,
                    parse_keys[id].help.form);
    if (parse_keys[id].kind)
        return claim(r, id, id, name.at) && read_value(r, id, value);
    return claim(r, parse_keys[id].sets[0], id, name.at) &&
           claim(r, parse_keys[id].sets[1], id, name.at) && read_value(r, id, value);
}

static bool read_items(struct reading *r)
{
    struct piece rest = piece_of(r->text);
    for (bool more = rest.length; more;)
        if (!read_item(r, piece_item(&rest, &more)))
            return false;
    return true;
}

/* The default value of a key as text. */
static void standard_text(const struct parse_key *key, const struct attn_problem *problem,
                          char text[PARSE_VALUE])
{
    if (key->follows)
        parse_keys[key->follows].kind->print(&parse_keys[key->follows], problem, text);
    else
        snprintf(text, PARSE_VALUE, "%s", key->help.standard);
}

static void read_standards(struct reading *r)
{
    for (enum parse_key_id id = 0; id < KEY_COUNT; id++) {
        const struct parse_key *key = &parse_keys[id];
        char text[PARSE_VALUE];
        const char *why;
        if (r->given[id] || !key->kind)
            continue;
        standard_text(key, &r->problem, text);
        const bool read = key->kind->read(key, piece_of(text), &r->problem, &why);
        assert(read);
        (void)read;
    }
}

/* Tests conditions on several keys, each with the key to report. */
static bool check_whole(struct reading *r, bool whole)
{
    const struct attn_problem *p = &r->problem;
    const unsigned both = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    const bool i4 = p->kv_dtype == ATTN_I4;
    char types[96];
    snprintf(types, sizeof types,
             "kv_dtype=%s is neither dtype, which is %s, nor i8, f8e4m3, f8e5m2 or i4",
             attn_dtype_name(p->kv_dtype), attn_dtype_name(p->dtype));
    const struct {
        bool wrong, by_file; /* by_file: a file's tensors may still determine it */
        enum parse_key_id key;
        const char *message;
    } rules[] = {
        {p->q_heads % p->kv_heads != 0, true, r->given[KEY_HKV] ? KEY_HKV : KEY_HQ,
         "hq is not a multiple of hkv"},
        {p->kv_dtype != p->dtype && !attn_dtype_scaled(p->kv_dtype), true, KEY_KV_DTYPE, types},
        {r->given[KEY_KV_GROUP] && !i4, false, KEY_KV_GROUP, "kv_group needs kv_dtype=i4"},
        {p->options & ATTN_OPTION_ZERO_POINTS && !i4, false, KEY_KV_ZEROS,
         "kv_zeros needs kv_dtype=i4"},
        {(p->mask & both) == both, false, KEY_MASK,
         "mask is causal in two ways; expected one of them"},
        {p->mask & ATTN_MASK_TREE &&
             (p->mask & both || p->options & (ATTN_OPTION_WINDOW | ATTN_OPTION_ALIBI)),
         false, KEY_MASK,
         "mask=tree goes with no causal mask, window or alibi: places in a tree are depths"},
        {p->options & ATTN_OPTION_SHARED_KV && p->v_dim > p->qk_dim, true, KEY_SHARED_KV,
         "shared_kv needs a dv of at most d"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong && (whole || !rules[i].by_file))
            return fail(r, r->text + r->position[rules[i].key], "%s", rules[i].message);
    const char *why;
    return !whole || attn_problem_valid(p, &why) || fail(r, r->text, "%s", why);
}

void parse_change(const char *text, struct attn_problem *problem)
{
    struct parse_error error;
    struct reading r = {.text = text, .problem = *problem, .error = &error};
    const bool read = read_items(&r);
    assert(read);
    (void)read;
    *problem = r.problem;
}

/* `whole`: no file completes the problem, so that it must be valid. */
static bool read_problem(const char *text, bool whole, struct attn_problem *problem,
                         struct parse_error *error)
{
    struct reading r = {.text = text, .error = error};
    attn_problem_init(&r.problem);
    if (strlen(text) >= PARSE_TEXT)
        return fail(&r, text + PARSE_TEXT - 1, "a problem text has at most %d bytes",
                    PARSE_TEXT - 1);
    if (!*text)
        return fail(&r, text, "the problem is empty; expected key=value,...");
    if (!read_items(&r))
        return false;
    read_standards(&r);
    if (r.problem.kv_dtype != ATTN_I4 && !r.given[KEY_KV_GROUP])
        r.problem.kv_group = 0;
    if (!check_whole(&r, whole))
        return false;
    *problem = r.problem;
    return true;
}

bool parse_problem(const char *text, struct attn_problem *problem, struct parse_error *error)
{
    return read_problem(text, true, problem, error);
}

bool parse_problem_of_file(const char *text, struct attn_problem *problem,
                           struct parse_error *error)
{
    return read_problem(text, false, problem, error);
}

/* ---- printing ------------------------------------------------------------------------------ */

void parse_print_problem(const struct attn_problem *problem, char text[PARSE_TEXT])
{
    size_t n = 0;
    for (enum parse_key_id id = 0; id < KEY_COUNT; id++) {
        const struct parse_key *key = &parse_keys[id];
        char value[PARSE_VALUE], standard[PARSE_VALUE];
        if (!key->kind)
            continue;
        key->kind->print(key, problem, value);
        standard_text(key, problem, standard);
        if (key->always || strcmp(value, standard) != 0)
            n += (size_t)snprintf(text + n, PARSE_TEXT - n, "%s%s=%s", n ? "," : "", key->help.name,
                                  value);
        assert(n < PARSE_TEXT);
    }
}
