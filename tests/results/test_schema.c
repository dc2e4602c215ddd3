/*
 * schema: the lists that results/schema.json has once, and this program too: the fields of a cell's
 * identity, the states, the flags, the exit codes.  tests/scripts/results/test_schema.py holds the tools to
 * the same file.
 */
#include "testing.h"

#include <jansson.h>
#include <string.h>

#include "results/cell.h"
#include "results/fields.h"
#include "results/journal.h"
#include "bench/noise.h"
#include "session/session.h"

static json_t *schema;

static int read_schema(void **state)
{
    (void)state;
    json_error_t error;
    schema = json_load_file(TEST_DATA "/../../results/schema.json", 0, &error);
    if (!schema)
        print_error("%s\n", error.text);
    return schema == NULL;
}

static int free_schema(void **state)
{
    (void)state;
    json_decref(schema);
    return 0;
}

/* A definition's list. */
static const json_t *list(const char *definition, const char *name)
{
    const json_t *definitions = json_object_get(schema, "$defs");
    const json_t *found = json_object_get(json_object_get(definitions, definition), name);
    assert_true(json_is_array(found));
    return found;
}

static const char *word(const json_t *words, size_t i)
{
    const char *text = json_string_value(json_array_get(words, i));
    assert_non_null(text);
    return text;
}

/* What the schema says of a row's numbers: of an object of it, or of the row itself. */
static const json_t *numbers(const char *object)
{
    const json_t *definitions = json_object_get(schema, "$defs");
    const json_t *both = json_object_get(json_object_get(definitions, "cell"), "allOf");
    const json_t *row = json_object_get(json_array_get(both, 1), "properties");
    if (!object)
        return row;
    const json_t *own = json_object_get(json_object_get(row, object), "properties");
    return own ? own : json_object_get(json_object_get(definitions, object), "properties");
}

static bool is_number(const json_t *definition)
{
    const char *type = json_string_value(json_object_get(definition, "type"));
    const char *reference = json_string_value(json_object_get(definition, "$ref"));
    const json_t *first = json_array_get(json_object_get(definition, "type"), 0);
    const char *named = reference ? strrchr(reference, '/') : NULL;
    type = first ? json_string_value(first) : type;
    return (named && (strcmp(named, "/amount") == 0 || strcmp(named, "/amounts") == 0 ||
                      strcmp(named, "/count") == 0)) ||
           (type && (strcmp(type, "number") == 0 || strcmp(type, "integer") == 0));
}

TEST(fields_are_those_of_the_schema)
{
    for (int f = FIELD_NONE + 1; f < FIELD_COUNT; f++) {
        const json_t *all = numbers(field_object((enum field)f));
        if (!is_number(json_object_get(all, field_name((enum field)f))))
            fail_msg("%s is no number of the schema", field_name((enum field)f));
    }
    for (int f = FIELD_COUNT + 1; f < FIELD_END; f++) {
        const json_t *definitions = json_object_get(schema, "$defs");
        const json_t *identity = json_object_get(definitions, "identity");
        const char *name = field_name((enum field)f);
        if (!json_object_get(numbers(field_object((enum field)f)), name) &&
            !json_object_get(json_object_get(identity, "properties"), name))
            fail_msg("the schema's rows have no %s", name);
    }
    const char *const objects[] = {NULL, "time", "ceiling"};
    for (size_t o = 0; o < sizeof objects / sizeof *objects; o++) {
        json_t *all = json_copy((json_t *)numbers(objects[o])), *definition;
        const char *name;
        json_object_foreach (all, name, definition) {
            bool found =
                strcmp(name, "seed") == 0 || strcmp(name, "failed_at") == 0; /* no quantity */
            for (int f = FIELD_NONE + 1; f < FIELD_COUNT; f++) {
                const char *object = field_object((enum field)f);
                found |= strcmp(field_name((enum field)f), name) == 0 &&
                         (object ? objects[o] && strcmp(object, objects[o]) == 0 : !objects[o]);
            }
            if (is_number(definition) && !found)
                fail_msg("%s of the schema is no field", name);
        }
        json_decref(all);
    }
}

static json_t *identity_of_a_cell(void)
{
    struct problem_case c = {.name = "named"};
    struct cell cell;
    attn_problem_init(&c.problem);
    cell_init(&cell, &c, "flash", ATTN_ISA_BASELINE);
    cell.setting.name = "new";
    cell.setting.environment = "A=1";
    json_t *identity = cell_identity(&cell);
    cell_free(&cell);
    return identity;
}

/* Another value than the one that a cell has by default. */
static json_t *other(const json_t *value)
{
    if (json_is_integer(value))
        return json_integer(json_integer_value(value) + 1);
    return json_is_boolean(value) ? json_boolean(!json_is_true(value)) : json_string("other");
}

TEST(a_cell_is_told_apart_by_the_key_alone)
{
    char before[JOURNAL_IDENTITY], after[JOURNAL_IDENTITY];
    const json_t *key = list("identity", "key");
    json_t *identity = identity_of_a_cell();
    const char *name;
    json_t *value;
    journal_identity(identity, before);
    /* case and setting, and no ranks */
    assert_int_equal(json_object_size(identity), json_array_size(key) + 1);
    json_object_foreach (identity, name, value) {
        json_t *changed = json_copy(identity);
        json_object_set_new(changed, name, other(value));
        journal_identity(changed, after);
        json_decref(changed);
        const bool is_name = strcmp(name, "case") == 0 || strcmp(name, "setting") == 0;
        if (is_name != (strcmp(before, after) == 0))
            fail_msg("%s: %s and %s", name, before, after);
    }
    for (size_t i = 0; i < json_array_size(key); i++)
        if (!json_object_get(identity, word(key, i)) != (strcmp(word(key, i), "ranks") == 0))
            fail_msg("%s", word(key, i)); /* ranks are of older files: they are read, not written */
    json_object_set_new(identity, "ranks", json_integer(2));
    journal_identity(identity, after);
    assert_string_not_equal(before, after);
    json_decref(identity);
}

/* So that files from before a field came can be gone on with. */
TEST(a_field_that_may_be_missing_has_its_default)
{
    char before[JOURNAL_IDENTITY], after[JOURNAL_IDENTITY];
    const json_t *required = list("identity", "required"), *key = list("identity", "key");
    const json_t *definition = json_object_get(json_object_get(schema, "$defs"), "identity");
    size_t optional = 0;
    for (size_t i = 0; i < json_array_size(key); i++) {
        bool must = false;
        for (size_t j = 0; j < json_array_size(required); j++)
            must = must || strcmp(word(required, j), word(key, i)) == 0;
        if (must)
            continue;
        const json_t *field =
            json_object_get(json_object_get(definition, "properties"), word(key, i));
        json_t *identity = identity_of_a_cell();
        json_object_set(identity, word(key, i), json_object_get(field, "default"));
        journal_identity(identity, before);
        json_object_del(identity, word(key, i));
        journal_identity(identity, after);
        assert_string_equal(before, after);
        json_decref(identity);
        optional++;
    }
    assert_int_equal(optional, 4);
}

TEST(states_are_those_of_the_schema)
{
    const json_t *states = list("state", "enum");
    assert_int_equal(json_array_size(states), CELL_STATE_COUNT);
    for (size_t i = 0; i < CELL_STATE_COUNT; i++)
        assert_string_equal(cell_state_name((enum cell_state)i), word(states, i));
}

TEST(flags_are_those_of_the_schema)
{
    const json_t *flags = list("flag", "enum");
    assert_int_equal(json_array_size(flags), noise_word_count);
    for (size_t i = 0; i < noise_word_count; i++)
        assert_string_equal(noise_words[i].word, word(flags, i));
    const json_t *disturbances = list("flag_of_disturbance", "enum");
    size_t n = 0;
    for (size_t i = 0; i < noise_word_count; i++)
        if (noise_words[i].disturbs)
            assert_string_equal(noise_words[i].word, word(disturbances, n++));
    assert_int_equal(json_array_size(disturbances), n);
}

TEST(exit_codes_are_those_of_the_schema)
{
    static const struct {
        const char *name;
        int code;
    } codes[] = {{"as-asked", EXIT_AS_ASKED},
                 {"kernel", EXIT_KERNEL},
                 {"usage", EXIT_USAGE},
                 {"environment", EXIT_ENVIRONMENT},
                 {"interrupted", EXIT_INTERRUPTED}};
    const json_t *listed =
        json_object_get(json_object_get(json_object_get(schema, "$defs"), "exit"), "codes");
    assert_int_equal(json_object_size(listed), sizeof codes / sizeof *codes);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        const json_t *code = json_object_get(listed, codes[i].name);
        assert_true(json_is_integer(code));
        assert_int_equal(json_integer_value(code), codes[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_are_those_of_the_schema),
        cmocka_unit_test(fields_are_those_of_the_schema),
        cmocka_unit_test(a_cell_is_told_apart_by_the_key_alone),
        cmocka_unit_test(a_field_that_may_be_missing_has_its_default),
        cmocka_unit_test(states_are_those_of_the_schema),
        cmocka_unit_test(flags_are_those_of_the_schema),
    };
    return cmocka_run_group_tests(tests, read_schema, free_schema);
}
