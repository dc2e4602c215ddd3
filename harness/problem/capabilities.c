/*
 * capabilities: prints and parses them, by one table of sets.
 */
#include "capabilities.h"

#include <string.h>

#include "parse_keys.h"

static const struct parse_name dtypes[] = {
    {"f32", 1u << ATTN_F32},       {"bf16", 1u << ATTN_BF16}, {"f16", 1u << ATTN_F16},
    {"f64", 1u << ATTN_F64},       {"i8", 1u << ATTN_I8},     {"f8e4m3", 1u << ATTN_F8E4M3},
    {"f8e5m2", 1u << ATTN_F8E5M2}, {"i4", 1u << ATTN_I4},     {NULL, 0},
};
static const struct parse_name options[] = {
    {"window", ATTN_OPTION_WINDOW},
    {"softcap", ATTN_OPTION_SOFTCAP},
    {"sinks", ATTN_OPTION_SINKS},
    {"alibi", ATTN_OPTION_ALIBI},
    {"ragged", ATTN_OPTION_RAGGED},
    {"paged", ATTN_OPTION_PAGED},
    {"packed", ATTN_OPTION_PACKED},
    {"shared_kv", ATTN_OPTION_SHARED_KV},
    {"kv_zeros", ATTN_OPTION_ZERO_POINTS},
    {"index", ATTN_OPTION_INDEX},
    {NULL, 0},
};
static const struct parse_name caveats[] = {
    {"nan_leaks", ATTN_CAVEAT_NAN_LEAKS},
    {"empty_rows", ATTN_CAVEAT_EMPTY_ROWS},
    {"infinite_scores", ATTN_CAVEAT_INFINITE_SCORES},
    {"subnormals", ATTN_CAVEAT_SUBNORMALS},
    {"nan_vanishes", ATTN_CAVEAT_NAN_VANISHES},
    {NULL, 0},
};
enum { FORWARD = 1, BACKWARD = 2 };
static const struct parse_name passes[] = {{"forward", FORWARD}, {"backward", BACKWARD}, {NULL, 0}};

static json_t *words_of(const struct parse_name *words, unsigned set)
{
    json_t *array = json_array();
    for (; words->name; words++)
        if (set & words->value)
            json_array_append_new(array, json_string(words->name));
    return array;
}

json_t *capabilities_json(const struct attn_caps *caps)
{
    const unsigned directions = (caps->forward ? FORWARD : 0u) | (caps->backward ? BACKWARD : 0u);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:b, s:I, s:s, s:f, s:s?, s:o}", "dtypes",
        words_of(dtypes, caps->dtypes), "kv_dtypes", words_of(dtypes, caps->kv_dtypes), "masks",
        words_of(parse_masks, caps->masks), "options", words_of(options, caps->options), "outputs",
        words_of(parse_outputs, caps->outputs), "passes", words_of(passes, directions), "parallel",
        (int)caps->parallel, "varies", (int)caps->varies, "max_dim", (json_int_t)caps->max_dim,
        "compute", attn_dtype_name(caps->compute), "bound_factor", caps->bound_factor,
        "bound_reason", caps->bound_reason, "caveats", words_of(caveats, caps->caveats));
}

/* Parses a set.  Unknown words are ignored: options of a newer interface, which no problem has here. */
static bool set_of(const json_t *object, const char *key, const struct parse_name *words,
                   unsigned *set)
{
    const json_t *array = json_object_get(object, key), *item;
    size_t i;
    if (array && !json_is_array(array))
        return false;
    json_array_foreach (array, i, item) {
        const char *name = json_string_value(item);
        if (!name)
            return false;
        for (const struct parse_name *word = words; word->name; word++)
            if (strcmp(word->name, name) == 0)
                *set |= word->value;
    }
    return true;
}

static bool flag_of(const json_t *object, const char *key, bool *flag)
{
    const json_t *value = json_object_get(object, key);
    *flag = json_is_true(value);
    return !value || json_is_boolean(value);
}

bool capabilities_parse(const json_t *object, struct attn_caps *caps, struct message message)
{
    const json_t *dim = json_object_get(object, "max_dim");
    const json_t *factor = json_object_get(object, "bound_factor");
    const json_t *reason = json_object_get(object, "bound_reason");
    const json_t *compute = json_object_get(object, "compute");
    unsigned directions = json_object_get(object, "passes") ? 0 : FORWARD;
    *caps = (struct attn_caps){.size = sizeof *caps};
    const struct {
        bool right;
        const char *key;
    } parts[] = {
        {json_is_object(object), "caps"},
        {set_of(object, "dtypes", dtypes, &caps->dtypes), "dtypes"},
        {set_of(object, "kv_dtypes", dtypes, &caps->kv_dtypes), "kv_dtypes"},
        {set_of(object, "masks", parse_masks, &caps->masks), "masks"},
        {set_of(object, "options", options, &caps->options), "options"},
        {set_of(object, "outputs", parse_outputs, &caps->outputs), "outputs"},
        {set_of(object, "passes", passes, &directions), "passes"},
        {set_of(object, "caveats", caveats, &caps->caveats), "caveats"},
        {flag_of(object, "parallel", &caps->parallel), "parallel"},
        {flag_of(object, "varies", &caps->varies), "varies"},
        {!dim || (json_is_integer(dim) && json_integer_value(dim) >= 0), "max_dim"},
        {!factor || (json_is_number(factor) && json_number_value(factor) >= 0), "bound_factor"},
        {!reason || json_is_null(reason) || json_is_string(reason), "bound_reason"},
        {!compute || (json_is_string(compute) &&
                      attn_dtype_parse(json_string_value(compute), &caps->compute)),
         "compute"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!parts[i].right)
            return refuse(message, "%s", parts[i].key);
    caps->forward = directions & FORWARD;
    caps->backward = directions & BACKWARD;
    caps->max_dim = (size_t)json_integer_value(dim);
    caps->bound_factor = json_number_value(factor);
    caps->bound_reason = json_string_value(reason);
    return true;
}
