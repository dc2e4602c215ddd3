/*
 * protocol: a request survives the way to the worker, and nothing else does.
 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/protocol.h"

static struct protocol_request sample(void)
{
    struct protocol_request r = {
        .action = PROTOCOL_MEASURE,
        .c.name = "some-case",
        .kernel = "flash",
        .isa = ATTN_ISA_AVX512_BF16,
        .plugin = "./mine.so",
        .arguments = "--ranks 2",
        .digest = "sha256:12",
        .program = true,
        .threads = 3,
        .team = 4,
        .setting = {.placement = PLACEMENT_NUMA,
                    .memory = MEMORY_BIND,
                    .huge_pages = true,
                    .cold = true},
        .files = {10, -1, 11, 12, 13, -1},
        .sets = 5,
        .shift = 192,
        .counts = {{1, 7}, {2, 9}},
        .count = 2,
        .depth = 2,
        .seed = INT64_MAX,
        .warmup_s = 0.25,
        .sample_s = 1e-3,
        .budget_s = 0.125,
        .max_samples = 64,
        .path_in = "a file",
        .token = "0123456789abcdef",
        .path_out = "out",
    };
    struct parse_error error;
    assert_true(parse_problem("hq=8,hkv=2,sq=3,skv=9,d=16,mask=causal", &r.c.problem, &error));
    assert_true(parse_input("uniform:4", &r.c.input, &error));
    return r;
}

TEST(a_request_reads_as_it_was_printed)
{
    const struct protocol_request sent = sample();
    struct protocol_request got;
    char message[256] = "";
    char *line = protocol_print(&sent);
    assert_non_null(line);
    assert_null(strchr(line, '\n'));
    if (!protocol_parse(line, &got, MESSAGE(message)))
        fail_msg("%s", message);
    free(line);
    /* the child finds its files in the order of the list */
    static const int files[PROTOCOL_FILE_COUNT] = {5, -1, 7, 8, 9, -1};
    assert_memory_equal(got.files, files, sizeof files);
    memcpy(got.files, sent.files, sizeof got.files);
    assert_memory_equal(&got.c.problem, &sent.c.problem, sizeof sent.c.problem);
    assert_int_equal(got.c.input.seed, 4);
    assert_string_equal(got.c.name, sent.c.name);
    assert_string_equal(got.kernel, sent.kernel);
    assert_string_equal(got.path_in, sent.path_in);
    assert_string_equal(got.token, sent.token);
    assert_int_equal(got.action, sent.action);
    assert_int_equal(got.isa, sent.isa);
    assert_string_equal(got.plugin, sent.plugin);
    assert_string_equal(got.arguments, sent.arguments);
    assert_string_equal(got.digest, sent.digest);
    assert_true(got.program);
    assert_int_equal(got.threads, sent.threads);
    assert_int_equal(got.team, sent.team);
    assert_int_equal(got.setting.placement, sent.setting.placement);
    assert_int_equal(got.setting.memory, sent.setting.memory);
    assert_int_equal(got.setting.huge_pages, sent.setting.huge_pages);
    assert_int_equal(got.setting.cold, sent.setting.cold);
    assert_int_equal(got.sets, sent.sets);
    assert_int_equal(got.shift, sent.shift);
    assert_int_equal(got.count, sent.count);
    assert_memory_equal(got.counts, sent.counts, sizeof sent.counts);
    assert_int_equal(got.depth, sent.depth);
    assert_true(got.seed == sent.seed);
    assert_true(got.warmup_s == sent.warmup_s && got.sample_s == sent.sample_s);
    assert_true(got.budget_s == sent.budget_s && got.max_samples == sent.max_samples);
}

/* A valid request with one key replaced by something wrong, or without it. */
TEST(bad_requests_are_named)
{
    static const struct {
        const char *key, *value; /* NULL: none */
    } bad[] = {
        {"protocol", "2"},     {"action", "\"dance\""}, {"problem", "\"s=0\""},
        {"input", "\"what\""}, {"isa", "\"avx9\""},     {"placement", "\"moon\""},
        {"depth", "\"deep\""}, {"team", "2"},           {"threads", "0"},
        {"kernel", "17"},      {"sets", "\"two\""},     {"arguments", NULL},
    };
    const struct protocol_request r = sample();
    char *line = protocol_print(&r);
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct protocol_request got;
        char message[256] = "", expected[256];
        json_t *object = json_loads(line, 0, NULL);
        if (bad[i].value)
            json_object_set_new(object, bad[i].key,
                                json_loads(bad[i].value, JSON_DECODE_ANY, NULL));
        else
            json_object_del(object, bad[i].key);
        snprintf(expected, sizeof expected, "request whose \"%s\" is missing or wrong", bad[i].key);
        char *text = json_dumps(object, 0);
        assert_false(protocol_parse(text, &got, MESSAGE(message)));
        assert_string_equal(message, expected);
        free(text);
        json_decref(object);
    }
    free(line);
}

TEST(answers_need_version_state_and_token)
{
    static const struct {
        const char *line, *message;
    } bad[] = {
        {"{\"protocol\":1,", "the worker's answer is not JSON"},
        {"{\"protocol\":2,\"state\":\"ok\"}", "the worker's answer has another protocol version"},
        {"{\"protocol\":1,\"state\":\"fine\"}", "the worker's answer has no state"},
        {"{\"protocol\":1}", "the worker's answer has no state"},
        {"{\"protocol\":1,\"state\":\"ok\"}",
         "the worker's answer was not written by it: the kernel wrote to descriptor 4"},
        {"{\"protocol\":1,\"state\":\"ok\",\"token\":\"abd\"}",
         "the worker's answer was not written by it: the kernel wrote to descriptor 4"},
        {"[]", "the worker's answer has another protocol version"},
    };
    char message[256];
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_null(protocol_answer(bad[i].line, "abc", MESSAGE(message)));
        assert_string_equal(message, bad[i].message);
    }
    static const char good[] = "{\"protocol\":1,\"state\":\"failed\",\"token\":\"abc\"}";
    json_t *answer = protocol_answer(good, "abc", MESSAGE(message));
    assert_non_null(answer);
    assert_null(json_object_get(answer, "token"));
    json_decref(answer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_reads_as_it_was_printed),
        cmocka_unit_test(bad_requests_are_named),
        cmocka_unit_test(answers_need_version_state_and_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
