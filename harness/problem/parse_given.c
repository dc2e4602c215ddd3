/*
 * parse_given: single keys of a text that has been parsed.
 */
#include <assert.h>
#include <string.h>

#include "base/message.h"
#include "parse_keys.h"

/* Whether `found` has the value that `item`, key=value, gives to a key. */
static bool value_agrees(struct piece item, const struct parse_key *key,
                         const struct attn_problem *given, const struct attn_problem *found,
                         struct message message)
{
    char wanted[PARSE_VALUE], there[PARSE_VALUE];
    assert(key->kind); /* not a shorthand */
    key->kind->print(key, given, wanted);
    key->kind->print(key, found, there);
    if (strcmp(wanted, there) == 0)
        return true;
    if (key == &parse_keys[KEY_KV_DTYPE] && attn_dtype_scaled(given->kv_dtype) &&
        !attn_dtype_scaled(found->kv_dtype)) /* other types are converted */
        return refuse(message, "%.*s, but k is not %s", (int)item.length, item.at,
                      attn_dtype_name(given->kv_dtype));
    return refuse(message, "%.*s, but %s=%s", (int)item.length, item.at, key->help.name, there);
}

/* The key of `item`, a key=value of a text that has been parsed. */
static enum parse_key_id key_of(struct piece item)
{
    const struct piece name = piece_from(item.at, memchr(item.at, '=', item.length));
    enum parse_key_id id = 0;
    while (!piece_is(name, parse_keys[id].help.name))
        id++;
    return id;
}

bool parse_agrees_with_file(const char *text, const struct attn_problem *found,
                            struct message message)
{
    struct attn_problem given;
    struct parse_error error;
    struct piece rest = piece_of(text);
    bool agree = parse_problem_of_file(text, &given, &error);
    assert(agree);
    for (bool more = true; more && agree;) {
        const struct piece item = piece_item(&rest, &more);
        const enum parse_key_id id = key_of(item);
        for (size_t i = 0; agree && i < (parse_keys[id].kind ? 1 : 2); i++) {
            const enum parse_key_id target = parse_keys[id].kind ? id : parse_keys[id].sets[i];
            agree = !parse_keys[target].of_file ||
                    value_agrees(item, &parse_keys[target], &given, found, message);
        }
    }
    return agree;
}

bool parse_gives(const char *text, const char *key)
{
    struct piece rest = {text, text ? strlen(text) : 0};
    bool given = false;
    for (bool more = rest.length; more && !given;) {
        const struct parse_key *k = &parse_keys[key_of(piece_item(&rest, &more))];
        given = strcmp(k->help.name, key) == 0 ||
                (!k->kind && (strcmp(parse_keys[k->sets[0]].help.name, key) == 0 ||
                              strcmp(parse_keys[k->sets[1]].help.name, key) == 0));
    }
    return given;
}
