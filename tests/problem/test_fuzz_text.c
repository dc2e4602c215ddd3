/*
 * Damaged texts: parse and cases take any bytes, refuse them with one printable line that points
 * into the text, or accept what then is valid and survives the round trip.
 *
 * The damage is the same in every run.  More of it, and other: test_fuzz_text COUNT SEED.
 */
#include "testing.h"

#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "problem/cases.h"
#include "mutate.h"
#include "same_problem.h"

static size_t texts = 60000;
static uint64_t seed = 1;

static const char *const words[] = {
    "b=",
    "hq=",
    "hkv=",
    ",h=",
    ",s=",
    "sq=",
    "skv=",
    "d=",
    "dv=",
    "dtype=",
    "bf16",
    "kv_dtype=i8",
    "mask=",
    "causal",
    "+bias",
    "+bool",
    "none",
    "window=",
    "-1",
    ":",
    "softcap=",
    "scale=",
    "1e",
    "e-45",
    ".5",
    "layout=bshd",
    "sinks=1",
    "page=",
    "outputs=",
    "o+lse",
    "+weights",
    ",",
    "=",
    "0",
    "1",
    "9223372036854775807",
    "4611686018427387904",
    "18446744073709551616",
    "99999999999999999999999999999",
    " input=",
    "normal:",
    "uniform:",
    "needle:",
    "negative",
    "file:",
    "#",
    "\n",
    "\r\n",
    "a: ",
    "b: d=8\n",
    " ",
    "\t",
    "\x80",
    "%s",
    "%n",
    NULL,
};

static const char *const problems[] = {
    "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dv=64,dtype=bf16,mask=causal,window=256,softcap=30,"
    "scale=0.125,layout=bshd",
    "h=8,s=1024,d=64,kv_dtype=i8,mask=causal_top_left+bias+bool,window=-1:4,sinks=1,alibi=1,"
    "ragged=1,page=16,outputs=o+lse+weights",
    "s=1",
};

static const char *const inputs[] = {"normal:1", "uniform:18446744073709551615", "needle:63",
                                     "negative", "file:dir/x.safetensors:layer0."};

static const char *const suite = "# a suite\n"
                                 "one: h=8,s=64,d=64\n"
                                 "two: d=8,skv=64 input=needle:63 # behind\r\n"
                                 "\n"
                                 "three: s=256,h=4,d=32 input=file:x.safetensors:layer0.\n"
                                 "four: b=2,hq=8,hkv=2,d=40,mask=causal input=uniform:3";

/* A damaged copy of one of the texts, with its terminating 0. */
static void damaged(struct mutator *m, const char *const *from, size_t count, char *text,
                    size_t size)
{
    const char *original = from[mutate_below(m, count)];
    size_t n = strlen(original);
    memcpy(text, original, n);
    n = mutate_bytes(m, (unsigned char *)text, n, size - 1);
    text[n] = 0;
}

static void assert_printable(const char *message, size_t size, const char *text)
{
    const size_t n = strnlen(message, size);
    if (!n || n == size)
        fail_msg("message without words or end: %s", text);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)message[i] < ' ' || (unsigned char)message[i] > '~')
            fail_msg("byte %02x in a message: %s", (unsigned char)message[i], text);
}

static void assert_error(const struct parse_error *error, const char *text)
{
    assert_printable(error->message, sizeof error->message, text);
    if (error->position > strlen(text))
        fail_msg("position %zu of %zu: %s", error->position, strlen(text), text);
}

static void any_problem_text_is_refused_or_survives(void **state)
{
    (void)state;
    struct mutator m = {.key = seed, .words = words};
    size_t accepted = 0;
    for (size_t i = 0; i < texts; i++) {
        char text[2 * PARSE_TEXT], canonical[PARSE_TEXT], again[PARSE_TEXT];
        struct attn_problem p, q;
        struct parse_error error = {.position = SIZE_MAX};
        const char *why;
        damaged(&m, problems, COUNT(problems), text, sizeof text);
        if (!parse_problem(text, &p, &error)) {
            assert_error(&error, text);
            continue;
        }
        accepted++;
        assert_true(attn_problem_valid(&p, &why));
        parse_print_problem(&p, canonical);
        assert_true(parse_problem(canonical, &q, &error));
        assert_same_problem(&q, &p);
        parse_print_problem(&q, again);
        assert_string_equal(again, canonical);
    }
    /* Neither all good nor all bad: the damage is worth something. */
    assert_in_range(accepted, texts / 50, texts / 2);
}

static void any_input_text_is_refused_or_survives(void **state)
{
    (void)state;
    struct mutator m = {.key = seed, .words = words};
    size_t accepted = 0;
    for (size_t i = 0; i < texts; i++) {
        char text[2 * PARSE_TEXT], canonical[PARSE_TEXT];
        struct input input, again;
        struct parse_error error = {.position = SIZE_MAX};
        damaged(&m, inputs, COUNT(inputs), text, sizeof text);
        if (!parse_input(text, &input, &error)) {
            assert_error(&error, text);
            continue;
        }
        accepted++;
        parse_print_input(&input, canonical);
        json_t *line = json_string(canonical);
        assert_non_null(line);
        json_decref(line);
        assert_true(parse_input(canonical, &again, &error));
        assert_memory_equal(&again, &input, sizeof input);
    }
    assert_in_range(accepted, texts / 50, texts * 3 / 4);
}

static void any_case_text_is_refused_or_named(void **state)
{
    (void)state;
    struct mutator m = {.key = seed, .words = words};
    for (size_t i = 0; i < texts / 4; i++) {
        char text[2 * PARSE_TEXT], message[512] = "";
        struct case_list list = {0};
        damaged(&m, problems, COUNT(problems), text, sizeof text);
        if (cases_add_problem(&list, text, message, sizeof message))
            assert_printable(list.items[0].name, sizeof list.items[0].name, text);
        else
            assert_printable(message, sizeof message, text);
        cases_free(&list);
    }
}

static void any_suite_file_is_refused_or_read(void **state)
{
    (void)state;
    struct mutator m = {.key = seed, .words = words};
    char path[] = "fuzz_suite.XXXXXX";
    const int fd = mkstemp(path);
    size_t accepted = 0;
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "wb");
    for (size_t i = 0; i < texts / 20; i++) {
        unsigned char bytes[4096];
        char message[512] = "";
        struct case_list list = {0};
        const size_t n =
            mutate_bytes(&m, memcpy(bytes, suite, strlen(suite)), strlen(suite), sizeof bytes);
        rewind(file);
        assert_int_equal(fwrite(bytes, 1, n, file), n);
        assert_int_equal(fflush(file) | ftruncate(fd, (off_t)n), 0);
        if (cases_load(&list, path, message, sizeof message))
            accepted++;
        else
            assert_printable(message, sizeof message, "a suite file");
        for (size_t j = 0; j < list.count; j++)
            assert_printable(list.items[j].name, sizeof list.items[j].name, "a suite file");
        cases_free(&list);
    }
    fclose(file);
    remove(path);
    assert_in_range(accepted, texts / 20 / 50, texts / 20 * 3 / 4);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_problem_text_is_refused_or_survives),
        cmocka_unit_test(any_input_text_is_refused_or_survives),
        cmocka_unit_test(any_case_text_is_refused_or_named),
        cmocka_unit_test(any_suite_file_is_refused_or_read),
    };
    if (argc > 2) {
        texts = strtoull(argv[1], NULL, 10);
        seed = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
