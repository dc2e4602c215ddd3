/*
 * operands_file: reads operands, which operands_locate.c finds.
 */
#include "operands_file.h"

#include <string.h>

#include "base/scan.h"
#include "tensors_view.h"

bool operands_file_has_more(const struct attn_problem *p)
{
    const unsigned masks = ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE;
    const unsigned sized = ATTN_OPTION_PACKED | ATTN_OPTION_PAGED | ATTN_OPTION_INDEX;
    return p->mask & masks || p->options & sized || attn_dtype_scaled(p->kv_dtype);
}

/* ---- sizes --------------------------------------------------------------------------------- */

/* Adds an operand's sizes to the shape. */
static void note(const struct attn_problem *p, enum operand_id id,
                 const struct operands_source *source, struct tensors_shape *shape)
{
    if (operand_table[id].dims)
        memcpy((char *)shape + operand_table[id].dims, source->dims, sizeof source->dims);
    if (id == OPERAND_Q && p->options & ATTN_OPTION_PACKED)
        shape->q_rows = source->dims[2];
    if (id == OPERAND_K && attn_keys_packed(p))
        shape->kv_rows = source->dims[2];
    if (id == OPERAND_K && p->options & ATTN_OPTION_PAGED)
        shape->pages = source->dims[0];
    if (id == OPERAND_INDICES && p->options & ATTN_OPTION_PACKED)
        shape->lists = source->dims[2];
    if (id == OPERAND_BLOCK_TABLE)
        shape->table_cols = source->dims[1];
}

bool operands_file_shape(const struct operands_file *file, const struct attn_problem *p,
                         struct tensors_shape *shape)
{
    *shape = (struct tensors_shape){.bias_dtype = attn_statistics_dtype(p)};
    for (enum operand_id id = 0; id < OPERANDS; id++) {
        struct operands_source source;
        if (!operands_has(p, id))
            continue;
        if (!operands_locate(file, p, id, shape, &source))
            return false;
        note(p, id, &source, shape);
    }
    return true;
}

/* ---- tensors that are not read ----------------------------------------------------------------- */

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

/* False fills message: the name of a tensor that is not read is a synonym or misspelling of an operand's. */
static bool none_is_misnamed(const struct operands_file *file)
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
            return operands_refuse(file, "nothing reads %s; did you mean '%s%s'?", name,
                                   file->prefix, choice.nearest);
    }
    return true;
}

/* False fills message: the problem does not use an operand of the file, such as a mask, which is meant to be
 * applied. */
static bool all_are_used(const struct operands_file *file, const struct attn_problem *p)
{
    for (enum operand_id id = 0; id < OPERANDS; id++) {
        const struct safetensor *t = operand_table[id].asked ? operands_named(file, id) : NULL;
        const bool added = t && t->dtype != ATTN_BOOL && id == OPERAND_MASK &&
                           p->mask & ATTN_MASK_BIAS; /* real numbers called mask */
        if (!t || added || operands_has(p, id))
            continue;
        char shape[SAFETENSORS_SHAPE_TEXT];
        safetensors_print_shape(t, shape);
        return operands_refuse(file, "%s is %s, which the problem does not use; %s does", t->name,
                               shape, operand_table[id].asked);
    }
    return true;
}

/* ---- elements ------------------------------------------------------------------------------ */

/* Why a number cannot be an element of the type; NULL if it can. */
static const char *wrong_for(enum attn_dtype dtype, double x)
{
    if (dtype == ATTN_I32 && !(x >= INT32_MIN && x <= INT32_MAX))
        return "which no i32 holds";
    return dtype == ATTN_BOOL && x != 0 && x != 1 ? "neither 0 nor 1" : NULL;
}

static bool copy_row(const struct operands_file *file, const struct tensors_view *view,
                     const struct operands_source *from, size_t b, size_t h, size_t i)
{
    size_t at = b * from->stride[0] + h * from->stride[1] + i * from->stride[2];
    for (size_t d = 0; d < from->dims[3]; d++, at += from->stride[3]) {
        const double x = safetensors_get(from->tensor, at);
        if (view->dtype == ATTN_I4) { /* d counts bytes */
            ((uint8_t *)attn_row(view->t, b, h, i))[d] = (uint8_t)x;
            continue;
        }
        const char *wrong = wrong_for(view->dtype, x);
        if (wrong)
            return operands_refuse(file, "%s element %zu is %.0f, %s", from->tensor->name, at, x,
                                   wrong);
        if (view->dtype == ATTN_I32)
            ((int32_t *)attn_row(view->t, b, h, i))[view->dense == 3 ? d : 0] = (int32_t)x;
        else
            tensors_set(view->t, b, h, i, d, x);
    }
    return true;
}

static bool copy(const struct operands_file *file, const struct tensors_view *view,
                 const struct operands_source *from)
{
    for (size_t b = 0; b < from->dims[0]; b++)
        for (size_t h = 0; h < from->dims[1]; h++)
            for (size_t i = 0; i < from->dims[2]; i++)
                if (!copy_row(file, view, from, b, h, i))
                    return false;
    return true;
}

/* Whether the operands read are valid; of the results only types and strides matter. */
static bool are_valid(const struct operands_file *file, const struct tensor_set *set,
                      const struct attn_problem *p)
{
    char what[256];
    struct attn_tensors all = set->tensors;
    struct tensors_view results[TENSORS_RESULTS];
    const size_t count = tensors_results(&all, p, &set->shape, results);
    for (size_t n = 0; n < count; n++)
        if (!results[n].t->data)
            tensors_point(&results[n], set->tensors.q.data, 0);
    return attn_tensors_valid(p, &all, what, sizeof what) ||
           operands_refuse(file, "%s%s", file->prefix, what);
}

/* Reads into a set that was allocated for the file's shape; does not seal it. */
static bool read_operands(const struct operands_file *file, struct tensor_set *set,
                          const struct attn_problem *p)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, p, &set->shape, views);
    if (!all_are_used(file, p) || !none_is_misnamed(file))
        return false;
    for (size_t n = 0; n < count; n++) {
        struct operands_source source;
        if (!operands_locate(file, p, views[n].id, &set->shape, &source) ||
            !copy(file, &views[n], &source))
            return false;
    }
    return are_valid(file, set, p);
}

bool operands_file_load(const struct operands_file *file, struct tensor_set *set,
                        const struct attn_problem *p, const struct tensors_layout *layout)
{
    struct tensors_shape shape;
    *set = (struct tensor_set){0};
    if (!operands_file_shape(file, p, &shape) ||
        !tensors_alloc_shape(set, p, &shape, layout, file->message))
        return false;
    const bool read = read_operands(file, set, p);
    if (!read)
        tensors_free(set);
    return read;
}

/* ---- cases --------------------------------------------------------------------------------- */

/* Opens the file that an input names; to be closed even if this fails. */
static bool open_input(const struct input *input, char path[CASES_PATH], struct operands_file *file,
                       struct message message)
{
    *file = (struct operands_file){NULL, path, input->prefix, message};
    if (cases_find_file(input->path, path, message))
        file->file = safetensors_open(path, message);
    return file->file;
}

bool operands_file_opens(const struct input *input, struct message message)
{
    char path[CASES_PATH];
    struct operands_file file = {0};
    const bool ok = !*input->path || open_input(input, path, &file, message);
    safetensors_close(file.file);
    return ok;
}

bool operands_file_shape_of(const struct problem_case *c, struct tensors_shape *shape,
                            struct message message)
{
    char path[CASES_PATH];
    struct operands_file file;
    const bool ok = open_input(&c->input, path, &file, message) &&
                    operands_file_shape(&file, &c->problem, shape);
    safetensors_close(file.file);
    return ok;
}

/* Reads a mask, which the file may have once for all sequences or heads. */
static bool read_mask(const struct operands_file *file, struct tensor_set *set,
                      const struct attn_problem *p)
{
    struct tensors_view view = tensors_operand(p, &set->shape, OPERAND_MASK);
    const size_t *dims = set->shape.mask;
    struct operands_source source;
    view.t = &set->tensors.mask;
    if (!operands_locate(file, p, OPERAND_MASK, &set->shape, &source))
        return false;
    if (source.dims[0] > dims[0] || source.dims[1] > dims[1])
        return operands_refuse(file,
                               "mask differs between heads or sequences: mask:file:PATH:full");
    memcpy(source.dims, dims, sizeof source.dims); /* strides of what it has once are 0 */
    return copy(file, &view, &source);
}

bool operands_file_fill(struct tensor_set *set, const struct problem_case *c,
                        struct message message)
{
    char path[CASES_PATH];
    struct operands_file file;
    const bool ok = open_input(&c->input, path, &file, message) &&
                    (c->input.mask_file ? read_mask : read_operands)(&file, set, &c->problem);
    safetensors_close(file.file);
    return ok;
}
