/*
 * products.h: part of kernel flash: the arithmetic of the variant.
 *
 * An object file has one arithmetic.  products_f32.h, products_bf16.h and matrices.h, with products_loops.h,
 * define the same names:
 *
 *   FLASH_DTYPES, FLASH_KV_DTYPES, FLASH_COMPUTE  what the descriptor says of it
 *   key_element      of K, as it is multiplied
 *   PAIR             elements that one instruction multiplies and adds to one sum: 1, 2 or 4
 *   FLASH_SPECULATES whether score_and_exp() pays
 *   packs            whether pack() may copy anything
 *   pack             sets the block's k and v, copied into block->packed where the others want that
 *   load_queries     fills t->q
 *   score_tile       scores of `rows` keys for `cols` vectors of queries
 *   exponentials     scores of some rows become weights, l grows by their sums
 *   score_and_exp    scores of a whole register tile and, between its multiply-adds, the weights of
 *                    the FLASH_ROWS rows before it, with their sums; in its place where VF_FACTOR_IN_LANE
 *   score_sums       sums of a register tile before they are stored, and
 *   store_weights_of weights of a whole register tile: stores them and adds them up
 *   value_tile       o += weights * V for `rows` value dimensions and `cols` vectors of queries
 *   first_value, value_column  where the values of row `from` begin; where its dimension d is
 *   values_finite    whether rows [from, to) of V hold neither infinity nor NaN
 *   value_at, weight_at  element d of row j of V; weights of row j in a column
 */
#pragma once

#include "shared/simd_bf16.h"

#if BF16_MATRICES
#include "matrices.h"
#elif BF16_PAIRS
#include "products_bf16.h"
#else
#include "products_f32.h"
#endif
#include "products_loops.h"
