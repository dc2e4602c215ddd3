/*
 * operands: the table.
 */
#include "operands.h"

#include "tensors.h"

static bool always(const struct attn_problem *p)
{
    (void)p;
    return true;
}

static bool has_own_v(const struct attn_problem *p)
{
    return !(p->options & ATTN_OPTION_SHARED_KV);
}

static bool is_scaled(const struct attn_problem *p)
{
    return attn_dtype_scaled(p->kv_dtype);
}

#define NAMED(member) .name = #member, .offset = offsetof(struct attn_tensors, member)
#define SIZED(member) .dims = offsetof(struct tensors_shape, member)
#define BY_PROBLEM ATTN_DTYPE_COUNT
#define SCALED "kv_dtype=i8, f8e4m3, f8e5m2 or i4"
#define WITH_ZEROS "kv_dtype=i4,kv_zeros=1"

/* clang-format off */
const struct operand operand_table[OPERANDS] = {
    [OPERAND_Q] = {NAMED(q), .kind = OPERAND_ROWS, .dtype = BY_PROBLEM, .belongs = always},
    [OPERAND_K] = {NAMED(k), .kind = OPERAND_ROWS, .dtype = BY_PROBLEM, .belongs = always},
    [OPERAND_V] = {NAMED(v), .kind = OPERAND_ROWS, .dtype = BY_PROBLEM, .belongs = has_own_v},
    [OPERAND_BIAS] = {NAMED(bias), .kind = OPERAND_BROADCAST, .dtype = BY_PROBLEM, SIZED(bias),
                      .masks = ATTN_MASK_BIAS, .asked = "mask=bias"},
    [OPERAND_MASK] = {NAMED(mask), .kind = OPERAND_BROADCAST, .dtype = ATTN_BOOL, SIZED(mask),
                      .masks = ATTN_MASK_BOOL, .asked = "mask=bool"},
    [OPERAND_PARENTS] = {NAMED(parents), .kind = OPERAND_DRAFTS, .dtype = ATTN_I32,
                         .masks = ATTN_MASK_TREE, .asked = "mask=tree"},
    [OPERAND_SINKS] = {NAMED(sinks), .kind = OPERAND_HEADS, .dtype = ATTN_F32,
                       .options = ATTN_OPTION_SINKS, .asked = "sinks=1"},
    [OPERAND_SLOPES] = {NAMED(slopes), .kind = OPERAND_HEADS, .dtype = ATTN_F32,
                        .options = ATTN_OPTION_ALIBI, .asked = "alibi=1"},
    [OPERAND_KV_LENS] = {NAMED(kv_lens), .kind = OPERAND_LENGTHS, .dtype = ATTN_I32,
                         .options = ATTN_OPTION_RAGGED, .asked = "ragged=1"},
    [OPERAND_CU_SEQLENS] = {NAMED(cu_seqlens), .kind = OPERAND_OFFSETS, .dtype = ATTN_I32,
                            .options = ATTN_OPTION_PACKED, .asked = "packed=1"},
    [OPERAND_CU_SEQLENS_KV] = {NAMED(cu_seqlens_kv), .kind = OPERAND_OFFSETS, .dtype = ATTN_I32,
                               .belongs = attn_keys_packed, .asked = "packed=1"},
    [OPERAND_BLOCK_TABLE] = {NAMED(block_table), .kind = OPERAND_PAGES, .dtype = ATTN_I32,
                             .options = ATTN_OPTION_PAGED, .asked = "page=N"},
    [OPERAND_INDICES] = {NAMED(indices), .kind = OPERAND_LISTS, .dtype = ATTN_I32,
                         .options = ATTN_OPTION_INDEX, .asked = "keys=index:COUNT"},
    [OPERAND_K_SCALE] = {NAMED(k_scale), .kind = OPERAND_SCALES, .dtype = ATTN_F32, SIZED(k_scale),
                         .belongs = is_scaled, .asked = SCALED},
    [OPERAND_V_SCALE] = {NAMED(v_scale), .kind = OPERAND_SCALES, .dtype = ATTN_F32, SIZED(v_scale),
                         .belongs = is_scaled, .asked = SCALED},
    [OPERAND_K_ZERO] = {NAMED(k_zero), .kind = OPERAND_SCALES, .dtype = ATTN_F32, SIZED(k_scale),
                        .options = ATTN_OPTION_ZERO_POINTS, .asked = WITH_ZEROS},
    [OPERAND_V_ZERO] = {NAMED(v_zero), .kind = OPERAND_SCALES, .dtype = ATTN_F32, SIZED(v_scale),
                        .options = ATTN_OPTION_ZERO_POINTS, .asked = WITH_ZEROS},
};
/* clang-format on */

bool operands_has(const struct attn_problem *p, enum operand_id id)
{
    const struct operand *o = &operand_table[id];
    return p->mask & o->masks || p->options & o->options || (o->belongs && o->belongs(p));
}
