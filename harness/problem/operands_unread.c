/*
 * operands_unread: refuses tensors that seem to be operands but are not read.
 */
#include "operands_unread.h"

#include <string.h>

#include "base/refuse.h"
#include "base/scan.h"
#include "operands_locate.h"

/* Names of operands in PyTorch, ONNX, FlashAttention and vLLM. */
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

#define SHORTEST 4 /* letters of a possible misspelling: wq and x are other tensors */

bool operands_none_is_misnamed(const struct operands_file *file, char *message, size_t message_size)
{
    const size_t before = strlen(file->prefix);
    for (size_t i = 0; i < safetensors_count(file->file); i++) {
        const char *name = safetensors_at(file->file, i)->name, *rest = name + before;
        if (strncmp(name, file->prefix, before) != 0 || strlen(rest) < SHORTEST ||
            strchr(rest, '.'))
            continue;
        struct scan_choice choice = {.given = piece_of(rest)};
        for (enum operand_id id = 0; id < OPERANDS; id++)
            if (operand_table[id].asked)
                scan_offer(&choice, operand_table[id].name);
        scan_offer_synonyms(&choice, synonyms);
        if (choice.nearest && strcmp(choice.nearest, rest) != 0)
            return refuse(message, message_size, "%s: nothing reads %s; did you mean '%s%s'?",
                          file->path, name, file->prefix, choice.nearest);
    }
    return true;
}

bool operands_all_are_used(const struct operands_file *file, const struct attn_problem *p,
                           char *message, size_t message_size)
{
    for (enum operand_id id = 0; id < OPERANDS; id++) {
        const struct safetensor *t = operand_table[id].asked ? operands_named(file, id) : NULL;
        const bool added = t && t->dtype != ATTN_BOOL && id == OPERAND_MASK &&
                           p->mask & ATTN_MASK_BIAS; /* real numbers called mask */
        if (!t || added || operands_has(p, id))
            continue;
        char shape[SAFETENSORS_SHAPE_TEXT];
        safetensors_print_shape(t, shape);
        return refuse(message, message_size,
                      "%s: %s is %s, which the problem does not use; %s does", file->path, t->name,
                      shape, operand_table[id].asked);
    }
    return true;
}
