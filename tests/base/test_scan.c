/*
 * Pieces of text: splitting, numbers, quoting, and what a misspelt word was meant to be.
 */
#include "testing.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "base/shell_words.h"

TEST(splitting_keeps_empty_pieces)
{
    struct piece rest = piece_of(",a;b,");
    bool more;
    assert_true(piece_is(piece_split(&rest, ",;", &more), "") && more);
    assert_true(piece_is(piece_split(&rest, ",;", &more), "a") && more);
    assert_true(piece_is(piece_split(&rest, ",;", &more), "b") && more);
    assert_true(piece_is(piece_split(&rest, ",;", &more), "") && !more);
    rest = (struct piece){"a\0b", 3};
    assert_int_equal(piece_split(&rest, ",", &more).length, 3);
    assert_false(more);
}

TEST(lists_end_after_their_last_item)
{
    struct piece rest = piece_of("a,,b,"), item;
    assert_true(piece_next(&rest, &item) && piece_is(item, "a"));
    assert_true(piece_next(&rest, &item) && piece_is(item, ""));
    assert_true(piece_next(&rest, &item) && piece_is(item, "b"));
    assert_false(piece_next(&rest, &item));
    assert_true(piece_listed("cpu,cpuacct", "cpuacct"));
    assert_false(piece_listed("cpu,cpuacct", "cpua"));
    assert_false(piece_listed("", ""));
}

TEST(words_are_skipped_at_the_beginning_only)
{
    struct piece text = piece_of("page16");
    assert_false(piece_skip(&text, "age"));
    assert_true(piece_skip(&text, "page") && piece_is(text, "16"));
    assert_false(piece_skip(&text, "160"));
    assert_true(piece_skip(&text, "16") && !text.length);
}

TEST(trimming_takes_blanks_only)
{
    assert_true(piece_is(piece_trim(piece_of(" \t a \tb\n \t")), "a \tb\n"));
    assert_true(piece_is(piece_trim(piece_of(" \t ")), ""));
    assert_true(piece_is(piece_trim(piece_of("")), ""));
}

TEST(copies_fit_or_are_refused)
{
    char text[4] = "zzz";
    assert_false(piece_copy(piece_of("abcd"), text, sizeof text));
    assert_true(piece_copy(piece_of("abc"), text, sizeof text));
    assert_string_equal(text, "abc");
}

static const struct {
    const char *bytes;
    bool text;
} utf8[] = {
    {"", true},
    {"a ~", true},
    {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80!", true},
    {"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf", true},
    {"a\n", false},
    {"\x7f", false},
    {"\x80", false},
    {"\xc3", false},
    {"\xc3z", false},
    {"\xc1\xbf", false},     /* overlong */
    {"\xe0\x9f\xbf", false}, /* overlong */
    {"\xed\xa0\x80", false}, /* surrogate */
    {"\xe2\x82", false},
    {"\xe2\x82z", false},
    {"\xf0\x8f\xbf\xbf", false}, /* overlong */
    {"\xf4\x90\x80\x80", false}, /* beyond U+10FFFF */
    {"\xf5\x80\x80\x80", false},
    {"\xff", false},
};

TEST(text_is_utf8_without_control_characters)
{
    for (size_t i = 0; i < COUNT(utf8); i++)
        if (piece_is_text(piece_of(utf8[i].bytes)) != utf8[i].text)
            fail_msg("number %zu", i);
}

TEST(numbers_are_read_up_to_their_limit)
{
    uint64_t n = 7;
    const char *why;
    assert_true(scan_number(piece_of("0018446744073709551615"), UINT64_MAX, &n, &why));
    assert_true(n == UINT64_MAX);
    assert_false(scan_number(piece_of("18446744073709551616"), UINT64_MAX, &n, &why));
    assert_string_equal(why, "is too large");
    assert_true(scan_number(piece_of("100"), 100, &n, &why));
    assert_int_equal(n, 100);
    assert_false(scan_number(piece_of("101"), 100, &n, &why));
    for (const char *const *bad =
             (const char *const[]){"", "-1", "+1", " 1", "1 ", "1e3", "/", ":", NULL};
         *bad; bad++) {
        assert_false(scan_number(piece_of(*bad), UINT64_MAX, &n, &why));
        assert_string_equal(why, "is not a whole number");
    }
    assert_int_equal(n, 100);
}

TEST(counts_have_units)
{
    static const struct {
        const char *text;
        uint64_t value;
        const char *why; /* NULL: it is read */
    } counts[] = {
        {"7", 7, NULL},
        {"16k", 16384, NULL},
        {"2M", 2097152, NULL},
        {"1.5k", 1536, NULL},
        {"0.25M", 262144, NULL},
        {"1.000000000k", 1024, NULL},
        {"4194304", 4194304, NULL},
        {"4M", 4194304, NULL},
        {"1.3k", 0, "is not a whole number"},
        {"1.5", 0, "is not a whole number"},
        {"1.k", 0, "is not a whole number"},
        {".5k", 0, "is not a whole number"},
        {"1.5.5k", 0, "is not a whole number"},
        {"1.0000000000k", 0, "is not a whole number"},
        {"k", 0, "is not a whole number"},
        {"5K", 0, "is not a whole number"},
        {"4097k", 0, "is too large"},
        {"18014398509481985k", 0, "is too large"},
    };
    for (size_t i = 0; i < COUNT(counts); i++) {
        uint64_t n = 0;
        const char *why = "";
        const bool read = scan_count(piece_of(counts[i].text), 4194304, &n, &why);
        if (read != !counts[i].why || n != counts[i].value)
            fail_msg("%s: %llu", counts[i].text, (unsigned long long)n);
        if (counts[i].why)
            assert_string_equal(why, counts[i].why);
    }
}

static const struct {
    float value;
    const char *text;
} floats[] = {
    {0, "0"},
    {1, "1"},
    {30, "30"},
    {-0.5f, "-0.5"},
    {0.1f, "0.1"},
    {100000, "1e+05"},
    {123456, "123456"},
    {16777216, "16777216"},
    {1.0f / 3, "0.33333334"},
    {FLT_MAX, "3.4028235e+38"},
    {FLT_MIN, "1.1754944e-38"},
    {FLT_TRUE_MIN, "1e-45"},
};

TEST(floats_print_shortest_and_read_back)
{
    for (size_t i = 0; i < COUNT(floats); i++) {
        char text[SCAN_FLOAT];
        float value;
        const char *why;
        scan_print_float(floats[i].value, text);
        assert_string_equal(text, floats[i].text);
        assert_true(scan_float(piece_of(text), &value, &why));
        assert_true(value == floats[i].value);
    }
}

TEST(quotes_escape_and_cut)
{
    char text[SCAN_QUOTED];
    assert_string_equal(scan_quote(piece_of("a ~"), text), "'a ~'");
    assert_string_equal(scan_quote(piece_of("\x1f\x7f\xff"), text), "'\\x1f\\x7f\\xff'");
    assert_string_equal(scan_quote((struct piece){"\0", 1}, text), "'\\x00'");
    assert_string_equal(
        scan_quote(piece_of("123456789.123456789.123456789.123456789.123456789.1234"), text),
        "'123456789.123456789.123456789.123456789.123456789.1234'");
    assert_string_equal(
        scan_quote(piece_of("123456789.123456789.123456789.123456789.123456789.12345"), text),
        "'123456789.123456789.123456789.123456789.123456789.1234...'");
    for (size_t n = 0; n < 80; n++) {
        char bytes[80];
        memset(bytes, 'x', n);
        if (n)
            bytes[n - 1] = '\n';
        assert_true(strlen(scan_quote((struct piece){bytes, n}, text)) < SCAN_QUOTED);
    }
}

static const struct {
    const char *given, *word;
    size_t distance;
} distances[] = {
    {"", "", 0},       {"", "abc", 3},        {"abc", "", 3},  {"kitten", "sitting", 3},
    {"hkw", "hkv", 1}, {"sacle", "scale", 1}, {"ab", "ba", 1}, {"ba", "ab", 1},
    {"ca", "abc", 3}, /* no substring is edited twice */
    {"aXb", "ab", 1},  {"flaw", "lawn", 2},
};

TEST(distances_count_edits_and_swaps)
{
    char word[65];
    for (size_t i = 0; i < COUNT(distances); i++)
        assert_int_equal(scan_distance(piece_of(distances[i].given), distances[i].word),
                         distances[i].distance);
    memset(word, 'a', sizeof word);
    word[64] = 0;
    assert_true(scan_distance(piece_of(word), word) == SIZE_MAX);
    word[63] = 0;
    assert_int_equal(scan_distance(piece_of(word), word), 0);
}

static const struct {
    const char *given, *advice;
} advices[] = {
    {"tinny", "did you mean 'tiny'?"},
    {"tyni", "did you mean 'tiny'?"},
    {"b", "words are tiny, short, a, bc, sq, skv"}, /* a one-letter word is not near another */
    {"ac", "did you mean 'a'?"},
    {"bc1", "did you mean 'bc'?"},
    {"sk", "did you mean 'skv'?"}, /* as near as sq, and begins it */
    {"axyz", "words are tiny, short, a, bc, sq, skv"},
    {"something", "words are tiny, short, a, bc, sq, skv"},
};

TEST(the_nearest_word_is_advised)
{
    static const char *const words[] = {"tiny", "short", "a", "bc", "sq", "skv"};
    for (size_t i = 0; i < COUNT(advices); i++) {
        struct scan_choice choice = {.given = piece_of(advices[i].given)};
        char text[SCAN_ADVICE];
        for (size_t j = 0; j < COUNT(words); j++)
            scan_offer(&choice, words[j]);
        assert_string_equal(scan_advice(&choice, "words are", text), advices[i].advice);
    }
}

/* Words of a text with a | between, and as they are joined again. */
static const struct {
    const char *text, *words, *joined;
} shell[] = {
    {"", "", ""},
    {"  one\ttwo  ", "one|two", "one two"},
    {"'a b' \"c 'd'\" e\\ f", "a b|c 'd'|e f", "'a b' 'c '\\''d'\\''' 'e f'"},
    {"--ranks=2 '' x'y'z", "--ranks=2||xyz", "--ranks=2 '' xyz"},
    {"\"a\\\"b\\c\" '\\'", "a\"b\\c|\\", "'a\"b\\c' '\\'"},
    {"$HOME;*", "$HOME;*", "'$HOME;*'"},
    {"'open", NULL, NULL},
    {"a \"b", NULL, NULL},
};

TEST(words_are_those_of_a_shell)
{
    static struct shell_words words;
    char text[200];
    for (size_t i = 0; i < COUNT(shell); i++) {
        size_t n = 0;
        *text = 0;
        const bool split = shell_words_split(shell[i].text, &words);
        for (size_t w = 0; split && w < words.count; w++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", w ? "|" : "", words.word[w]);
        if (split != (shell[i].words != NULL) || (split && strcmp(text, shell[i].words) != 0))
            fail_msg("%s: %s", shell[i].text, text);
        if (!split)
            continue;
        assert_null(words.word[words.count]);
        assert_true(shell_words_join(&words, 0, text, sizeof text));
        assert_string_equal(text, shell[i].joined);
    }
    assert_true(shell_words_split("one two", &words));
    assert_true(shell_words_join(&words, 1, text, 4));
    assert_string_equal(text, "two");
    assert_false(shell_words_join(&words, 1, text, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splitting_keeps_empty_pieces),
        cmocka_unit_test(lists_end_after_their_last_item),
        cmocka_unit_test(words_are_skipped_at_the_beginning_only),
        cmocka_unit_test(trimming_takes_blanks_only),
        cmocka_unit_test(copies_fit_or_are_refused),
        cmocka_unit_test(text_is_utf8_without_control_characters),
        cmocka_unit_test(numbers_are_read_up_to_their_limit),
        cmocka_unit_test(counts_have_units),
        cmocka_unit_test(floats_print_shortest_and_read_back),
        cmocka_unit_test(quotes_escape_and_cut),
        cmocka_unit_test(distances_count_edits_and_swaps),
        cmocka_unit_test(the_nearest_word_is_advised),
        cmocka_unit_test(words_are_those_of_a_shell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
