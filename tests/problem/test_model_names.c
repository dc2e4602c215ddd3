/*
 * Names in a config.json, of fields and of types: those that are nearly right are refused, those of other
 * things are let be, and what none of them says is told.
 */
#include "testing.h"

#include <string.h>

#include "loaded_cases.h"
#include "problem/models.h"

static bool read_config(const char *config, struct model *model)
{
    write_file("m.json", config, strlen(config));
    const bool read = models_find((struct piece){"m.json", 6}, model, message, sizeof message);
    assert_int_equal(remove("m.json"), 0);
    return read;
}

#define SIZES "\"num_hidden_layers\": 6, \"num_attention_heads\": 4, \"hidden_size\": 64"
#define TEXT(fields) "{" SIZES ", " fields "}"

TEST(a_name_that_is_nearly_right_is_refused)
{
    static const struct {
        const char *config, *message;
    } wrong[] = {
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
    struct model model;
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_false(read_config(wrong[i].config, &model));
        if (!strstr(message, wrong[i].message))
            fail_msg("%s, not: %s", message, wrong[i].message);
    }
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
        if (!read_config(config, &model))
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
        if (!read_config(files[i].config, &model))
            fail_msg("%s: %s", files[i].config, message);
        assert_string_equal(model.assumed, files[i].assumed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_that_is_nearly_right_is_refused),
        cmocka_unit_test(names_of_other_things_are_let_be),
        cmocka_unit_test(what_no_field_says_is_told),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
