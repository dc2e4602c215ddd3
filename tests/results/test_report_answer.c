/*
 * report_answer: the sentences of tests/data/answers.txt, to which the tools are held too, and what of a
 * case's rows they are made from.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "results/report_answer.h"
#include "results/report_rows.h"

/* ---- the sentence --------------------------------------------------------------------------- */

/* Takes the text up to the next | of *line. */
static const char *field(char **line)
{
    char *at = *line;
    *line += strcspn(at, "|\n");
    if (**line)
        *(*line)++ = 0;
    return at;
}

static double number(char **line)
{
    const char *text = field(line);
    return *text ? strtod(text, NULL) : NAN;
}

static void word(char **line, char *to, size_t size)
{
    snprintf(to, size, "%.*s", (int)size - 1, field(line));
}

static struct report_answer answer_of(char *line)
{
    struct report_answer a;
    word(&line, a.variant, sizeof a.variant);
    a.threads = (int)number(&line);
    word(&line, a.time, sizeof a.time);
    a.half = number(&line);
    a.ranked = !isnan(a.half);
    a.launches = (int)number(&line);
    word(&line, a.bound, sizeof a.bound);
    a.share = number(&line);
    a.others = (size_t)number(&line);
    word(&line, a.ties, sizeof a.ties);
    word(&line, a.next, sizeof a.next);
    a.ratio = number(&line);
    const double uncompared = number(&line);
    a.uncompared = uncompared > 0 ? (size_t)uncompared : 0;
    word(&line, a.choice, sizeof a.choice);
    a.regret = number(&line);
    a.choice_ties = *field(&line);
    word(&line, a.doubts, sizeof a.doubts);
    return a;
}

TEST(sentences_are_those_of_the_tools)
{
    char line[512], expected[512], text[1024];
    size_t sentences = 0;
    FILE *file = fopen(TEST_DATA "/answers.txt", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (*line == '#')
            continue;
        assert_non_null(fgets(expected, sizeof expected, file));
        expected[strcspn(expected, "\n")] = 0;
        const struct report_answer answer = answer_of(line);
        report_answer_text(&answer, text, sizeof text);
        assert_string_equal(text, expected);
        sentences++;
    }
    fclose(file);
    assert_int_equal(sentences, 9);
}

/* ---- from rows ------------------------------------------------------------------------------ */

static struct problem_case problem = {.name = "a-case"};

/* A row of so many seconds, its launches by `swing` times more and less in turns; 0: too few launches for an
 * interval. */
static struct cell cell_of(const char *kernel, int threads, double seconds, double swing)
{
    struct cell cell;
    const size_t launches = swing == 0 ? 2 : 6;
    const double half = seconds * fabs(swing);
    json_t *medians = json_array();
    for (size_t i = 0; i < launches; i++)
        json_array_append_new(medians, json_real(seconds * (1 + (i % 2 ? swing : -swing))));
    cell_init(&cell, &problem, kernel, ATTN_ISA_AVX2);
    cell.threads = threads;
    cell_end(&cell, CELL_OK, "%s", "");
    cell.row = json_pack(
        "{s:{s:f, s:i, s:o, s:o}, s:s, s:f, s:f, s:[]}", "time", "median_s", seconds, "launches",
        (int)launches, "launch_medians_s", medians, "ci95_s",
        half > 0 ? json_pack("[f, f]", seconds - half, seconds + half) : json_null(), "bound_by",
        "compute", "fraction_of_fma", 0.5, "fraction_of_bandwidth", 0.1, "flags");
    return cell;
}

/* What is printed of the cells, in a wide terminal. */
static const char *printed(const struct cell *cells, size_t count)
{
    static char text[4096];
    const struct cell *sorted[8];
    memset(text, 0, sizeof text);
    report_output.out = fmemopen(text, sizeof text - 1, "w");
    assert_non_null(report_output.out);
    report_output.width = 400;
    for (size_t i = 0; i < count; i++)
        sorted[i] = &cells[i];
    report_answers(cells, count, sorted, count);
    report_answer_choices(cells, count);
    fclose(report_output.out);
    return text;
}

TEST(each_number_of_threads_has_a_sentence)
{
    struct cell cells[] = {cell_of("flash", 1, 0.010, 0.1),  cell_of("tiled", 1, 0.012, -0.1),
                           cell_of("online", 1, 0.015, 0.1), cell_of("naive", 1, 0.020, 0.1),
                           cell_of("split_kv", 2, 0.005, 0), cell_of("flash", 2, 0.006, 0.1)};
    json_object_set_new(cells[2].row, "chosen", json_true());
    json_object_set_new(cells[5].row, "chosen", json_true());
    json_array_append_new(json_object_get(cells[0].row, "flags"), json_string("steal"));
    json_array_append_new(json_object_get(cells[0].row, "flags"), json_string("outliers"));
    assert_string_equal(
        printed(cells, 6),
        "  flash/avx2 on 1 thread, 10.00 ms +-10 %: 50 % of what the multiply-adds allow, compute "
        "bound; 1.50 x online/avx2, the next; tie with tiled/avx2; the library chooses "
        "online/avx2, "
        "1.50 x as long; uncertain: steal\n"
        "  split_kv/avx2 on 2 threads, 5.000 ms: 50 % of what the multiply-adds allow, compute "
        "bound; 2 "
        "launches, too few to rank it; the library chooses flash/avx2, 1.19 x as long, without an "
        "interval\n"
        "the library's choice is the fastest, or tied with it, in 0 of 1; time over the fastest's: "
        "median 1.50, worst online/avx2, 1.50 x as long as flash/avx2 in a-case on 1 thread\n");
    for (size_t i = 0; i < 6; i++)
        cell_free(&cells[i]);
}

/* The rows of tests/data/rounds.jsonl come to the sentence on its first line; the tools say the same of them.
 * Their intervals overlap, as the machine grew slower, but round by round one is behind. */
TEST(ties_are_those_of_the_tools)
{
    struct cell cells[8];
    size_t count = 0;
    json_error_t error;
    FILE *file = fopen(TEST_DATA "/rounds.jsonl", "r");
    assert_non_null(file);
    json_t *session = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error), *row;
    while ((row = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error))) {
        const char *kernel = json_string_value(json_object_get(row, "kernel"));
        if (kernel) {
            cell_init(&cells[count], &problem, kernel, ATTN_ISA_AVX2);
            cells[count].threads = 1;
            cell_end(&cells[count], CELL_OK, "%s", "");
            cells[count++].row = json_incref(row);
        }
        json_decref(row);
    }
    fclose(file);
    const char *text = strchr(printed(cells, count), ';'); /* behind the time */
    assert_non_null(text);
    assert_int_equal(strcspn(text, "\n"),
                     strlen(json_string_value(json_object_get(session, "says"))));
    assert_memory_equal(text, json_string_value(json_object_get(session, "says")),
                        strcspn(text, "\n"));
    json_decref(session);
    for (size_t i = 0; i < count; i++)
        cell_free(&cells[i]);
}

/* What an earlier session measured shared no round with this one's. */
TEST(rows_of_two_sessions_are_not_told_apart)
{
    struct cell cells[] = {cell_of("flash", 1, 0.010, 0.1), cell_of("tiled", 1, 0.020, 0.1),
                           cell_of("naive", 1, 0.030, 0.1)};
    json_array_append_new(cells[2].launches, json_object());
    const char *text = printed(cells, 3);
    assert_non_null(strstr(text, "; 2.00 x tiled/avx2, the next; no tie; 1 more with too few "
                                 "launches in the same rounds to tell\n"));
    for (size_t i = 0; i < 3; i++)
        cell_free(&cells[i]);
}

/* Round by round a choice may be ahead of what has the lowest median. */
TEST(a_regret_is_at_least_1)
{
    struct cell cells[] = {cell_of("flash", 1, 0.010, 0.1), cell_of("tiled", 1, 0.009, 0.1)};
    const struct cell *chosen, *fastest;
    json_object_set_new(cells[1].row, "chosen", json_true());
    json_object_set_new(json_object_get(cells[1].row, "time"), "median_s", json_real(0.011));
    const struct stats_ratio regret = report_row_regret(cells, 2, cells, &chosen, &fastest);
    assert_ptr_equal(fastest, &cells[0]);
    assert_true(regret.ratio == 1 && regret.lo < 1);
    for (size_t i = 0; i < 2; i++)
        cell_free(&cells[i]);
}

/* The choice alone beats nothing, and what has no time is not compared. */
TEST(a_choice_is_compared_with_what_was_measured)
{
    struct cell cells[] = {cell_of("flash", 1, 0.010, 0.1), cell_of("tiled", 1, 0.012, -0.1)};
    const struct cell *chosen, *fastest;
    json_object_set_new(cells[1].row, "chosen", json_true());
    assert_true(isnan(report_row_regret(cells, 1, cells, &chosen, &fastest).ratio));
    assert_true(isnan(report_row_regret(cells + 1, 1, cells + 1, &chosen, &fastest).ratio));
    assert_true(fabs(report_row_regret(cells, 2, cells, &chosen, &fastest).ratio - 1.2) < 1e-9);
    assert_ptr_equal(chosen, &cells[1]);
    assert_ptr_equal(fastest, &cells[0]);
    assert_non_null(strstr(printed(cells, 2), "tied with it, in 1 of 1; time over the fastest's: "
                                              "median 1.20, worst tiled/avx2"));
    cells[0].state = CELL_FAILED;
    assert_true(isnan(report_row_regret(cells, 2, cells, &chosen, &fastest).ratio));
    for (size_t i = 0; i < 2; i++)
        cell_free(&cells[i]);
}

/* Of the ceiling that binds, and of K and V where they lie if that was measured. */
TEST(a_share_is_of_what_binds)
{
    struct cell cell = cell_of("flash", 1, 0.010, 0.001);
    assert_true(fabs(report_row_share(cell.row) - 0.5) < 1e-9);
    json_object_set_new(cell.row, "bound_by", json_string("bandwidth"));
    assert_true(fabs(report_row_share(cell.row) - 0.1) < 1e-9);
    json_object_set_new(cell.row, "fraction_of_bandwidth_in_place", json_real(0.2));
    assert_true(fabs(report_row_share(cell.row) - 0.2) < 1e-9);
    json_object_set_new(cell.row, "bound_by", json_null());
    assert_true(isnan(report_row_share(cell.row)));
    cell_free(&cell);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences_are_those_of_the_tools),
        cmocka_unit_test(ties_are_those_of_the_tools),
        cmocka_unit_test(rows_of_two_sessions_are_not_told_apart),
        cmocka_unit_test(each_number_of_threads_has_a_sentence),
        cmocka_unit_test(a_regret_is_at_least_1),
        cmocka_unit_test(a_choice_is_compared_with_what_was_measured),
        cmocka_unit_test(a_share_is_of_what_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
