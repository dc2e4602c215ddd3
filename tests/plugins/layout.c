/*
 * layout: the same list compiled with the first header, FIRST, and with today's.
 */
#include "layout.h"

#if defined FIRST
#include "attention_1.h"
#define LAYOUT layout_first
#define LAYOUT_COUNT layout_first_count
#else
#include "attention.h"
#define LAYOUT layout_now
#define LAYOUT_COUNT layout_now_count
#endif

#define FIELD(type, field)                             \
    {                                                  \
#type "." #field, offsetof(struct type, field) \
    }
/* Room for later fields: they take its beginning, and what follows it stays. */
#define ROOM(type, field)                                                                   \
    {                                                                                       \
#type "." #field, offsetof(struct type, field) + sizeof((struct type *)NULL)->field \
    }
#define NUMBER(name) \
    {                \
#name, name  \
    }

const struct layout LAYOUT[] = {
    /* clang-format off */
    FIELD(attn_problem, size),
    FIELD(attn_problem, batch),
    FIELD(attn_problem, q_heads),
    FIELD(attn_problem, kv_heads),
    FIELD(attn_problem, q_len),
    FIELD(attn_problem, kv_len),
    FIELD(attn_problem, qk_dim),
    FIELD(attn_problem, v_dim),
    FIELD(attn_problem, dtype),
    FIELD(attn_problem, kv_dtype),
    FIELD(attn_problem, layout),
    FIELD(attn_problem, pass),
    FIELD(attn_problem, outputs),
    FIELD(attn_problem, mask),
    FIELD(attn_problem, options),
    FIELD(attn_problem, scale),
    FIELD(attn_problem, softcap),
    FIELD(attn_problem, window_left),
    FIELD(attn_problem, window_right),
    FIELD(attn_problem, page_size),
    FIELD(attn_tensor, data),
    FIELD(attn_tensor, dtype),
    FIELD(attn_tensor, stride),
    FIELD(attn_tensors, size),
    FIELD(attn_tensors, q),
    FIELD(attn_tensors, k),
    FIELD(attn_tensors, v),
    FIELD(attn_tensors, o),
    FIELD(attn_tensors, lse),
    FIELD(attn_tensors, weights),
    FIELD(attn_tensors, bias),
    FIELD(attn_tensors, mask),
    FIELD(attn_tensors, sinks),
    FIELD(attn_tensors, slopes),
    FIELD(attn_tensors, kv_lens),
    FIELD(attn_tensors, cu_seqlens),
    FIELD(attn_tensors, cu_seqlens_kv),
    FIELD(attn_tensors, block_table),
    FIELD(attn_tensors, k_scale),
    FIELD(attn_tensors, v_scale),
    FIELD(attn_tensors, dO),
    FIELD(attn_tensors, dQ),
    FIELD(attn_tensors, dK),
    FIELD(attn_tensors, dV),
    FIELD(attn_caps, size),
    FIELD(attn_caps, dtypes),
    FIELD(attn_caps, kv_dtypes),
    FIELD(attn_caps, masks),
    FIELD(attn_caps, options),
    FIELD(attn_caps, outputs),
    FIELD(attn_caps, forward),
    FIELD(attn_caps, backward),
    FIELD(attn_caps, parallel),
    FIELD(attn_caps, varies),
    FIELD(attn_caps, max_dim),
    FIELD(attn_caps, compute),
    FIELD(attn_caps, bound_factor),
    FIELD(attn_caps, bound_reason),
    FIELD(attn_kernel, size),
    FIELD(attn_kernel, name),
    FIELD(attn_kernel, summary),
    FIELD(attn_kernel, source),
    FIELD(attn_kernel, isa),
    FIELD(attn_kernel, supports),
    FIELD(attn_kernel, workspace_size),
    FIELD(attn_kernel, prepare),
    FIELD(attn_kernel, execute),
    FIELD(attn_kernel, destroy),
    ROOM(attn_kernel, reserved),
    FIELD(attn_kernel, caps),
    FIELD(attn_plan, size),
    FIELD(attn_plan, kernel),
    FIELD(attn_plan, threads),
    FIELD(attn_plan, workspace),
    FIELD(attn_plan, workspace_bytes),
    FIELD(attn_plan, state),
    ROOM(attn_plan, reserved),
    FIELD(attn_plan, problem),
    FIELD(attn_range, lo),
    FIELD(attn_range, hi),
    NUMBER(ATTN_F32),
    NUMBER(ATTN_BF16),
    NUMBER(ATTN_F16),
    NUMBER(ATTN_F64),
    NUMBER(ATTN_I8),
    NUMBER(ATTN_I32),
    NUMBER(ATTN_BOOL),
    NUMBER(ATTN_ISA_BASELINE),
    NUMBER(ATTN_ISA_AVX2),
    NUMBER(ATTN_ISA_AVX512),
    NUMBER(ATTN_ISA_AVX512_BF16),
    NUMBER(ATTN_ISA_AMX),
    NUMBER(ATTN_ISA_NEON),
    NUMBER(ATTN_ISA_SVE),
    NUMBER(ATTN_MASK_NONE),
    NUMBER(ATTN_MASK_CAUSAL),
    NUMBER(ATTN_MASK_CAUSAL_TOP_LEFT),
    NUMBER(ATTN_MASK_BIAS),
    NUMBER(ATTN_MASK_BOOL),
    NUMBER(ATTN_OPTION_WINDOW),
    NUMBER(ATTN_OPTION_SOFTCAP),
    NUMBER(ATTN_OPTION_SINKS),
    NUMBER(ATTN_OPTION_ALIBI),
    NUMBER(ATTN_OPTION_RAGGED),
    NUMBER(ATTN_OPTION_PAGED),
    NUMBER(ATTN_OUTPUT_O),
    NUMBER(ATTN_OUTPUT_LSE),
    NUMBER(ATTN_OUTPUT_WEIGHTS),
    NUMBER(ATTN_OUTPUT_DQ),
    NUMBER(ATTN_OUTPUT_DK),
    NUMBER(ATTN_OUTPUT_DV),
    NUMBER(ATTN_FORWARD),
    NUMBER(ATTN_BACKWARD),
    NUMBER(ATTN_BHSD),
    NUMBER(ATTN_BSHD),
    NUMBER(ATTN_WORKSPACE_ALIGN),
    /* clang-format on */
};

const size_t LAYOUT_COUNT = sizeof LAYOUT / sizeof *LAYOUT;
