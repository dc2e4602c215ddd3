/*
 * operands_file: reads operands, which operands_locate.c finds.
 */
#include "operands_file.h"

#include <string.h>

#include "base/refuse.h"
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
                         struct tensors_shape *shape, char *message, size_t message_size)
{
    *shape = (struct tensors_shape){.bias_dtype = attn_statistics_dtype(p)};
    for (enum operand_id id = 0; id < OPERANDS; id++) {
        struct operands_source source;
        if (!operands_has(p, id))
            continue;
        if (!operands_locate(file, p, id, shape, &source, message, message_size))
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
static bool none_is_misnamed(const struct operands_file *file, char *message, size_t message_size)
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

/* False fills message: the problem does not use an operand of the file, such as a mask, which is meant to be
 * applied. */
static bool all_are_used(const struct operands_file *file, const struct attn_problem *p,
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

/* ---- elements ------------------------------------------------------------------------------ */

/* Why a number cannot be an element of the type; NULL if it can. */
static const char *wrong_for(enum attn_dtype dtype, double x)
{
    if (dtype == ATTN_I32 && !(x >= INT32_MIN && x <= INT32_MAX))
        return "which no i32 holds";
    return dtype == ATTN_BOOL && x != 0 && x != 1 ? "neither 0 nor 1" : NULL;
}

static bool copy_row(const struct operands_file *file, const struct tensors_view *view,
                     const struct operands_source *from, size_t b, size_t h, size_t i,
                     char *message, size_t message_size)
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
            return refuse(message, message_size, "%s: %s element %zu is %.0f, %s", file->path,
                          from->tensor->name, at, x, wrong);
        if (view->dtype == ATTN_I32)
            ((int32_t *)attn_row(view->t, b, h, i))[view->dense == 3 ? d : 0] = (int32_t)x;
        else
            tensors_set(view->t, b, h, i, d, x);
    }
    return true;
}

static bool copy(const struct operands_file *file, const struct tensors_view *view,
                 const struct operands_source *from, char *message, size_t message_size)
{
    for (size_t b = 0; b < from->dims[0]; b++)
        for (size_t h = 0; h < from->dims[1]; h++)
            for (size_t i = 0; i < from->dims[2]; i++)
                if (!copy_row(file, view, from, b, h, i, message, message_size))
                    return false;
    return true;
}

/* Whether the operands read are valid; of the results only types and strides matter. */
static bool are_valid(const struct operands_file *file, const struct tensor_set *set,
                      const struct attn_problem *p, char *message, size_t message_size)
{
    char what[256];
    struct attn_tensors all = set->tensors;
    struct tensors_view results[TENSORS_RESULTS];
    const size_t count = tensors_results(&all, p, &set->shape, results);
    for (size_t n = 0; n < count; n++)
        if (!results[n].t->data)
            tensors_point(&results[n], set->tensors.q.data, 0);
    if (attn_tensors_valid(p, &all, what, sizeof what))
        return true;
    return refuse(message, message_size, "%s: %s%s", file->path, file->prefix, what);
}

/* Reads into a set that was allocated for the file's shape; does not seal it. */
static bool read_operands(const struct operands_file *file, struct tensor_set *set,
                          const struct attn_problem *p, char *message, size_t message_size)
{
    struct tensors_view views[TENSORS_OPERANDS];
    const size_t count = tensors_operands(&set->tensors, p, &set->shape, views);
    if (!all_are_used(file, p, message, message_size) ||
        !none_is_misnamed(file, message, message_size))
        return false;
    for (size_t n = 0; n < count; n++) {
        struct operands_source source;
        if (!operands_locate(file, p, views[n].id, &set->shape, &source, message, message_size) ||
            !copy(file, &views[n], &source, message, message_size))
            return false;
    }
    return are_valid(file, set, p, message, message_size);
}

bool operands_file_load(const struct operands_file *file, struct tensor_set *set,
                        const struct attn_problem *p, const struct tensors_layout *layout,
                        char *message, size_t message_size)
{
    struct tensors_shape shape;
    *set = (struct tensor_set){0};
    if (!operands_file_shape(file, p, &shape, message, message_size) ||
        !tensors_alloc_shape(set, p, &shape, layout, message, message_size))
        return false;
    const bool read = read_operands(file, set, p, message, message_size);
    if (!read)
        tensors_free(set);
    return read;
}

/* ---- cases --------------------------------------------------------------------------------- */

static struct safetensors *open_input(const struct input *input, char path[CASES_PATH],
                                      char *message, size_t message_size)
{
    return cases_find_file(input->path, path, message, message_size)
               ? safetensors_open(path, message, message_size)
               : NULL;
}

bool operands_file_opens(const struct input *input, char *message, size_t message_size)
{
    char path[CASES_PATH];
    if (!*input->path)
        return true;
    struct safetensors *opened = open_input(input, path, message, message_size);
    safetensors_close(opened);
    return opened;
}

bool operands_file_shape_of(const struct problem_case *c, struct tensors_shape *shape,
                            char *message, size_t message_size)
{
    char path[CASES_PATH];
    struct safetensors *opened = open_input(&c->input, path, message, message_size);
    const struct operands_file file = {opened, path, c->input.prefix};
    const bool ok = opened && operands_file_shape(&file, &c->problem, shape, message, message_size);
    safetensors_close(opened);
    return ok;
}

bool operands_file_fill(struct tensor_set *set, const struct problem_case *c, char *message,
                        size_t message_size)
{
    char path[CASES_PATH];
    struct safetensors *opened = open_input(&c->input, path, message, message_size);
    const struct operands_file file = {opened, path, c->input.prefix};
    const bool ok = opened && read_operands(&file, set, &c->problem, message, message_size);
    safetensors_close(opened);
    return ok;
}

/* Copies a mask to one that may be larger in the first two dimensions. */
static bool copy_mask(const struct operands_file *file, struct tensor_set *set,
                      const struct operands_source *from, char *message, size_t message_size)
{
    const size_t *dims = set->shape.mask;
    if (from->dims[0] > dims[0] || from->dims[1] > dims[1])
        return refuse(message, message_size,
                      "%s: mask differs between heads or sequences: "
                      "mask:file:PATH:full",
                      file->path);
    for (size_t b = 0; b < dims[0]; b++)
        for (size_t h = 0; h < dims[1]; h++)
            for (size_t i = 0; i < dims[2]; i++)
                for (size_t j = 0; j < dims[3]; j++) {
                    const size_t index[4] = {b, h, i, j};
                    size_t at = 0;
                    for (int d = 0; d < 4; d++)
                        at += from->dims[d] > 1 ? index[d] * from->stride[d] : 0;
                    tensors_set(&set->tensors.mask, b, h, i, j,
                                safetensors_get(from->tensor, at) != 0);
                }
    return true;
}

bool operands_file_mask(struct tensor_set *set, const struct problem_case *c, char *message,
                        size_t message_size)
{
    char path[CASES_PATH];
    struct operands_source source;
    struct safetensors *opened = open_input(&c->input, path, message, message_size);
    const struct operands_file file = {opened, path, ""};
    const bool ok = opened &&
                    operands_locate(&file, &c->problem, OPERAND_MASK, &set->shape, &source, message,
                                    message_size) &&
                    copy_mask(&file, set, &source, message, message_size);
    safetensors_close(opened);
    return ok;
}
