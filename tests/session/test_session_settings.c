/*
 * The settings of a session from its options.
 */
#include "testing.h"

#include <string.h>

#include "session/session.h"

static struct session session;
static char message[256];

/* Reads the options of a command line. */
static bool reads(const char *const *words, int count)
{
    static struct options options;
    options_init(&options);
    assert_true(options_parse(&options, count, words, MESSAGE(message)));
    session = (struct session){.options = &options};
    *message = 0;
    return session_settings_parse(&session, MESSAGE(message));
}
#define READS(...)                                   \
    reads((const char *const[]){"run", __VA_ARGS__}, \
          (int)(sizeof((const char *const[]){"run", __VA_ARGS__}) / sizeof(char *)))

TEST(a_session_has_its_own)
{
    assert_true(READS("--placement", "none", "--huge-pages"));
    assert_int_equal(session.setting_count, 1);
    assert_null(session.settings[0].name);
    assert_int_equal(session.settings[0].placement, PLACEMENT_NONE);
    assert_true(session.settings[0].huge_pages);
    assert_null(session.settings[0].environment);
    assert_true(READS("--environment", " B=2  A='x y' "));
    assert_string_equal(session.settings[0].environment, "B=2 'A=x y'");
    assert_string_equal(session.settings[0].variables[1], "A=x y");
    assert_null(session.settings[0].variables[2]);
}

/* What a side does not say is as for the session; what was said first of a variable is not counted. */
TEST(sides_differ_in_what_they_say)
{
    assert_true(READS("--placement", "none", "--base-options", "", "--new-options",
                      "_A=1 B= _A=3 --memory bind --placement threads --cold"));
    assert_int_equal(session.setting_count, 2);
    const struct setting *base = &session.settings[0], *new = &session.settings[1];
    assert_string_equal(base->name, "base");
    assert_int_equal(base->placement, PLACEMENT_NONE);
    assert_null(base->variables);
    assert_string_equal(new->name, "new");
    assert_int_equal(new->placement, PLACEMENT_THREADS);
    assert_int_equal(new->memory, MEMORY_BIND);
    assert_true(new->cold && !new->huge_pages);
    assert_string_equal(new->environment, "_A=3 B=");
    assert_string_equal(setting_variable(new->variables, "_A"), "3");
    assert_null(setting_variable(new->variables, "A"));
    char text[SETTING_TEXT];
    setting_text(new, text);
    assert_string_equal(text, "--placement threads --memory bind --cold --environment '_A=3 B='");
}

/* One side is enough. */
TEST(the_other_side_is_the_session)
{
    assert_true(READS("--base-options", "--huge-pages"));
    assert_true(session.settings[0].huge_pages && !session.settings[1].huge_pages);
    assert_true(READS("--new-options", "A=1"));
    assert_null(session.settings[0].environment);
    assert_string_equal(session.settings[1].environment, "A=1");
}

TEST(equal_settings_are_refused)
{
    static const char same[] = "--base-options and --new-options are the same setting";
    assert_false(READS("--base-options", "", "--new-options", "--placement cores"));
    assert_string_equal(message, same);
    assert_false(READS("--base-options", "A='1'", "--new-options", "A=1"));
    assert_string_equal(message, same);
    assert_true(READS("--base-options", "A=1", "--new-options", "A=2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_session_has_its_own),
        cmocka_unit_test(sides_differ_in_what_they_say),
        cmocka_unit_test(the_other_side_is_the_session),
        cmocka_unit_test(equal_settings_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
