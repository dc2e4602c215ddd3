/*
 * table and units: what people see, character by character.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "base/units.h"

static const struct table_column columns[] = {{"name", 0, true},
                                              {"time", 0, false},
                                              {"extra", 6, false},
                                              {"empty", 1, false},
                                              {"%", 2, false}};

static struct table_row rows[] = {
    {.text = {"a", "1.5 ms", "first", "", "99"}, .note = "", .style = TABLE_STRONG},
    {.text = {"longer", "20 us", "", "", "7"}, .note = "went wrong somewhere", .style = TABLE_BAD},
};

static const struct table table = {
    .columns = columns, .column_count = COUNT(columns), .rows = rows, .row_count = COUNT(rows)};

static void assert_printed(const struct table *printed, size_t width, bool color,
                           const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    table_print(out, printed, width, color);
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_prints(size_t width, bool color, const char *expected)
{
    assert_printed(&table, width, color, expected);
}

TEST(wide_tables_have_all_columns)
{
    assert_prints(80, false,
                  "name      time  extra   %\n"
                  "a       1.5 ms  first  99\n"
                  "longer   20 us          7  went wrong somewhere\n");
}

/* `extra` has the highest number of those that are shown. */
TEST(narrow_tables_drop_by_priority)
{
    assert_prints(22, false,
                  "name      time   %\n"
                  "a       1.5 ms  99\n"
                  "longer   20 us   7\n"
                  "    went wrong\n"
                  "    somewhere\n");
}

/* A column goes before others are moved together; those that are needed are, at last. */
TEST(narrower_tables_close_up)
{
    assert_prints(16, false,
                  "name      time\n"
                  "a       1.5 ms\n"
                  "longer   20 us\n"
                  "    went wrong\n"
                  "    somewhere\n");
    assert_prints(13, false,
                  "name     time\n"
                  "a      1.5 ms\n"
                  "longer  20 us\n"
                  "    went\n"
                  "    wrong\n"
                  "    somewhere\n");
}

/* Equal texts behind each other are one title, and what a row has beside it begins anew. */
TEST(the_first_column_may_be_titles)
{
    struct table_row three[] = {rows[0], rows[0], rows[1]};
    const struct table titled = {.columns = columns,
                                 .column_count = COUNT(columns),
                                 .rows = three,
                                 .row_count = COUNT(three),
                                 .titles = true};
    assert_printed(&titled, 14, false,
                   "name      time\n"
                   "a       1.5 ms\n"
                   "a       1.5 ms\n"
                   "longer   20 us\n"
                   "    went wrong\n"
                   "    somewhere\n");
    assert_printed(&titled, 13, false,
                   "  time   %\n"
                   "a\n"
                   "1.5 ms  99\n"
                   "1.5 ms  99\n"
                   "longer\n"
                   " 20 us   7\n"
                   "    went\n"
                   "    wrong\n"
                   "    somewhere\n");
}

/* Whoever shows it cuts the line. */
TEST(notes_may_stay_on_their_line)
{
    struct table lines = table;
    lines.one_line = true;
    assert_printed(&lines, 22, false,
                   "name      time   %\n"
                   "a       1.5 ms  99\n"
                   "longer   20 us   7  went wrong somewhere\n");
}

TEST(colors_stand_around_the_row)
{
    assert_prints(80, true,
                  "name      time  extra   %\n"
                  "\033[1ma       1.5 ms  first  99\033[0m\n"
                  "\033[31mlonger   20 us          7\033[0m  went wrong somewhere\n");
}

TEST(wraps_at_words)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    table_wrap(out, "one two  three four-and-more-than-fits", 12, 2);
    fclose(out);
    assert_string_equal(text, "one two\n  three\n  four-and-more-than-fits\n");
    free(text);
}

TEST(units_have_four_digits)
{
    static const struct {
        void (*print)(double, char *);
        double x;
        const char *text;
    } cases[] = {
        {units_seconds, 0.0123456, "12.35 ms"},
        {units_seconds, 1.0, "1.000 s"},
        {units_seconds, 123.456, "123.5 s"},
        {units_seconds, 0.9999999, "1.000 s"},
        {units_seconds, 3.2e-9, "3.200 ns"},
        {units_seconds, 99.999e-6, "100.0 us"},
        {units_bytes, 262144, "262.1 KB"},
        {units_bytes, 64, "64.00 B"},
        {units_flops, 5.36870912e8, "536.9 MFLOP"},
        {units_number, 0.0412, "0.04"},
        {units_number, 12.34, "12.3"},
        {units_number, 245.6, "246"},
        {units_clock, 65, "1:05"},
        {units_clock, 7384, "2:03:04"},
        {units_clock, -3, "0:00"},
        {units_seconds, NAN, ""},
        {units_number, INFINITY, ""},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[UNITS_TEXT];
        cases[i].print(cases[i].x, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* A time has the digits that its interval supports, and two where it has none. */
TEST(a_time_has_the_digits_that_are_known)
{
    static const struct {
        double x, half;
        const char *text;
    } cases[] = {{0.0123456, 0.0005, "12.35 ms"}, {0.0123456, 0.01, "12.3 ms"},
                 {0.0123456, 0.08, "12 ms"},      {0.0123456, NAN, "12 ms"},
                 {0.00123456, NAN, "1.2 ms"},     {0.123456, NAN, "123 ms"},
                 {0.0123456, 0, "12.35 ms"},      {0.00099999, NAN, "1.0 ms"}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        char text[UNITS_TEXT];
        units_seconds_known(cases[i].x, cases[i].half, text);
        assert_string_equal(text, cases[i].text);
    }
}

/* tests/data/units.csv, to which scripts/attntools/units.py is held too: the same prefixes and units,
 * one digit more here. */
TEST(units_are_those_of_the_tools)
{
    FILE *file = fopen(TEST_DATA "/units.csv", "r");
    assert_non_null(file);
    char line[128], kind[16], value[32], expected[32], text[UNITS_TEXT];
    size_t lines = 0;
    assert_non_null(fgets(line, sizeof line, file)); /* the heading */
    for (; fgets(line, sizeof line, file); lines++) {
        *expected = 0;
        assert_true(sscanf(line, "%15[^,],%31[^,],%31[^,]", kind, value, expected) >= 2);
        (strcmp(kind, "seconds") == 0 ? units_seconds : units_bytes)(strtod(value, NULL), text);
        assert_string_equal(text, expected);
    }
    fclose(file);
    assert_int_equal(lines, 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wide_tables_have_all_columns),
        cmocka_unit_test(narrow_tables_drop_by_priority),
        cmocka_unit_test(narrower_tables_close_up),
        cmocka_unit_test(the_first_column_may_be_titles),
        cmocka_unit_test(notes_may_stay_on_their_line),
        cmocka_unit_test(colors_stand_around_the_row),
        cmocka_unit_test(wraps_at_words),
        cmocka_unit_test(units_have_four_digits),
        cmocka_unit_test(a_time_has_the_digits_that_are_known),
        cmocka_unit_test(units_are_those_of_the_tools),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
