/*
 * options_value: parses the value of an option.
 */
#include "options.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/message.h"
#include "base/alloc.h"
#include "problem/sweep.h"

#define TEXT 512 /* bytes of a string that becomes JSON */
#define MOST_VALUES 64
#define EXACT 0x1p53 /* a double represents every whole number up to here */

static bool is_whole(const struct option *option)
{
    return option->kind == OPTION_COUNT || option->kind == OPTION_COUNTS;
}

/* Parses a whole number in the option's range; it may have a unit, as lengths of a problem do. */
static bool whole(const struct option *option, const char *text, uint64_t *n)
{
    const char *why;
    const uint64_t most = option->hi < 0x1p63 ? (uint64_t)option->hi : INT64_MAX; /* JSON's limit */
    return scan_count(piece_of(text), most, n, &why) && *n >= (uint64_t)option->lo;
}

/* Parses an item as a number of the option's kind; false if it is none. */
static bool number(const struct option *option, const char *text, double *x)
{
    char *end;
    uint64_t n;
    if (is_whole(option)) {
        const bool read = whole(option, text, &n);
        *x = read ? (double)n : 0;
        return read;
    }
    *x = strtod(text, &end);
    return end != text && !*end && *x >= option->lo && *x <= option->hi;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool append(const struct option *option, json_t *list, double x)
{
    const size_t n = json_array_size(list);
    return n < MOST_VALUES && (!n || x > json_number_value(json_array_get(list, n - 1))) &&
           json_array_append_new(list, is_whole(option) ? json_integer((json_int_t)x)
                                                        : json_real(x)) == 0;
}

/* Appends each value of a number, a range or a choice. */
static bool append_sweep(const struct option *option, json_t *list, struct piece text)
{
    char value[SWEEP_VALUE];
    struct piece at;
    const char *why;
    size_t count;
    double x;
    bool right = sweep_count(text, &count, &at, &why);
    for (size_t i = 0; right && i < count; i++)
        right = sweep_value(text, i, value) && number(option, value, &x) && append(option, list, x);
    return right;
}

static bool word(const struct option *option, struct piece text, unsigned *index)
{
    *index = 0;
    while (option->words[*index] && !piece_is(text, option->words[*index]))
        ++*index;
    return option->words[*index];
}

static bool append_word(const struct option *option, json_t *list, struct piece item)
{
    size_t i;
    unsigned index;
    json_t *before;
    json_array_foreach (list, i, before) {
        if (piece_is(item, json_string_value(before)))
            return false;
    }
    return word(option, item, &index) &&
           json_array_append_new(list, json_stringn(item.at, item.length)) == 0;
}

static json_t *list_value(const struct option *option, const char *text)
{
    json_t *list = json_array();
    struct piece rest = piece_of(text);
    bool right = true;
    for (bool more = true; right && more;) {
        const struct piece item = piece_split(&rest, ",", &more);
        right = option->kind == OPTION_WORDS ? append_word(option, list, item)
                                             : append_sweep(option, list, item);
    }
    if (right)
        return list;
    json_decref(list);
    return NULL;
}

/* ---- one value ------------------------------------------------------------------------------- */

/* "cores, threads or none" for an option that takes one word; commas alone for a list. */
static void say_words(const struct option *option, struct message message)
{
    for (const char *const *word = option->words; *word; word++)
        message_add(message.text, message.size, "%s %s",
                    word == option->words                     ? ""
                    : word[1] || option->kind == OPTION_WORDS ? ","
                                                              : " or",
                    *word);
}

/* What the option takes, for a message. */
static void say(const struct option *option, const char *text, struct message message)
{
    static const char *const takes[] = {
        [OPTION_TEXT] = " a text of UTF-8",
        [OPTION_SECONDS] = " a positive number of seconds",
        [OPTION_COUNT] = " a whole number",
        [OPTION_WORD] = "",
        [OPTION_COUNTS] =
            " whole numbers, ascending, comma separated (A..B: each, A..B*2: doubling),",
        [OPTION_NUMBERS] = " numbers, ascending, comma separated,",
        [OPTION_WORDS] = " a comma list, each once, of",
    };
    message_print(message, "--%s takes%s", option->name, takes[option->kind]);
    if (option->kind == OPTION_TEXT)
        message_add(message.text, message.size, ", shorter than %d bytes", TEXT);
    else if (option->words)
        say_words(option, message);
    else if (option->kind != OPTION_SECONDS && option->hi < EXACT)
        message_add(message.text, message.size, " from %g to %g", option->lo, option->hi);
    message_add(message.text, message.size, ": '%.60s%s'", text, strlen(text) > 60 ? ".." : "");
}

json_t *options_value_parse(const struct option *option, const char *text, struct message message)
{
    char copy[TEXT];
    double x;
    uint64_t n;
    unsigned index;
    json_t *value = NULL;
    const bool fits = snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy;
    if (option->kind == OPTION_TEXT)
        value = fits ? json_string(copy) : NULL; /* NULL if it is not UTF-8 */
    else if (option->kind == OPTION_WORD)
        value = word(option, piece_of(text), &index) ? json_string(text) : NULL;
    else if (option->kind == OPTION_COUNT)
        value = whole(option, text, &n) ? json_integer((json_int_t)n) : NULL;
    else if (option->kind == OPTION_SECONDS)
        value = number(option, text, &x) ? json_real(x) : NULL;
    else if (fits)
        value = list_value(option, copy);
    if (!value && alloc_failed())
        message_print(message, "out of memory");
    else if (!value)
        say(option, text, message);
    return value;
}

bool options_value_store(const struct option *option, const char *text, void *field,
                         struct message message)
{
    unsigned index;
    json_t *value = options_value_parse(option, text, message);
    if (!value)
        return false;
    if (option->kind == OPTION_SECONDS)
        *(double *)field = json_real_value(value);
    else if (option->kind == OPTION_COUNT)
        *(uint64_t *)field = (uint64_t)json_integer_value(value);
    else if (word(option, piece_of(text),
                  &index)) /* an enum without negative values has this type with GCC and Clang */
        *(unsigned *)field = index;
    json_decref(value);
    return true;
}

json_t *options_value_standard(const struct option *table, bool quick)
{
    char message[256];
    json_t *all = json_object();
    for (const struct option *o = table; o->name; o++) {
        json_t *value =
            options_value_parse(o, quick && o->quick ? o->quick : o->standard, MESSAGE(message));
        assert(value && "a standard value is one");
        json_object_set_new(all, o->name, value);
    }
    return all;
}
