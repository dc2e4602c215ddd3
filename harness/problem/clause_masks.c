/*
 * clause_masks: clauses of an input about masks, biases and scales.
 */
#include <stdio.h>
#include <string.h>

#include "clause.h"

#define USUAL_VISIBLE 0.5F /* of mask=bool without a clause */

/* PATH or PATH:full */
static bool read_mask_file(struct piece value, struct input *input, const char **why)
{
    bool full;
    char path[PARSE_MASK_PATH];
    const struct piece given = piece_split(&value, ":", &full);
    *why = "has no path of at most 100 bytes, or an ending other than full";
    if (!given.length || !piece_is_text(given) || !piece_copy(given, path, sizeof path) ||
        (full && !piece_is(value, "full")))
        return false;
    memcpy(input->path, path, sizeof path);
    input->mask_block = 1;
    input->mask_full = full;
    input->mask_file = true;
    return true;
}

/* elements:P, blocks:N:P or file:PATH, each possibly with :full */
static bool read_mask(struct piece value, struct input *input, const char **why)
{
    bool more;
    uint64_t block = 1;
    float visible;
    const struct piece unit = piece_split(&value, ":", &more);
    if (more && piece_is(unit, "file"))
        return read_mask_file(value, input, why);
    *why = "is none of elements:P, blocks:N:P and file:PATH";
    if (!more || !(piece_is(unit, "elements") || piece_is(unit, "blocks")))
        return false;
    if (piece_is(unit, "blocks") &&
        !scan_count(piece_split(&value, ":", &more), PTRDIFF_MAX, &block, why))
        return false;
    if (!scan_float(more ? piece_split(&value, ":", &more) : (struct piece){"", 0}, &visible, why))
        return false;
    *why = "has no blocks, a P outside 0..1, or an ending other than full";
    if (!block || !(visible >= 0 && visible <= 1) || (more && !piece_is(value, "full")))
        return false;
    const bool usual = block == 1 && visible == USUAL_VISIBLE && !more;
    input->mask_block = usual ? 0 : block;
    input->mask_visible = usual ? 0 : visible;
    input->mask_full = more;
    return true;
}

static bool print_mask(const struct input *input, char text[PARSE_TEXT])
{
    char visible[SCAN_FLOAT];
    scan_print_float(input->mask_visible, visible);
    int n = snprintf(text, PARSE_TEXT, "elements:%s", visible);
    if (input->mask_block > 1)
        n = snprintf(text, PARSE_TEXT, "blocks:%zu:%s", input->mask_block, visible);
    if (input->mask_file)
        n = snprintf(text, PARSE_TEXT, "file:%s", input->path);
    if (input->mask_full)
        snprintf(text + n, PARSE_TEXT - (size_t)n, ":full");
    return input->mask_block;
}

static const char *const biases[] = {
    [INPUT_BIAS_KEYS] = "keys", [INPUT_BIAS_FULL] = "full", [INPUT_BIAS_CAUSAL] = "causal"};

static bool read_bias(struct piece value, struct input *input, const char **why)
{
    *why = "is no such bias";
    for (int n = INPUT_BIAS_KEYS; n <= INPUT_BIAS_CAUSAL; n++)
        if (piece_is(value, biases[n])) {
            input->bias = (enum input_bias)n;
            return true;
        }
    return false;
}

static bool print_bias(const struct input *input, char text[PARSE_TEXT])
{
    if (input->bias != INPUT_BIAS_HEADS)
        snprintf(text, PARSE_TEXT, "%s", biases[input->bias]);
    return input->bias != INPUT_BIAS_HEADS;
}

static const char *const granularities[INPUT_SCALES_COUNT] = {[INPUT_SCALES_TOKEN] = "token",
                                                              [INPUT_SCALES_CHANNEL] = "channel",
                                                              [INPUT_SCALES_HEAD] = "head",
                                                              [INPUT_SCALES_TENSOR] = "tensor"};

static bool read_scales(struct piece value, struct input *input, const char **why)
{
    *why = "is no such granularity";
    for (int n = 0; n < INPUT_SCALES_COUNT; n++)
        if (piece_is(value, granularities[n])) {
            input->scales = (enum input_scales)n;
            return true;
        }
    return false;
}

static bool print_scales(const struct input *input, char text[PARSE_TEXT])
{
    snprintf(text, PARSE_TEXT, "%s", granularities[input->scales]);
    return input->scales != INPUT_SCALES_TOKEN;
}

static const char *scales_misfit(const struct input *input, const struct attn_problem *p)
{
    return p->kv_dtype == ATTN_I4 && input->scales == INPUT_SCALES_CHANNEL
               ? "is of channels, and kv_dtype=i4 has scales of groups"
               : NULL;
}

const struct clause clause_mask = {
    "mask",
    "mask:elements:P, mask:blocks:N:P or mask:file:PATH, with :full for each sequence and head",
    read_mask, print_mask, NULL};
const struct clause clause_bias = {"bias", "bias:keys, bias:full or bias:causal", read_bias,
                                   print_bias, NULL};
const struct clause clause_scales = {"scales", "scales:token, channel, head or tensor", read_scales,
                                     print_scales, scales_misfit};
