/*
 * Models from a config.json: what each field does to the layers, what is missing or wrong, in names too, and what
 * is assumed.
 *
 * The fields are those of published files, the numbers smaller.
 */
#include "testing.h"

#include <string.h>
#include <sys/stat.h>

#include "loaded_cases.h"
#include "problem/model_cases.h"
#include "problem/models.h"

static bool read_config(const char *config, const char *model, const char *prefill,
                        const char *decode, struct case_list *list)
{
    const struct model_asked asked = {model, prefill, decode, NULL};
    *list = (struct case_list){0};
    write_file("m.json", config, strlen(config));
    const bool read = model_cases_add(list, &asked, MESSAGE(message));
    assert_int_equal(remove("m.json"), 0);
    return read;
}

#define SIZES "\"num_hidden_layers\": 6, \"num_attention_heads\": 4, \"hidden_size\": 64"
#define TEXT(fields) "{" SIZES ", " fields "}"
#define B "b=1,hq=4,"

/* A pass over 64 tokens: the problem and the number of layers of each kind. */
TEST(fields_say_what_layers_compute)
{
    static const struct {
        const char *config;
        struct {
            const char *name, *problem;
            size_t layers;
        } cases[3];
    } files[] = {
        {TEXT("\"model_type\": \"llama\", \"num_key_value_heads\": 2, \"torch_dtype\": "
              "\"bfloat16\""),
         {{"m-prefill-64", B "hkv=2,sq=64,skv=64,d=16,dtype=bf16,mask=causal", 6}}},
        {"{\"model_type\": \"gpt2\", \"n_layer\": 3, \"n_head\": 2, \"n_embd\": 64}",
         {{"m-prefill-64", "b=1,hq=2,hkv=2,sq=64,skv=64,d=32,mask=causal", 3}}},
        {"{\"model_type\": \"bloom\", \"n_layer\": 3, \"n_head\": 2, \"n_embed\": 64}",
         {{"m-prefill-64", "b=1,hq=2,hkv=2,sq=64,skv=64,d=32,mask=causal,alibi=1", 3}}},
        {TEXT("\"model_type\": \"bert\", \"dtype\": \"float16\""),
         {{"m-prefill-64", B "hkv=4,sq=64,skv=64,d=16,dtype=f16", 6}}},
        {"{\"model_type\": \"distilbert\", \"n_layers\": 3, \"n_heads\": 2, \"dim\": 64, "
         "\"hidden_dim\": 256}",
         {{"m-prefill-64", "b=1,hq=2,hkv=2,sq=64,skv=64,d=32", 3}}},
        {TEXT("\"head_dim\": 24, \"multi_query\": true, \"alibi\": true"),
         {{"m-prefill-64", B "hkv=1,sq=64,skv=64,d=24,mask=causal,alibi=1", 6}}},
        {TEXT("\"model_type\": \"mistral\", \"sliding_window\": 8"),
         {{"m-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal,window=7", 6}}},
        {TEXT("\"sliding_window\": 8, \"use_sliding_window\": false"),
         {{"m-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal", 6}}},
        {TEXT("\"sliding_window\": 8, \"use_sliding_window\": true, \"max_window_layers\": 2"),
         {{"m-full-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal", 2},
          {"m-window-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal,window=7", 4}}},
        {TEXT("\"model_type\": \"gemma2\", \"sliding_window\": 8, \"attn_logit_softcapping\": 50.0,"
              "\"query_pre_attn_scalar\": 4"),
         {{"m-window-prefill-64",
           B "hkv=4,sq=64,skv=64,d=16,mask=causal,window=7,softcap=50,scale=0.5", 3},
          {"m-full-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal,softcap=50,scale=0.5", 3}}},
        {"{\"dtype\": \"bfloat16\", \"text_config\": " TEXT(
             "\"query_pre_attn_scalar\": 16, \"sliding_window\": 8,"
             "\"sliding_window_pattern\": 3") "}",
         {{"m-window-prefill-64", B "hkv=4,sq=64,skv=64,d=16,dtype=bf16,mask=causal,window=7", 4},
          {"m-full-prefill-64", B "hkv=4,sq=64,skv=64,d=16,dtype=bf16,mask=causal", 2}}},
        {TEXT("\"model_type\": \"gpt_oss\", \"sliding_window\": 8, \"layer_types\": "
              "[\"sliding_attention\", \"full_attention\", \"sliding_attention\", "
              "\"sliding_attention\", \"sliding_attention\", \"full_attention\"]"),
         {{"m-window-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal,window=7,sinks=1", 4},
          {"m-full-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal,sinks=1", 2}}},
        {TEXT("\"global_head_dim\": 32, \"num_global_key_value_heads\": 1, \"sliding_window\": 8,"
              "\"sliding_window_pattern\": 6"),
         {{"m-window-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal,window=7", 5},
          {"m-full-prefill-64", B "hkv=1,sq=64,skv=64,d=32,mask=causal", 1}}},
        {TEXT("\"model_type\": \"llama4_text\", \"attention_chunk_size\": 16"),
         {{"m-chunked-prefill-64", "b=4,hq=4,hkv=4,sq=16,skv=16,d=16,mask=causal", 5},
          {"m-full-prefill-64", B "hkv=4,sq=64,skv=64,d=16,mask=causal", 1}}},
        {TEXT("\"kv_lora_rank\": 32, \"qk_rope_head_dim\": 8, \"qk_nope_head_dim\": 16, "
              "\"v_head_dim\": 12"),
         {{"m-prefill-64", B "hkv=4,sq=64,skv=64,d=24,dv=12,mask=causal", 6}}},
        {TEXT("\"kv_lora_rank\": 32, \"qk_rope_head_dim\": 8, \"qk_nope_head_dim\": 8, "
              "\"v_head_dim\": 12, \"index_topk\": 4"),
         {{"m-prefill-64",
           B "hkv=1,sq=64,skv=64,d=40,dv=32,mask=causal,window=3,scale=0.25,shared_kv=1", 6}}},
    };
    for (size_t f = 0; f < COUNT(files); f++) {
        struct case_list list;
        size_t i = 0;
        if (!read_config(files[f].config, "m.json", "64", NULL, &list))
            fail_msg("%s: %s", files[f].config, message);
        for (; i < COUNT(files->cases) && files[f].cases[i].name && i < list.count; i++) {
            assert_string_equal(list.items[i].name, files[f].cases[i].name);
            assert_problem(&list.items[i], files[f].cases[i].problem);
            assert_int_equal(list.items[i].passes[0].layers, files[f].cases[i].layers);
        }
        assert_int_equal(list.count, i);
        assert_true(i && (i == COUNT(files->cases) || !files[f].cases[i].name));
        cases_free(&list);
    }
}

TEST(a_token_of_latent_attention_is_on_the_shared_cache)
{
    struct case_list list;
    assert_true(read_config(TEXT("\"kv_lora_rank\": 32, \"qk_rope_head_dim\": 8, "
                                 "\"qk_nope_head_dim\": 8, \"v_head_dim\": 12"),
                            "./m.json:tp2", NULL, "64", &list));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].name, "m-tp2-decode-64");
    assert_problem(&list.items[0], "b=1,hq=2,hkv=1,sq=1,skv=64,d=40,dv=32,scale=0.25,shared_kv=1");
    cases_free(&list);
    assert_true(read_config(TEXT("\"kv_lora_rank\": 32, \"qk_rope_head_dim\": 8, "
                                 "\"qk_nope_head_dim\": 8, \"v_head_dim\": 12, \"index_topk\": 4"),
                            "m.json", NULL, "64", &list));
    assert_int_equal(list.count, 1);
    assert_problem(&list.items[0],
                   B "hkv=1,sq=1,skv=64,d=40,dv=32,scale=0.25,shared_kv=1,keys=index:4");
    cases_free(&list);
}

/* The fields of published files of T5, BART and Whisper; the layers of each are those of models.list. */
#define T5 "\"is_encoder_decoder\": true, \"model_type\": \"t5\", \"d_model\": 96, \"d_kv\": 64, "
#define BART                                                                    \
    "\"is_encoder_decoder\": true, \"model_type\": \"bart\", \"d_model\": 64, " \
    "\"encoder_layers\": 3, \"decoder_layers\": 5, \"encoder_attention_heads\": 4, "
#define WHISPER                                                                    \
    "\"is_encoder_decoder\": true, \"model_type\": \"whisper\", \"d_model\": 64, " \
    "\"encoder_layers\": 3, \"decoder_layers\": 5, \"torch_dtype\": \"float16\", " \
    "\"encoder_attention_heads\": 4, \"decoder_attention_heads\": 2"

TEST(an_encoder_and_its_decoder_are_three_kinds_of_layer)
{
    static const struct {
        const char *config, *encoder, *self, *cross; /* a pass over 64 tokens, a token on 32 */
        size_t encoders, decoders;
    } files[] = {
        {"{" T5 "\"num_layers\": 3, \"num_heads\": 4}",
         B "hkv=4,sq=64,skv=64,d=64,mask=bias,scale=1",
         B "hkv=4,sq=1,skv=32,d=64,mask=bias,scale=1", B "hkv=4,sq=1,skv=32,d=64,scale=1", 3, 3},
        {"{" T5 "\"num_layers\": 3, \"num_decoder_layers\": 5, \"num_heads\": 4}",
         B "hkv=4,sq=64,skv=64,d=64,mask=bias,scale=1",
         B "hkv=4,sq=1,skv=32,d=64,mask=bias,scale=1", B "hkv=4,sq=1,skv=32,d=64,scale=1", 3, 5},
        {"{" BART "\"decoder_attention_heads\": 2}", B "hkv=4,sq=64,skv=64,d=16",
         "b=1,hq=2,hkv=2,sq=1,skv=32,d=32", NULL, 3, 10},
        {"{" WHISPER ", \"max_source_positions\": 1500}", B "hkv=4,sq=64,skv=64,d=16,dtype=f16",
         "b=1,hq=2,hkv=2,sq=1,skv=32,d=32,dtype=f16", "b=1,hq=2,hkv=2,sq=1,skv=1500,d=32,dtype=f16",
         3, 5},
    };
    for (size_t f = 0; f < COUNT(files); f++) {
        struct case_list list;
        if (!read_config(files[f].config, "m.json", "64", "32", &list))
            fail_msg("%s: %s", files[f].config, message);
        assert_int_equal(list.count, files[f].cross ? 3 : 2); /* BART's compute the same */
        assert_problem(&list.items[0], files[f].encoder);
        assert_int_equal(list.items[0].passes[0].layers, files[f].encoders);
        assert_problem(&list.items[1], files[f].self);
        assert_int_equal(list.items[1].passes[0].layers, files[f].decoders);
        if (files[f].cross) {
            assert_string_equal(list.items[2].name, "m-cross-decode-32");
            assert_problem(&list.items[2], files[f].cross);
            assert_int_equal(list.items[2].passes[0].layers, files[f].decoders);
        }
        cases_free(&list);
    }
}

TEST(other_layers_are_left_out_and_named)
{
    struct case_list list;
    assert_true(read_config(TEXT("\"model_type\": \"qwen3_next\", \"full_attention_interval\": 3"),
                            "m.json", "64", NULL, &list));
    assert_int_equal(list.count, 1);
    assert_int_equal(list.passes[0]->layers, 2);
    assert_string_equal(list.passes[0]->without, "4 layers of linear_attention");
    cases_free(&list);
}

TEST(a_file_in_a_folder_has_the_folders_name)
{
    struct case_list list = {0};
    const struct model_asked asked = {"My Model-7B/config.json", "64", NULL, NULL};
    assert_int_equal(mkdir("My Model-7B", 0700), 0);
    write_file("My Model-7B/config.json", "{" SIZES "}", sizeof "{" SIZES "}" - 1);
    assert_true(model_cases_add(&list, &asked, MESSAGE(message)));
    assert_string_equal(list.items[0].name, "My_Model-7B-prefill-64");
    assert_int_equal(remove("My Model-7B/config.json") | rmdir("My Model-7B"), 0);
    cases_free(&list);
}

TEST(a_field_that_is_missing_or_wrong_is_refused)
{
    static const struct {
        const char *config, *message;
    } wrong[] = {
        {"{\"n_head\": 4, \"n_embd\": 64}",
         "m.json: no field num_hidden_layers or n_layer or num_layers or n_layers"},
        {"{\"n_layer\": 4, \"n_embd\": 64}",
         "m.json: no field num_attention_heads or n_head or num_heads"},
        {"{\"n_layer\": 4, \"n_head\": 4}",
         "m.json: no field hidden_size or n_embd or n_embed or d_model"},
        {"{\"n_layer\": 4, \"n_head\": \"4\"}",
         "n_head or num_heads or n_heads is not a whole number from 1"},
        {"{\"n_layer\": 0, \"n_head\": 4}", "num_layers or n_layers is not a whole number from 1"},
        {"{\"n_layer\": 4, \"n_head\": 3, \"n_embd\": 64}", "does not divide hidden_size"},
        {TEXT("\"num_key_value_heads\": 3"), "q_heads is not a multiple of kv_heads"},
        {TEXT("\"torch_dtype\": \"float8\""), "torch_dtype is none of bfloat16, float16, float32"},
        {TEXT("\"query_pre_attn_scalar\": 0"), "query_pre_attn_scalar is not a positive number"},
        {TEXT("\"attn_logit_softcapping\": \"x\""), "attn_logit_softcapping is not a positive"},
        {TEXT("\"layer_types\": [\"full_attention\"]"), "layer_types is no list of num_hidden"},
        {TEXT("\"layer_types\": [1, 2, 3, 4, 5, 6]"), "layer_types has something that is no text"},
        {TEXT("\"layer_types\": [\"sliding_attention\", \"\", \"\", \"\", \"\", \"\"]"),
         "no field sliding_window"},
        {TEXT("\"kv_lora_rank\": 32"), "no field qk_rope_head_dim"},
        {TEXT("\"is_encoder_decoder\": true, \"model_type\": \"longt5\""),
         "m.json: is_encoder_decoder is true, and model_type is none of t5,mt5,umt5,bart"},
        {"{" T5 "\"num_heads\": 4}", "m.json: no field encoder_layers or num_layers"},
        {"{" T5 "\"num_layers\": 4}", "m.json: no field encoder_attention_heads or num_heads"},
        {"{" BART "\"dtype\": \"float32\"}", "no field decoder_attention_heads or num_heads"},
        {"{" WHISPER "}", "m.json: no field max_source_positions"},
        {"[]", "m.json: is no JSON object"},
        {"{\n\"n_layer\": 4,\n}", "m.json: line 3: "},
        {"", "m.json: line 1: "},
        /* names that are nearly right */
        {TEXT("\"model_type\": \"gemma2\", \"sliding_window\": 8"),
         "m.json: no field attn_logit_softcapping, which gemma2 needs"},
        {TEXT("\"model_type\": \"gemma2\", \"attn_logit_softcapping\": 50"),
         "m.json: no field sliding_window, which gemma2 needs"},
        {TEXT("\"model_type\": \"gemm2\""),
         "m.json: unknown model_type 'gemm2'; near it: gemma, gemma2"},
        {TEXT("\"model_type\": \"gemma2x\""), "model_type 'gemma2x'; near it: gemma2"},
        {"{\"text_config\": " TEXT("\"model_type\": \"llamma\"") "}",
         "model_type 'llamma'; near it: llama"},
        {TEXT("\"sliding_windw\": 8"), "m.json: 'sliding_windw': is 'sliding_window' meant?"},
        {TEXT("\"head_dm\": 8"), "m.json: 'head_dm': is 'head_dim' meant?"},
        {TEXT("\"torch_dtpye\": \"bfloat16\""), "'torch_dtpye': is 'torch_dtype' meant?"},
        {"{\"num_atention_heads\": 4, \"text_config\": {\"n_layer\": 4}}",
         "'num_atention_heads': is 'num_attention_heads' meant?"},
    };
    struct case_list list;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_false(read_config(wrong[i].config, "m.json", "64", NULL, &list));
        if (!strstr(message, wrong[i].message))
            fail_msg("%s, not: %s", message, wrong[i].message);
        cases_free(&list);
    }
    assert_false(read_config("{}", "n.json", "64", NULL, &list));
    assert_string_equal(message, "n.json: No such file or directory");
}

static bool find_model(const char *config, struct model *model)
{
    write_file("m.json", config, strlen(config));
    const bool read = models_find(piece_of("m.json"), model, MESSAGE(message));
    assert_int_equal(remove("m.json"), 0);
    return read;
}

/* Fields and types of published files that are close to known ones, or that nothing here reads. */
TEST(names_of_other_things_are_let_be)
{
    static const char *const fields[] = {
        "\"model_type\": \"qwen2\", \"rope_scaling\": null, \"rope_theta\": 1e4, "
        "\"vocab_size\": 9, "
        "\"max_window_layers\": 6, \"use_sliding_window\": false, \"attention_bias\": true, "
        "\"sliding_window\": null, \"hidden_act\": \"silu\", \"max_position_embeddings\": 64",
        "\"model_type\": \"deepseek_v3\", \"q_lora_rank\": 8, \"kv_lora_rank\": 32, "
        "\"n_heads\": 4, "
        "\"qk_rope_head_dim\": 8, \"qk_nope_head_dim\": 8, \"v_head_dim\": 8, "
        "\"qk_head_dim\": 16, \"num_nextn_predict_layers\": 1, \"moe_layer_freq\": 1",
        "\"hidden_sizes\": [64], \"layer_type\": \"basic\", \"attention_layers\": [], "
        "\"n_inner\": 8, \"sliding_windows\": [], \"n_positions\": 8, \"n_ctx\": 8, "
        "\"num_experts\": 2, \"head_size\": 8, "
        "\"vision_config\": {\"head_dm\": 8}, \"rope_local_base_freq\": 1, \"dim\": 8",
        /* another name for the same is there */
        "\"dtype\": \"float32\", \"torch_dtyp\": 1, \"head_dim\": 16, \"head_dims\": 8",
        "\"model_type\": \"gpt_neo\"", /* one letter from gpt_neox, and a family of its own */
        "\"model_type\": \"llava\"",   /* likewise: llama */
        "\"model_type\": \"gemma5\"",  /* a version, no typing error */
        "\"model_type\": \"mpt\"",     /* short names are near others: opt */
        "\"model_type\": 7",
        "\"model_type\": \"\"",
    };
    for (size_t i = 0; i < COUNT(fields); i++) {
        struct model model;
        char config[1024];
        snprintf(config, sizeof config, TEXT("%s"), fields[i]);
        if (!find_model(config, &model))
            fail_msg("%s: %s", fields[i], message);
    }
}

TEST(what_no_field_says_is_told)
{
#define ALL "\"num_key_value_heads\": 2, \"head_dim\": 16, \"torch_dtype\": \"float16\""
    static const struct {
        const char *config, *assumed;
    } files[] = {
        {TEXT(ALL ", \"model_type\": \"llama\""), ""},
        {TEXT("\"model_type\": \"llama\""), "no num_key_value_heads: as many as query heads; no "
                                            "head_dim: hidden_size divided by heads; "
                                            "no torch_dtype: f32"},
        {TEXT("\"model_type\": \"falcon\", \"multi_query\": true, \"dtype\": \"bfloat16\""),
         "no head_dim: hidden_size divided by heads"},
        {TEXT(ALL), "no model_type: every layer is causal and sees all before it"},
        {TEXT(ALL ", \"model_type\": \"foo\", \"sliding_window\": 8"),
         "model_type 'foo' is not known: every layer is causal and has the window"},
        {TEXT(ALL
              ", \"model_type\": \"foo\", \"sliding_window\": 8, \"sliding_window_pattern\": 2"),
         "model_type 'foo' is not known: causal layers of the kinds that other fields name"},
        {TEXT("\"model_type\": \"deepseek_v3\", \"kv_lora_rank\": 32, \"qk_rope_head_dim\": 8, "
              "\"qk_nope_head_dim\": 8, \"v_head_dim\": 12"),
         "no torch_dtype: f32"},
        {TEXT("\"model_type\": \"t5\", \"is_encoder_decoder\": true, \"d_kv\": 16, "
              "\"num_layers\": 3, \"num_heads\": 4"),
         "no torch_dtype: f32"},
    };
    for (size_t i = 0; i < COUNT(files); i++) {
        struct model model;
        if (!find_model(files[i].config, &model))
            fail_msg("%s: %s", files[i].config, message);
        assert_string_equal(model.assumed, files[i].assumed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_say_what_layers_compute),
        cmocka_unit_test(a_token_of_latent_attention_is_on_the_shared_cache),
        cmocka_unit_test(an_encoder_and_its_decoder_are_three_kinds_of_layer),
        cmocka_unit_test(other_layers_are_left_out_and_named),
        cmocka_unit_test(a_file_in_a_folder_has_the_folders_name),
        cmocka_unit_test(a_field_that_is_missing_or_wrong_is_refused),
        cmocka_unit_test(names_of_other_things_are_let_be),
        cmocka_unit_test(what_no_field_says_is_told),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
