/*
 * operands_complete: derives the problem from the tensors of a file.
 *
 * The tensors present give options and sizes; a text gives the rest: the positional mask, the scale, and
 * the numbers of heads where q, k and v have three dimensions.
 *
 *     q k v            their sizes; of three dimensions (B, S, H * D), packed (H, rows, D).  Of one
 *                      type, which is the problem's unless the text names another one; k and v of i8,
 *                      f8e4m3 or f8e5m2 are a quantised cache with k_scale and v_scale; where the text
 *                      says kv_dtype=i4, k and v are u8 of ceil(D/2), and D is that of q
 *     k_zero v_zero    kv_zeros=1
 *     mask             of bool or u8: mask=bool; of real numbers: mask=bias, as `bias` is
 *     bias             mask=bias
 *     parents          mask=tree
 *     sinks slopes     sinks=1, alibi=1
 *     kv_lens          ragged=1
 *     cu_seqlens       packed=1, sq the longest sequence; likewise cu_seqlens_kv and skv
 *     indices          keys=index:COUNT; lists of several queries each: by the text
 *     block_table      page=N, and skv as many keys as it has room for
 *
 * packed and paged sizes may be larger in the text: sq and skv are bounds there.
 */
#ifndef HARNESS_PROBLEM_OPERANDS_COMPLETE_H
#define HARNESS_PROBLEM_OPERANDS_COMPLETE_H

#include "operands_file.h"

/* Completes the problem of a text, which is valid, or NULL and the problem a plain one.  False fills
 * message: a tensor that the text or another one needs is missing, or two do not go together. */
bool operands_complete(const struct operands_file *file, const char *text,
                       struct attn_problem *problem, char *message, size_t message_size);

#endif
