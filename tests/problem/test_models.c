/*
 * Models as cases: the file of models, lengths, workers, and layers that compute the same.
 */
#include "testing.h"

#include <string.h>

#include "loaded_cases.h"
#include "problem/model_cases.h"
#include "problem/models.h"

static struct model found(const char *name)
{
    struct model model;
    if (!models_find(piece_of(name), &model, MESSAGE(message)))
        fail_msg("%s", message);
    return model;
}

TEST(every_line_of_the_file_is_read)
{
    char name[48];
    size_t count = 0;
    for (; models_name(count, name); count++) {
        const struct model model = found(name);
        size_t computing = 0;
        assert_string_equal(model.name, name);
        for (size_t i = 0; i < model.count; i++) {
            assert_in_range(model.kinds[i].layers, 1, 200);
            assert_int_equal(model.count > 1, *model.kinds[i].name != 0);
            computing += model.kinds[i].role != MODEL_WITHOUT;
        }
        assert_in_range(computing, 1, MODEL_KINDS);
    }
    assert_in_range(count, 25, 250);
}

/* Layers of published models, from their configurations by hand. */
TEST(layers_of_a_model_add_up)
{
    static const struct {
        const char *model;
        size_t layers;
    } models[] = {{"llama-3.1-8b", 32}, {"llama-4-scout", 48},      {"gemma-2-9b", 42},
                  {"gemma-3-4b", 34},   {"gemma-3-27b", 62},        {"gemma-4-31b", 60},
                  {"gpt-oss-120b", 36}, {"qwen-3-next-80b-a3b", 48}};
    for (size_t m = 0; m < COUNT(models); m++) {
        const struct model model = found(models[m].model);
        size_t layers = 0;
        for (size_t i = 0; i < model.count; i++)
            layers += model.kinds[i].layers;
        assert_int_equal(layers, models[m].layers);
    }
}

static struct case_list cases_of(const char *models, const char *prefill, const char *decode,
                                 const char *batch)
{
    struct case_list list = {0};
    const struct model_asked asked = {models, prefill, decode, batch};
    if (!model_cases_add(&list, &asked, MESSAGE(message)))
        fail_msg("%s", message);
    return list;
}

#define LLAMA "b=1,hq=32,hkv=8,"
#define MLA "b=1,hq=16,hkv=1,sq=1,skv=512,d=576,dv=512,dtype=bf16,scale=0.07216878,shared_kv=1"

/* Name, problem and layers of every case of a model and a size. */
TEST(a_case_is_a_kind_of_layer)
{
    static const struct {
        const char *model, *prefill, *decode, *batch;
        struct {
            const char *name, *problem;
            size_t layers;
        } cases[3];
    } models[] = {
        {"llama-3.1-8b",
         "2k",
         NULL,
         NULL,
         {{"llama-3.1-8b-prefill-2048", LLAMA "sq=2048,skv=2048,d=128,dtype=bf16,mask=causal",
           32}}},
        {"llama-3.1-8b",
         NULL,
         "16384",
         "8",
         {{"llama-3.1-8b-decode-16384-b8", "b=8,hq=32,hkv=8,sq=1,skv=16384,d=128,dtype=bf16", 32}}},
        {"llama-3.1-70b:tp16", /* each KV head on two workers */
         NULL,
         "9",
         NULL,
         {{"llama-3.1-70b-tp16-decode-9", "b=1,hq=4,hkv=1,sq=1,skv=9,d=128,dtype=bf16", 80}}},
        {"mistral-7b", /* a window of 4096, the token itself included */
         "4097",
         NULL,
         NULL,
         {{"mistral-7b-prefill-4097",
           LLAMA "sq=4097,skv=4097,d=128,dtype=bf16,mask=causal,window=4095", 32}}},
        {"mistral-7b", /* hides nothing */
         "4096",
         NULL,
         NULL,
         {{"mistral-7b-prefill-4096", LLAMA "sq=4096,skv=4096,d=128,dtype=bf16,mask=causal", 32}}},
        {"gpt-oss-20b",
         NULL,
         "129",
         NULL,
         {{"gpt-oss-20b-full-decode-129", "b=1,hq=64,hkv=8,sq=1,skv=129,d=64,dtype=bf16,sinks=1",
           12},
          {"gpt-oss-20b-window-decode-129",
           "b=1,hq=64,hkv=8,sq=1,skv=129,d=64,dtype=bf16,window=127,sinks=1", 12}}},
        {"gpt-oss-20b", /* both kinds of layers see all 128 */
         NULL,
         "128",
         NULL,
         {{"gpt-oss-20b-decode-128", "b=1,hq=64,hkv=8,sq=1,skv=128,d=64,dtype=bf16,sinks=1", 24}}},
        {"deepseek-v2-lite",
         "64",
         "512",
         NULL,
         {{"deepseek-v2-lite-prefill-64",
           "b=1,hq=16,hkv=16,sq=64,skv=64,d=192,dv=128,dtype=bf16,mask=causal", 27},
          {"deepseek-v2-lite-decode-512", MLA, 27}}},
        {"llama-4-scout", /* two chunks are like two sequences */
         "16k",
         NULL,
         NULL,
         {{"llama-4-scout-full-prefill-16384",
           "b=1,hq=40,hkv=8,sq=16384,skv=16384,d=128,dtype=bf16,mask=causal", 12},
          {"llama-4-scout-chunked-prefill-16384",
           "b=2,hq=40,hkv=8,sq=8192,skv=8192,d=128,dtype=bf16,mask=causal", 36}}},
        {"llama-4-scout", /* the second token of a chunk */
         NULL,
         "8194",
         NULL,
         {{"llama-4-scout-full-decode-8194", "b=1,hq=40,hkv=8,sq=1,skv=8194,d=128,dtype=bf16", 12},
          {"llama-4-scout-chunked-decode-8194", "b=1,hq=40,hkv=8,sq=1,skv=2,d=128,dtype=bf16",
           36}}},
        {"t5-base",
         "512",
         NULL,
         NULL,
         {{"t5-base-prefill-512", "b=1,hq=12,hkv=12,sq=512,skv=512,d=64,mask=bias,scale=1", 12}}},
        {"whisper-small", /* a token looks at those before it, and at the sound */
         NULL,
         "448",
         NULL,
         {{"whisper-small-self-decode-448", "b=1,hq=12,hkv=12,sq=1,skv=448,d=64", 12},
          {"whisper-small-cross-decode-448", "b=1,hq=12,hkv=12,sq=1,skv=1500,d=64", 12}}},
    };
    for (size_t m = 0; m < COUNT(models); m++) {
        struct case_list list =
            cases_of(models[m].model, models[m].prefill, models[m].decode, models[m].batch);
        size_t i = 0;
        for (; i < COUNT(models->cases) && models[m].cases[i].name; i++) {
            assert_in_range(i, 0, list.count - 1);
            assert_string_equal(list.items[i].name, models[m].cases[i].name);
            assert_problem(&list.items[i], models[m].cases[i].problem);
            assert_input(&list.items[i], "normal:1");
            assert_int_equal(list.items[i].passes[0].layers, models[m].cases[i].layers);
        }
        assert_int_equal(list.count, i);
        cases_free(&list);
    }
}

TEST(every_model_has_every_size_that_it_can)
{
    struct case_list list = cases_of("phi-4,bert-base", "16..64*2,100", NULL, "1,3");
    assert_int_equal(list.count, 2 * 4 * 2);
    assert_int_equal(list.pass_count, 2 * 4 * 2);
    assert_string_equal(list.items[1].name, "phi-4-prefill-16-b3");
    assert_string_equal(list.items[15].name, "bert-base-prefill-100-b3");
    assert_string_equal(list.passes[15]->what, "a pass over 3 x 100 tokens");
    cases_free(&list);
    list = cases_of("phi-4", "16", "99", "1,3"); /* as servers do: prompts alone, tokens together */
    assert_int_equal(list.count, 3);
    assert_string_equal(list.items[0].name, "phi-4-prefill-16");
    assert_string_equal(list.items[2].name, "phi-4-decode-99-b3");
    cases_free(&list);
}

/* One measurement, and its layers in each pass. */
TEST(layers_that_compute_the_same_are_one_case)
{
    struct case_list list = cases_of("mixtral-8x7b,llama-3.1-8b,mistral-nemo", NULL, "100", NULL);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.pass_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_ptr_equal(list.items[0].passes[i].pass, list.passes[i]);
        assert_int_equal(list.items[0].passes[i].layers, i < 2 ? 32 : 40);
    }
    assert_string_equal(list.passes[1]->name, "llama-3.1-8b-decode-100");
    assert_null(list.items[0].passes[3].pass);
    cases_free(&list);
}

TEST(layers_without_softmax_are_left_out_and_named)
{
    struct case_list list = cases_of("qwen-3-next-80b-a3b", "64", NULL, NULL);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.passes[0]->layers, 12);
    assert_string_equal(list.passes[0]->without, "36 layers of gated delta net");
    cases_free(&list);
}

TEST(what_cannot_be_is_refused)
{
    static const struct {
        struct model_asked asked;
        const char *message;
    } wrong[] = {
        {{"llama-3.1-8c", "4", NULL, NULL}, "no model 'llama-3.1-8c'; did you mean 'llama-3.1-8b'"},
        {{"Gemma3", "4", NULL, NULL}, "no model 'Gemma3'; there are gemma-2-2b, gemma-2-9b"},
        {{"lama-3", "4", NULL, NULL}, "no model 'lama-3'; there are llama-2-7b, llama-2-13b"},
        {{"Whisber", "4", NULL, NULL}, "; there are whisper-small, whisper-large-v3; attnbench"},
        {{"mixtral", "4", NULL, NULL}, "; there are mixtral-8x7b, mixtral-8x22b; attnbench"},
        {{"quen3-8b", "4", NULL, NULL}, "no model 'quen3-8b'; did you mean 'qwen-3-8b'? attnbench"},
        {{"foo", "4", NULL, NULL}, "no model 'foo'; attnbench list names all"},
        {{"", "4", NULL, NULL}, "no model ''"},
        {{"phi-4:tp3", "4", NULL, NULL}, "'tp3' does not divide its query heads"},
        {{"phi-4:tp4", "4", NULL, NULL}, "'tp4' does not divide its KV heads, nor they it"},
        {{"phi-4:tp0", "4", NULL, NULL}, "--model phi-4: 'tp0' is less than 1"},
        {{"phi-4:4", "4", NULL, NULL}, "'4' is not tpN"},
        {{"phi-4", NULL, NULL, "4"}, "--model needs --prefill S"},
        {{"phi-4", NULL, NULL, "2x1024,16x4k"},
         "--batch: '2x1024' is no number of sequences and no batch such as 2q2k,32q1s4k"},
        {{"phi-4", "4", NULL, "2,0"}, "--batch: '0' is no number of sequences and no batch such"},
        {{NULL, "4", NULL, NULL}, "--prefill and --decode need a --model"},
        {{NULL, NULL, NULL, "2q2k,32q1s4k"}, "--batch needs a --model, or a --problem such as"},
        {{"phi-4", "4,0", NULL, NULL}, "--prefill takes numbers and ranges of them: '0' is less"},
        {{"phi-4", NULL, "x", NULL}, "--decode takes numbers and ranges of them: 'x' is not"},
        {{"phi-4", "4", NULL, "1..100"}, "--batch takes at most 64 numbers"},
        {{"phi-4", NULL, "1000000M", "1M"},
         "--model phi-4, decode-1048576000000-b1048576: an operand"},
        {{"vit-base", "4", "4", NULL}, "--model vit-base, decode-4: has no decoder"},
        {{"phi-4", NULL, NULL, "2q2k,x"}, "--batch '2q2k,x' has no queries; expected [N]qQ[sS]"},
        {{"phi-4", NULL, NULL, "2q2k:page"}, "--batch 'page': is not pageN"},
        {{"phi-4", NULL, NULL, "2q2k:page0"}, "--batch 'page0': is less than 1"},
        {{"phi-4", NULL, NULL, "lens:4,0"}, "--batch 'lens:4,0' is less than 1; expected [N]qQ"},
        {{"llama-4-scout", NULL, NULL, "q9k,q1"}, "q9k-q1: has a sequence that is longer than"},
        {{"deepseek-v3", NULL, NULL, "q9,q1s9"}, "has no layers that compute all of this together"},
        {{"llama-4-scout", "9000", NULL, NULL}, "prefill-9000: is no multiple of the chunks"},
    };
    for (size_t i = 0; i < COUNT(wrong); i++) {
        struct case_list list = {0};
        assert_false(model_cases_add(&list, &wrong[i].asked, MESSAGE(message)));
        if (!strstr(message, wrong[i].message))
            fail_msg("%s, not: %s", message, wrong[i].message);
        cases_free(&list);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_of_the_file_is_read),
        cmocka_unit_test(layers_of_a_model_add_up),
        cmocka_unit_test(a_case_is_a_kind_of_layer),
        cmocka_unit_test(every_model_has_every_size_that_it_can),
        cmocka_unit_test(layers_that_compute_the_same_are_one_case),
        cmocka_unit_test(layers_without_softmax_are_left_out_and_named),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
