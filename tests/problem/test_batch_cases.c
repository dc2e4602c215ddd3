/*
 * Batches of sequences as cases of a model, written one by one or from a trace of requests.
 */
#include "testing.h"

#include <string.h>

#include "loaded_cases.h"
#include "problem/model_cases.h"

static struct case_list batches_of(const char *model, const char *batch)
{
    struct case_list list = {0};
    const struct model_asked asked = {model, NULL, NULL, batch};
    if (!model_cases_add(&list, &asked, MESSAGE(message)))
        fail_msg("%s", message);
    return list;
}

/* A batch as servers describe it: packed, ragged, paged, or, of one length, none of these. */
TEST(a_batch_is_a_case_of_its_sequences)
{
    static const struct {
        const char *batch, *name, *problem, *input, *what;
    } batches[] = {
        {"2q2k,32q1s4k,8q1s16k", "phi-4-2q2k-32q1s4k-8q1s16k",
         "b=42,hq=40,hkv=10,sq=2048,skv=16384,d=128,dtype=bf16,mask=causal,ragged=1,packed=1",
         "normal:1+batch:2q2k,32q1s4k,8q1s16k",
         "a batch of 4136 tokens of 42 sequences, 266240 keys"},
        {"q2k,q100", "phi-4-q2k-q100",
         "b=2,hq=40,hkv=10,sq=2048,skv=2048,d=128,dtype=bf16,mask=causal,packed=1",
         "normal:1+batch:q2k,q100", "a batch of 2148 tokens of 2 sequences, 2148 keys"},
        {"q1s9,q1s8", "phi-4-q1s9-q1s8", "b=2,hq=40,hkv=10,sq=1,skv=9,d=128,dtype=bf16,ragged=1",
         "normal:1+batch:q1s9,q1s8", "a batch of 2 tokens of 2 sequences, 17 keys"},
        {"q1s9,q1s8:page4", "phi-4-q1s9-q1s8-page4",
         "b=2,hq=40,hkv=10,sq=1,skv=9,d=128,dtype=bf16,ragged=1,page=4", "normal:1+batch:q1s9,q1s8",
         "a batch of 2 tokens of 2 sequences, 17 keys"},
        {"8q4s16", "phi-4-8q4s16", "b=8,hq=40,hkv=10,sq=4,skv=16,d=128,dtype=bf16,mask=causal",
         "normal:1", "a batch of 32 tokens of 8 sequences, 128 keys"},
        {"lens:17,2048,511", "phi-4-17-2048-511",
         "b=3,hq=40,hkv=10,sq=2048,skv=2048,d=128,dtype=bf16,mask=causal,packed=1",
         "normal:1+lens:17,2048,511", "a batch of 2576 tokens of 3 sequences, 2576 keys"},
        {"q1s1001,q1s1003,q1s1002,q1s1005,q1s1004", "phi-4-b5-q5-s5015",
         "b=5,hq=40,hkv=10,sq=1,skv=1005,d=128,dtype=bf16,ragged=1",
         "normal:1+batch:q1s1001,q1s1003,q1s1002,q1s1005,q1s1004",
         "a batch of 5 tokens of 5 sequences, 5015 keys"},
    };
    for (size_t n = 0; n < COUNT(batches); n++) {
        struct case_list list = batches_of("phi-4", batches[n].batch);
        struct problem_case again;
        struct parse_error error;
        assert_int_equal(list.count, 1);
        assert_string_equal(list.items[0].name, batches[n].name);
        assert_problem(&list.items[0], batches[n].problem);
        assert_input(&list.items[0], batches[n].input);
        assert_string_equal(list.passes[0]->what, batches[n].what);
        assert_true(parse_problem(batches[n].problem, &again.problem, &error));
        assert_true(parse_input_for(batches[n].input, &again.problem, &again.input, &error));
        cases_free(&list);
    }
    struct case_list list = batches_of("gpt-oss-20b", "q1s9,q1s8|q1s128|q1s129,q1s5");
    assert_int_equal(list.count, 4);
    assert_string_equal(list.items[2].name, "gpt-oss-20b-full-q1s129-q1s5");
    assert_string_equal(list.items[3].name, "gpt-oss-20b-window-q1s129-q1s5");
    cases_free(&list);
}

#define AZURE "TIMESTAMP,ContextTokens,GeneratedTokens\n"
#define BURST "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\r\n"

static bool batch_of(const char *trace, const char *batch, struct case_list *list)
{
    const struct model_asked asked = {"phi-4", NULL, NULL, batch};
    *list = (struct case_list){0};
    write_file("q.csv", trace, strlen(trace));
    const bool added = model_cases_add(list, &asked, MESSAGE(message));
    assert_int_equal(remove("q.csv"), 0);
    return added;
}

TEST(a_trace_has_the_lengths_of_its_requests)
{
    static const struct {
        const char *trace, *batch, *input;
    } traces[] = {
        {AZURE "11:59:01.5,374,44\n11:59:02.5,396,109\n11:59:03.5,879,55\n", "prompts:q.csv",
         "normal:1+lens:374,396,879"},
        {AZURE "11:59:01.5,374,44\n11:59:02.5,396,109\n,x,\n", "prompts:q.csv:2",
         "normal:1+lens:374,396"},
        {AZURE "11:59:01.5,374,44\n11:59:02.5,396,109", "replies:q.csv",
         "normal:1+batch:q1s418,q1s505"},
        {BURST "5,ChatGPT,472,18,490,Conversation log\r\n45,GPT-4,1087,0,1087,API log\r\n",
         "replies:q.csv", "normal:1+batch:q1s490,q1s1087"},
        {"arrived_at,num_prefill_tokens,num_decode_tokens\n0.5,9,1\n0.6,9,1\n0.7,8,1\n",
         "replies:q.csv", "normal:1+batch:2q1s10,q1s9"},
    };
    for (size_t n = 0; n < COUNT(traces); n++) {
        struct case_list list;
        if (!batch_of(traces[n].trace, traces[n].batch, &list))
            fail_msg("%s", message);
        assert_int_equal(list.count, 1);
        assert_input(&list.items[0], traces[n].input);
        cases_free(&list);
    }
}

TEST(a_trace_with_a_bad_line_is_refused_with_its_number)
{
    static const struct {
        const char *trace, *batch, *message;
    } traces[] = {
        {AZURE "a,374,44\na,37x,44\n", "prompts:q.csv",
         "q.csv: 3: ContextTokens '37x': is not a whole number"},
        {AZURE "a,0,44\n", "prompts:q.csv", "q.csv: 2: ContextTokens '0': is less than 1"},
        {AZURE "a,1,-1\n", "prompts:q.csv", "q.csv: 2: GeneratedTokens '-1': is not a whole"},
        {AZURE "a,1,1\na,1\n", "prompts:q.csv", "q.csv: 3: no GeneratedTokens"},
        {AZURE "a,1,1\n\n", "prompts:q.csv", "q.csv: 3: no ContextTokens"},
        {"a,b\n1,2\n", "prompts:q.csv", "q.csv: 1: no column ContextTokens, Request tokens or"},
        {"", "prompts:q.csv", "q.csv: 1: no column ContextTokens"},
        {AZURE, "prompts:q.csv", "q.csv: no requests"},
        {AZURE "a,1,1\n", "prompts:q.csv:0", "--batch 'prompts:q.csv:0' is less than 1"},
        {AZURE "a,1,1\n", "prompts:r.csv", "r.csv: No such file or directory"},
    };
    for (size_t n = 0; n < COUNT(traces); n++) {
        struct case_list list;
        assert_false(batch_of(traces[n].trace, traces[n].batch, &list));
        if (!strstr(message, traces[n].message))
            fail_msg("%s, not: %s", message, traces[n].message);
        cases_free(&list);
    }
    char many[4096] = AZURE;
    for (int n = 0; n < 100; n++)
        sprintf(many + strlen(many), "a,%d,1\n", 1000 + n);
    struct case_list list;
    assert_false(batch_of(many, "prompts:q.csv:80", &list));
    assert_string_equal(message, "q.csv: a batch of 80 requests makes a text of more than 320 "
                                 "bytes; the first 64 would do");
    cases_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_is_a_case_of_its_sequences),
        cmocka_unit_test(a_trace_has_the_lengths_of_its_requests),
        cmocka_unit_test(a_trace_with_a_bad_line_is_refused_with_its_number),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
