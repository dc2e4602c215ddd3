/*
 * attention.h: scaled dot-product attention on CPUs, several kernels behind one interface.
 *
 *     O = softmax(scale * Q K^T + mask) V
 *
 * Life of a call:
 *
 *     struct attn_problem problem;
 *     attn_problem_init(&problem);                 // one head of one query and one key, f32
 *     problem.q_len = problem.kv_len = 1024;       // ... and whatever else differs
 *     const struct attn_kernel *kernel = attn_kernel_best(&problem, threads);
 *     if (!kernel)
 *         ...                                      // none computes this on this host
 *     size_t bytes = attn_workspace_size(kernel, &problem, threads);
 *     void *workspace = aligned_alloc(ATTN_WORKSPACE_ALIGN, bytes);
 *     struct attn_plan plan;
 *     const char *why;
 *     if (!attn_plan_init(&plan, kernel, &problem, threads, workspace, bytes, &why))
 *         ...                                      // `why` is a static string
 *     attn_execute(&plan, &tensors);               // as often as wanted; cannot fail
 *     attn_plan_destroy(&plan);
 *
 * Units: lengths and strides in elements, sizes in bytes.  Semantics follow ONNX Attention
 * (opset 24) and FlashAttention 2.1: a causal mask is aligned to the last key, a row that sees
 * no key gives O = 0 and LSE = -inf, a masked key never touches the result whatever its bits.
 *
 * Every public struct that a caller or a kernel passes by pointer begins with its own `size`, so
 * that a kernel from a shared object and its caller can tell which fields the other one knows.
 * Fields are only ever appended; a struct inside another stands last there, so that it can grow,
 * behind room for what the outer one may need.  docs of each option: attnbench list, docs/problems.md.
 *
 * Kernels need nothing but this header: what they call of it is inline.
 */
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ATTN_WORKSPACE_ALIGN 64 /* bytes: one cache line, one 512-bit vector */

/* Element types.  Scores, softmax and sums are f32 at least, whatever the storage. */
enum attn_dtype {
    ATTN_F32,
    ATTN_BF16,
    ATTN_F16,
    ATTN_F64,  /* results of the reference */
    ATTN_I8,   /* quantised KV cache, with k_scale and v_scale */
    ATTN_I32,  /* lengths and tables: kv_lens, cu_seqlens, block_table */
    ATTN_BOOL, /* one byte, 0 or 1: mask operands */
    ATTN_DTYPE_COUNT
};

/* Instruction sets, weakest first within an architecture; see isa.h for what each one needs. */
enum attn_isa {
    ATTN_ISA_BASELINE,    /* whatever the compiler targets without flags */
    ATTN_ISA_AVX2,        /* x86-64-v3 */
    ATTN_ISA_AVX512,      /* x86-64-v4 */
    ATTN_ISA_AVX512_BF16, /* x86-64-v4 and AVX512_BF16 */
    ATTN_ISA_AMX,
    ATTN_ISA_NEON,
    ATTN_ISA_SVE,
    ATTN_ISA_COUNT
};

/* Masks, a set of bits: CAUSAL and CAUSAL_TOP_LEFT exclude each other, the others combine. */
enum attn_mask {
    ATTN_MASK_NONE = 0,
    ATTN_MASK_CAUSAL = 1 << 0,          /* query i sees keys j <= i + kv_len - q_len */
    ATTN_MASK_CAUSAL_TOP_LEFT = 1 << 1, /* query i sees keys j <= i (PyTorch's is_causal) */
    ATTN_MASK_BIAS = 1 << 2,            /* tensors.bias is added to the scaled scores */
    ATTN_MASK_BOOL = 1 << 3             /* tensors.mask: 1 = attend, 0 = masked */
};

/* Options, a set of bits; the field named on the right holds the value. */
enum attn_option {
    ATTN_OPTION_WINDOW = 1 << 0,  /* window_left, window_right */
    ATTN_OPTION_SOFTCAP = 1 << 1, /* softcap */
    ATTN_OPTION_SINKS = 1 << 2,   /* tensors.sinks: one extra logit per query head */
    ATTN_OPTION_ALIBI = 1 << 3,   /* tensors.slopes: one slope per query head */
    ATTN_OPTION_RAGGED = 1 << 4,  /* tensors.kv_lens or cu_seqlens: lengths per sequence */
    ATTN_OPTION_PAGED = 1 << 5    /* page_size, tensors.block_table: K and V in pages */
};

/* Wanted results, a set of bits. */
enum attn_output {
    ATTN_OUTPUT_O = 1 << 0,
    ATTN_OUTPUT_LSE = 1 << 1,     /* natural logarithm of the row's sum of exponentials */
    ATTN_OUTPUT_WEIGHTS = 1 << 2, /* softmax rows, (B, Hq, Sq, Skv) */
    ATTN_OUTPUT_DQ = 1 << 3,      /* of a backward pass */
    ATTN_OUTPUT_DK = 1 << 4,
    ATTN_OUTPUT_DV = 1 << 5
};

enum attn_pass {
    ATTN_FORWARD,
    ATTN_BACKWARD /* reads q k v o lse dO, writes dQ dK dV */
};

/* Order of the dimensions in memory that the caller will use: a hint to plans, and what the
 * harness generates.  Kernels follow the strides alone. */
enum attn_layout { ATTN_BHSD, ATTN_BSHD };

/* What to compute. */
struct attn_problem {
    size_t size; /* sizeof(struct attn_problem) of whoever filled it in */

    size_t batch;    /* B */
    size_t q_heads;  /* Hq, a multiple of kv_heads */
    size_t kv_heads; /* Hkv */
    size_t q_len;    /* Sq */
    size_t kv_len;   /* Skv */
    size_t qk_dim;   /* D */
    size_t v_dim;    /* Dv */

    enum attn_dtype dtype;    /* of Q and O */
    enum attn_dtype kv_dtype; /* of K and V: dtype, or ATTN_I8 */
    enum attn_layout layout;
    enum attn_pass pass;
    unsigned outputs; /* enum attn_output */
    unsigned mask;    /* enum attn_mask */
    unsigned options; /* enum attn_option */

    float scale;            /* of the scores; attn_problem_scale() resolves 0 to 1/sqrt(D) */
    float softcap;          /* c * tanh(x / c) on scaled scores, before the mask */
    ptrdiff_t window_left;  /* keys before the aligned position; -1 = no limit */
    ptrdiff_t window_right; /* keys after it; -1 = no limit */
    size_t page_size;       /* keys a page */
};

/* One operand.  `stride` counts elements in the order of the logical dimensions named below; the
 * last dimension is dense (stride 1), so stride[3] belongs to tensors whose last dimension has it. */
struct attn_tensor {
    void *data;
    enum attn_dtype dtype;
    ptrdiff_t stride[4];
};

/* Every operand and result of a call; .data is NULL where absent. */
struct attn_tensors {
    size_t size;
    struct attn_tensor q;             /* (B, Hq, Sq, D) */
    struct attn_tensor k;             /* (B, Hkv, Skv, D);  paged: (pages, Hkv, page_size, D) */
    struct attn_tensor v;             /* (B, Hkv, Skv, Dv); paged: (pages, Hkv, page_size, Dv) */
    struct attn_tensor o;             /* (B, Hq, Sq, Dv) */
    struct attn_tensor lse;           /* (B, Hq, Sq) f32 */
    struct attn_tensor weights;       /* (B, Hq, Sq, Skv) f32 */
    struct attn_tensor bias;          /* broadcast to (B, Hq, Sq, Skv) by strides of 0 */
    struct attn_tensor mask;          /* likewise, ATTN_BOOL */
    struct attn_tensor sinks;         /* (Hq) f32 */
    struct attn_tensor slopes;        /* (Hq) f32 */
    struct attn_tensor kv_lens;       /* (B) i32 */
    struct attn_tensor cu_seqlens;    /* (B + 1) i32: queries of sequence b are rows [b], [b + 1) */
    struct attn_tensor cu_seqlens_kv; /* (B + 1) i32: likewise keys, where they are packed too */
    struct attn_tensor block_table;   /* (B, pages per sequence) i32 */
    struct attn_tensor k_scale;       /* (B, Hkv, Skv) f32 by strides of 0 where shared */
    struct attn_tensor v_scale;
    struct attn_tensor dO, dQ, dK, dV; /* backward: shaped like o, q, k, v */
};

/* What a kernel can do: data, checked by attn_supports().  Sets are bits, as above; dtypes and
 * kv_dtypes are sets of (1u << enum attn_dtype). */
struct attn_caps {
    size_t size;
    unsigned dtypes;
    unsigned kv_dtypes; /* beyond dtype itself, e.g. 1u << ATTN_I8 */
    unsigned masks;
    unsigned options;
    unsigned outputs;
    bool forward, backward;
    bool parallel;            /* false: runs on one thread whatever the plan says */
    bool varies;              /* results may differ between thread counts or repeats */
    size_t max_dim;           /* largest D and Dv; 0 = any */
    enum attn_dtype compute;  /* what its multiply-adds take: ATTN_F32, or ATTN_BF16 (P rounded) */
    double bound_factor;      /* allowed multiple of the error bound; 0 = 1 */
    const char *bound_reason; /* why, where bound_factor is not 0 */
};

struct attn_plan;

/* An attention algorithm built for one instruction set. */
struct attn_kernel {
    size_t size;         /* sizeof(struct attn_kernel) of whoever compiled it */
    const char *name;    /* lower case; unique together with isa */
    const char *summary; /* one line, for `attnbench list` */
    const char *source;  /* the paper or program the algorithm comes from */
    enum attn_isa isa;

    /* Optional: what caps cannot say.  False sets *why to a static string. */
    bool (*supports)(const struct attn_problem *problem, const char **why);
    /* Optional: scratch in bytes.  The sum of its parts must not overflow for a problem that
     * attn_problem_valid() accepts. */
    size_t (*workspace_size)(const struct attn_problem *problem, int threads);
    /* Optional: one-off work of a plan, timed apart from execute. */
    void (*prepare)(struct attn_plan *plan);
    /* The timed call.  Allocates nothing, fails never, leaves its operands as they were. */
    void (*execute)(const struct attn_plan *plan, const struct attn_tensors *tensors);
    /* Optional: undoes prepare. */
    void (*destroy)(struct attn_plan *plan);
    void (*reserved[4])(void); /* NULL */

    struct attn_caps caps;
};

/* A kernel bound to a problem, a thread count and its workspace. */
struct attn_plan {
    size_t size;
    const struct attn_kernel *kernel;
    int threads;     /* >= 1; 1 for a serial kernel */
    void *workspace; /* lent by the caller, ATTN_WORKSPACE_ALIGN aligned */
    size_t workspace_bytes;
    void *state;       /* the kernel's own, set by prepare */
    void *reserved[4]; /* NULL */

    struct attn_problem problem; /* a copy */
};

/* ---- problems ------------------------------------------------------------------------------ */

/* One sequence, head, query, key and dimension in f32; wants O; everything else off. */
void attn_problem_init(struct attn_problem *problem);

/* Whether the problem makes sense and its sizes fit in memory arithmetic; false sets *why. */
bool attn_problem_valid(const struct attn_problem *problem, const char **why);

/* The scale that scores are multiplied by: problem->scale, or 1/sqrt(D) where that is 0. */
static inline float attn_problem_scale(const struct attn_problem *problem)
{
    return problem->scale != 0 ? problem->scale
                               : (float)(1 / __builtin_sqrt((double)problem->qk_dim));
}

/* Keys [lo, hi) that positional masks (causal, window) leave to query i; lo = hi where none. */
struct attn_range {
    ptrdiff_t lo, hi;
};

/* The mask rule, for a sequence of q_len queries and kv_len keys. */
static inline struct attn_range attn_visible_in(const struct attn_problem *problem, ptrdiff_t i,
                                                ptrdiff_t q_len, ptrdiff_t kv_len)
{
    struct attn_range r = {0, kv_len};
    const ptrdiff_t at = problem->mask & ATTN_MASK_CAUSAL_TOP_LEFT ? i : i + kv_len - q_len;
    if (problem->mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT))
        r.hi = at + 1 < r.hi ? at + 1 : r.hi;
    if (problem->options & ATTN_OPTION_WINDOW) {
        if (problem->window_right >= 0 && at + problem->window_right + 1 < r.hi)
            r.hi = at + problem->window_right + 1;
        if (problem->window_left >= 0 && at - problem->window_left > r.lo)
            r.lo = at - problem->window_left;
    }
    if (r.hi <= r.lo)
        r.lo = r.hi = 0;
    return r;
}

/* The same where every sequence has the problem's own lengths. */
static inline struct attn_range attn_visible(const struct attn_problem *problem, ptrdiff_t i)
{
    return attn_visible_in(problem, i, (ptrdiff_t)problem->q_len, (ptrdiff_t)problem->kv_len);
}

/* KV head that serves query head h. */
static inline size_t attn_kv_head(const struct attn_problem *problem, size_t h)
{
    assert(problem->kv_heads > 0 && problem->q_heads >= problem->kv_heads);
    return h / (problem->q_heads / problem->kv_heads);
}

/* (query, key) pairs that positional masks leave, over batch and query heads. */
double attn_visible_pairs(const struct attn_problem *problem);

/* Useful work of a forward pass: 2 * visible pairs * (D + Dv).  Recomputation earns nothing. */
double attn_useful_flops(const struct attn_problem *problem);

/* Bytes that any implementation must move: Q and the results once, each visible key's K and V
 * once per KV head. */
double attn_compulsory_bytes(const struct attn_problem *problem);

/* ---- elements ------------------------------------------------------------------------------ */

/* Size of one element in bytes. */
static inline size_t attn_dtype_size(enum attn_dtype dtype)
{
    /* f32, bf16, f16, f64, i8, i32, bool */
    static const unsigned char bytes[ATTN_DTYPE_COUNT] = {4, 2, 2, 8, 1, 4, 1};
    return bytes[dtype];
}

/* "f32", "bf16", ...; parse returns false for an unknown name. */
const char *attn_dtype_name(enum attn_dtype dtype);
bool attn_dtype_parse(const char *name, enum attn_dtype *dtype);

/* Row (b, h, i) of a tensor: address of its first element. */
static inline void *attn_row(const struct attn_tensor *t, size_t b, size_t h, size_t i)
{
    const ptrdiff_t at =
        (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)h * t->stride[1] + (ptrdiff_t)i * t->stride[2];
    return (char *)t->data + at * (ptrdiff_t)attn_dtype_size(t->dtype);
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* "avx2", ...; parse returns false for an unknown name. */
const char *attn_isa_name(enum attn_isa isa);
bool attn_isa_parse(const char *name, enum attn_isa *isa);

/* Whether this host can run it. */
bool attn_isa_available(enum attn_isa isa);

/* Every variant built into the library, in the order of kernels/CMakeLists.txt, weakest ISA
 * first; also those that this host cannot run. */
const struct attn_kernel *const *attn_kernels(size_t *count);

/* A variant by name and ISA; NULL where there is none. */
const struct attn_kernel *attn_find(const char *name, enum attn_isa isa);

/* The variant to use on this host, from the problem alone; NULL where none supports it. */
const struct attn_kernel *attn_kernel_best(const struct attn_problem *problem, int threads);

/* Whether the kernel, not NULL, computes this problem (host ISA aside); false sets *why to a static
 * string. */
bool attn_supports(const struct attn_kernel *kernel, const struct attn_problem *problem,
                   const char **why);

/* A shared object with kernels exports one function of this name and type: its variants, as
 * attn_kernels() gives those of the library. */
#define ATTN_PLUGIN_ENTRY "attn_plugin"
typedef const struct attn_kernel *const *attn_plugin_entry(size_t *count);

/* ---- plans --------------------------------------------------------------------------------- */

/* Scratch that a plan of the kernel, not NULL, needs, bytes; 0 where none. */
size_t attn_workspace_size(const struct attn_kernel *kernel, const struct attn_problem *problem,
                           int threads);

/* Binds and prepares.  The kernel is not NULL, the workspace may be where no bytes are needed.  False
 * sets *why and leaves nothing to destroy: the kernel refuses the problem, this host lacks its ISA,
 * or the workspace is too small or misaligned. */
bool attn_plan_init(struct attn_plan *plan, const struct attn_kernel *kernel,
                    const struct attn_problem *problem, int threads, void *workspace,
                    size_t workspace_bytes, const char **why);
void attn_execute(const struct attn_plan *plan, const struct attn_tensors *tensors);
void attn_plan_destroy(struct attn_plan *plan);

#ifdef __cplusplus
}
#endif
