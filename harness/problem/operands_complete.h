/*
 * operands_complete: derives the problem from the tensors of a file.
 *
 * The tensors determine options and sizes; a text gives the rest: the positional mask, the scale, and the
 * numbers of heads if q, k and v have three dimensions.
 *
 *     q k v            sizes; with three dimensions (B, S, H * D), packed (H, rows, D).  One type, which
 *                      is the problem's unless the text names another; k and v in i8, f8e4m3 or f8e5m2
 *                      are a quantised cache with k_scale and v_scale; if the text has kv_dtype=i4, they
 *                      are u8 of ceil(D/2) columns, with q's D
 *     k_zero v_zero    kv_zeros=1
 *     mask             bool or u8: mask=bool; real numbers: mask=bias, like `bias`
 *     bias             mask=bias
 *     parents          mask=tree
 *     sinks slopes     sinks=1, alibi=1
 *     kv_lens          ragged=1
 *     cu_seqlens       packed=1, sq the longest sequence; likewise cu_seqlens_kv and skv
 *     indices          keys=index:COUNT; queries per list: by the text
 *     block_table      page=N, and skv the keys that it has room for
 *
 * sq and skv of packed and paged problems are bounds, which may be larger in the text.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_COMPLETE_H
#define HARNESS_PROBLEM_OPERANDS_COMPLETE_H

#include "operands_file.h"

/* Completes the problem of a valid text; NULL: attention without mask and options.  False fills message: a
 * tensor that the text or another tensor requires is missing, or two are incompatible. */
bool operands_complete(const struct operands_file *file, const char *text,
                       struct attn_problem *problem, char *message, size_t message_size);

#endif
