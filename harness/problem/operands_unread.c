/*
 * operands_unread: tensors of a file that no operand is read from, though they seem meant to be.
 */
#include "operands_unread.h"

#include <string.h>

#include "base/refuse.h"
#include "base/scan.h"
#include "operands_locate.h"

/* What a problem says that has use for an operand. */
static const struct {
    const char *name, *option;
} uses[] = {
    {"bias", "mask=bias"},
    {"mask", "mask=bool"},
    {"sinks", "sinks=1"},
    {"slopes", "alibi=1"},
    {"kv_lens", "ragged=1"},
    {"cu_seqlens", "packed=1"},
    {"block_table", "page=N"},
    {"cu_seqlens_kv", "packed=1"},
    {"k_scale", "kv_dtype=i8|f8e4m3|f8e5m2|i4"},
    {"v_scale", "kv_dtype=i8|f8e4m3|f8e5m2|i4"},
    {"k_zero", "kv_dtype=i4,kv_zeros=1"},
    {"v_zero", "kv_dtype=i4,kv_zeros=1"},
    {"parents", "mask=tree"},
    {"indices", "keys=index"},
};

static bool is_used(const struct tensors_view *views, size_t count, const char *name)
{
    for (size_t n = 0; n < count; n++)
        if (strcmp(views[n].name, name) == 0)
            return true;
    return false;
}

/* Names of the same in PyTorch, ONNX, FlashAttention and vLLM. */
static const struct scan_synonym synonyms[] = {
    {"attn_mask", "mask"},
    {"attention_mask", "mask"},
    {"key_padding_mask", "mask"},
    {"attn_bias", "bias"},
    {"attention_bias", "bias"},
    {"s_aux", "sinks"},
    {"alibi_slopes", "slopes"},
    {"seq_lens", "kv_lens"},
    {"seqlens_k", "kv_lens"},
    {"context_lens", "kv_lens"},
    {"seqused_k", "kv_lens"},
    {"cu_seqlens_q", "cu_seqlens"},
    {"cu_seqlens_k", "cu_seqlens_kv"},
    {0},
};

#define SHORTEST 4 /* letters of a name that may be a typing error: wq and x are other tensors */

bool operands_none_is_misnamed(const struct operands_file *file, char *message, size_t message_size)
{
    const size_t before = strlen(file->prefix);
    for (size_t i = 0; i < safetensors_count(file->file); i++) {
        const char *name = safetensors_at(file->file, i)->name, *rest = name + before;
        if (strncmp(name, file->prefix, before) != 0 || strlen(rest) < SHORTEST ||
            strchr(rest, '.'))
            continue;
        struct scan_choice choice = {.given = piece_from(rest, rest + strlen(rest))};
        for (size_t n = 0; n < sizeof uses / sizeof *uses; n++)
            scan_offer(&choice, uses[n].name);
        scan_offer_synonyms(&choice, synonyms);
        if (choice.nearest && strcmp(choice.nearest, rest) != 0)
            return refuse(message, message_size, "%s: nothing reads %s; did you mean '%s%s'?",
                          file->path, name, file->prefix, choice.nearest);
    }
    return true;
}

bool operands_all_are_used(const struct operands_file *file, const struct tensors_view *views,
                           size_t count, char *message, size_t message_size)
{
    for (size_t n = 0; n < sizeof uses / sizeof *uses; n++) {
        const struct safetensor *t = operands_named(file, uses[n].name);
        const bool added = t && t->dtype != ATTN_BOOL && strcmp(uses[n].name, "mask") == 0 &&
                           is_used(views, count, "bias"); /* real numbers called mask */
        if (!t || added || is_used(views, count, uses[n].name))
            continue;
        char shape[SAFETENSORS_SHAPE_TEXT];
        safetensors_print_shape(t, shape);
        return refuse(message, message_size,
                      "%s: %s is %s, which the problem does not use; %s does", file->path, t->name,
                      shape, uses[n].option);
    }
    return true;
}
