/*
 * What a stranger wrote, fit for a terminal.
 */
#include "testing.h"

#include <string.h>

#include "base/printable.h"

TEST(text_stays_and_controls_show)
{
    static const struct {
        const char *from, *to;
    } table[] = {
        {"", ""},
        {"two lines\n\tplain\n", "two lines\n\tplain\n"},
        {"\x1b[2J\r\b", "\\x1b[2J\\x0d\\x08"},
        {"\x7f", "\\x7f"},
        {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xc2\x9b"
         "31m",
         "\\xc2\\x9b31m"}, /* a control sequence of one character */
        {"\xff\xfe", "\\xff\\xfe"},
        {"\x80 \xc3", "\\x80 \\xc3"},                /* a tail alone, a head alone */
        {"\xc0\xaf", "\\xc0\\xaf"},                  /* '/' in two bytes */
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"},         /* half of a pair of UTF-16 */
        {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"} /* beyond the last character */
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        char text[64];
        const size_t length = strlen(table[n].from);
        assert_int_equal(printable(table[n].from, length, text, sizeof text), strlen(table[n].to));
        assert_string_equal(text, table[n].to);
    }
}

TEST(zeros_show_too)
{
    char text[16];
    printable("a\0b", 3, text, sizeof text);
    assert_string_equal(text, "a\\x00b");
}

/* No escape and no character is cut in two. */
TEST(a_line_has_no_other_ends)
{
    char text[16];
    printable_line("a\n\tb\x1b\xc3", text, sizeof text);
    assert_string_equal(text, "a  b\\x1b\\xc3");
    printable_line("a\n\tb\x1b\xc3", text, 6); /* no room for what is escaped */
    assert_string_equal(text, "a  b");
}

TEST(what_does_not_fit_is_left_out)
{
    char text[6];
    assert_int_equal(printable("ab\x1b"
                               "c",
                               4, text, sizeof text),
                     2);
    assert_string_equal(text, "ab");
    assert_int_equal(printable("abcd\xc3\xa9", 6, text, sizeof text), 4);
    assert_string_equal(text, "abcd");
    assert_int_equal(printable("abcdefgh", 8, text, sizeof text), 5);
    assert_string_equal(text, "abcde");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_and_controls_show),
        cmocka_unit_test(zeros_show_too),
        cmocka_unit_test(a_line_has_no_other_ends),
        cmocka_unit_test(what_does_not_fit_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
