/*
 * journal: what is written is read back, and what was half written is cut off.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "results/journal.h"
#include "base/number.h"

static char path[] = "test_journal.XXXXXX"; /* in the build tree */
static char message[512];

static int make_file(void **state)
{
    (void)state;
    strcpy(path + sizeof path - 7, "XXXXXX");
    const int fd = mkstemp(path);
    close(fd);
    return fd < 0;
}

static int remove_file(void **state)
{
    (void)state;
    return unlink(path);
}

static json_t *session(const char *commit)
{
    return json_pack("{s:s, s:s, s:{s:s}}", "schema", JOURNAL_SCHEMA, "type", "session", "build",
                     "commit", commit);
}

static json_t *cell(const char *type, const char *kernel, int threads, double value)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:s, s:s, s:n, s:f}", "type", type, "kernel",
                     kernel, "isa", "avx2", "problem", "b=1", "input", "normal:1", "threads",
                     threads, "placement", "cores", "cache", "warm", "plugin", "value", value);
}

static void append(const char *text)
{
    FILE *file = fopen(path, "a");
    fputs(text, file);
    fclose(file);
}

static struct journal *created(void)
{
    struct journal *journal = journal_create(path, JOURNAL_ONCE, MESSAGE(message));
    if (!journal)
        fail_msg("%s", message);
    return journal;
}

static struct journal *resumed(void)
{
    struct journal *journal = journal_resume(path, MESSAGE(message));
    if (!journal)
        fail_msg("%s", message);
    return journal;
}

static void write_line(struct journal *journal, json_t *line)
{
    assert_true(journal_write(journal, line, true, MESSAGE(message)));
}

TEST(the_last_row_of_a_cell_wins)
{
    char identity[JOURNAL_IDENTITY];
    struct journal *journal = created();
    write_line(journal, session("a"));
    write_line(journal, cell("cell", "flash", 2, 1.0));
    write_line(journal, cell("cell", "flash", 1, 2.0));
    write_line(journal, cell("cell", "flash", 2, 3.0));
    journal_close(journal);

    journal = resumed();
    json_t *like = cell("cell", "flash", 2, 0);
    journal_identity(like, identity);
    assert_string_equal(identity, "flash|avx2|b=1|normal:1|2|cores|warm|");
    const json_t *row = journal_find(journal, "cell", identity);
    assert_true(json_real_value(json_object_get(row, "value")) == 3.0);
    assert_null(journal_find(journal, "cell", "naive|avx2|b=1|normal:1|2|cores|warm|"));
    json_decref(like);
    journal_close(journal);
}

TEST(launches_of_another_build_do_not_count)
{
    static const char identity[] = "flash|avx2|b=1|normal:1|2|cores|warm|";
    struct journal *journal = created();
    write_line(journal, session("a"));
    write_line(journal, cell("launch", "flash", 2, 1.0));
    write_line(journal, cell("launch", "flash", 2, 2.0));
    journal_close(journal);

    journal = resumed();
    assert_int_equal(json_array_size(journal_find(journal, "launch", identity)), 2);
    write_line(journal, session("b"));
    write_line(journal, cell("launch", "flash", 2, 3.0));
    journal_close(journal);

    journal = resumed();
    assert_int_equal(json_array_size(journal_find(journal, "launch", identity)), 1);
    journal_close(journal);
}

TEST(an_unfinished_line_is_cut_off)
{
    struct journal *journal = created();
    write_line(journal, session("a"));
    write_line(journal, cell("cell", "flash", 2, 1.0));
    journal_close(journal);
    append("{\"type\":\"cell\",\"ker");

    journal = resumed();
    assert_non_null(strstr(message, "cut off an unfinished line of 19 bytes"));
    assert_non_null(journal_find(journal, "cell", "flash|avx2|b=1|normal:1|2|cores|warm|"));
    write_line(journal, cell("cell", "flash", 1, 1.0));
    journal_close(journal);

    journal = resumed();
    assert_string_equal(message, "");
    assert_non_null(journal_find(journal, "cell", "flash|avx2|b=1|normal:1|1|cores|warm|"));
    journal_close(journal);
}

TEST(damage_is_named_by_its_line)
{
    struct journal *journal = created();
    write_line(journal, session("a"));
    journal_close(journal);
    append("not json\n");
    assert_null(journal_resume(path, MESSAGE(message)));
    assert_non_null(strstr(message, "line 2 is damaged"));
}

TEST(texts_are_fit_for_a_terminal)
{
    struct journal *journal = created();
    json_t *row = cell("cell", "naive", 1, 1), *first = session("a");
    json_object_set_new(first, "command", json_pack("[s]", "run\x1b[2J"));
    json_object_set_new(row, "why", json_string("\x1b]0;title\x07 and a\nline"));
    char identity[JOURNAL_IDENTITY];
    journal_identity(row, identity);
    write_line(journal, first);
    write_line(journal, row);
    journal_close(journal);
    journal = journal_resume(path, MESSAGE(message));
    assert_non_null(journal);
    const json_t *command = json_object_get(journal_session(journal), "command");
    assert_string_equal(json_string_value(json_array_get(command, 0)), "run\\x1b[2J");
    const json_t *why = json_object_get(journal_find(journal, "cell", identity), "why");
    assert_string_equal(json_string_value(why), "\\x1b]0;title\\x07 and a\nline");
    journal_close(journal);
}

TEST(foreign_files_are_refused)
{
    assert_null(journal_resume(path, MESSAGE(message)));
    assert_non_null(strstr(message, "is no results file"));
    append("{\"type\":\"session\",\"schema\":\"something/9\"}\n");
    assert_null(journal_resume(path, MESSAGE(message)));
    assert_non_null(strstr(message, "no results file of schema"));
    assert_null(journal_create(path, JOURNAL_RESUMABLE, MESSAGE(message)));
    assert_non_null(strstr(message, "exists; go on with it by --resume, or replace it by --force"));
    assert_null(journal_create(path, JOURNAL_ONCE, MESSAGE(message)));
    assert_non_null(strstr(message, "exists; replace it by --force, or name another file"));
    assert_null(journal_resume("/nonexistent/file", MESSAGE(message)));
    assert_non_null(strstr(message, "No such file or directory"));
}

TEST(a_file_is_replaced_where_that_is_asked_for)
{
    append("something else, and longer than what follows\n");
    struct journal *journal = journal_create(path, JOURNAL_REPLACE, MESSAGE(message));
    assert_non_null(journal);
    write_line(journal, session("a"));
    journal_close(journal);
    journal = journal_resume(path, MESSAGE(message));
    assert_non_null(journal);
    assert_string_equal(message, "");
    journal_close(journal);
}

TEST(one_session_writes_at_a_time)
{
    struct journal *journal = created();
    write_line(journal, session("a"));
    assert_null(journal_resume(path, MESSAGE(message)));
    assert_non_null(strstr(message, "another session is writing to it"));
    journal_close(journal);
}

TEST(a_full_disk_is_an_error)
{
    struct journal *journal = journal_create("/dev/full", JOURNAL_REPLACE, MESSAGE(message));
    assert_non_null(journal);
    assert_false(journal_write(journal, session("a"), true, MESSAGE(message)));
    assert_string_equal(message, "/dev/full: No space left on device");
    assert_false(journal_write(journal, session("a"), false, MESSAGE(message)));
    assert_string_equal(message, "/dev/full: No space left on device");
    journal_close(journal);
}

TEST(numbers_that_json_lacks_are_null)
{
    const double strange[] = {NAN, INFINITY, -INFINITY};
    for (size_t i = 0; i < 3; i++) {
        json_t *value = number_json(strange[i]);
        assert_true(json_is_null(value));
    }
    json_t *value = number_json(1.5);
    assert_true(json_real_value(value) == 1.5);
    json_decref(value);
}

#define ON_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_FILE(the_last_row_of_a_cell_wins),
        ON_FILE(launches_of_another_build_do_not_count),
        ON_FILE(an_unfinished_line_is_cut_off),
        ON_FILE(damage_is_named_by_its_line),
        ON_FILE(texts_are_fit_for_a_terminal),
        ON_FILE(foreign_files_are_refused),
        ON_FILE(a_file_is_replaced_where_that_is_asked_for),
        ON_FILE(one_session_writes_at_a_time),
        cmocka_unit_test(a_full_disk_is_an_error),
        cmocka_unit_test(numbers_that_json_lacks_are_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
