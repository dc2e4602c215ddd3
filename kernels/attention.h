/*
 * attention.h: scaled dot-product attention on CPUs, several kernels behind one interface.
 *
 *     O = softmax(scale * Q K^T + mask) V
 *
 * In full, the score of query i and key j, which stand p = j - attn_position(i) apart, is
 *
 *     softcap(scale * q_i . k_j) + slope * p + bias_ij                    softcap(x) = c tanh(x / c)
 *
 * unless a mask hides the key; a sink is one more score of the row, of a key whose value is 0: it
 * counts in the row's maximum, sum and LSE.  Element by element, keys and values of 8 bits count as
 * k_scale * k_j and v_scale * v_j, those of 4 bits as k_scale * (k_j - k_zero) and v_scale * (v_j - v_zero);
 * what is beyond the largest float there may count as infinite.
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
 * no key, or whose scores are all -inf, gives O = 0 and LSE = -inf, a masked key never touches the
 * result whatever its bits.  A sink is no key: LSE is then the sink, and one of NaN makes all rows of its head
 * NaN.
 *
 * Every public struct that a caller or a kernel passes by pointer begins with its own `size`, so
 * that a kernel from a shared object and its caller can tell which fields the other one knows.
 * Fields are only ever appended; a struct inside another stands last there, so that it can grow,
 * behind room for what the outer one may need.  Each option is described by `attnbench list` and in
 * docs/problems.md.
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

#define ATTN_WORKSPACE_ALIGN 64 /* bytes: one 512-bit vector */

/* Element types.  Scores, softmax and sums are f32 at least, whatever the storage, and f64 where that is
 * f64. */
enum attn_dtype {
    ATTN_F32,
    ATTN_BF16,
    ATTN_F16,
    ATTN_F64,
    ATTN_I8,     /* quantised KV cache, with k_scale and v_scale */
    ATTN_I32,    /* lengths and tables: kv_lens, cu_seqlens, block_table, parents */
    ATTN_BOOL,   /* one byte, 0 or 1: mask operands */
    ATTN_F8E4M3, /* like I8; the two types of 8-bit floats of the Open Compute Project (OFP8) */
    ATTN_F8E5M2,
    /* Two elements a byte, the first in its lower half: 0 to 15, less a zero point, times the scale of a
     * group of elements.  ONNX Runtime's GroupQueryAttention stores them like this with zero points of 8;
     * OpenVINO's u4 cache has zero points, and the first element in the upper half. */
    ATTN_I4,
    ATTN_DTYPE_COUNT
};

/* Instruction sets, in the order in which they were added; see isa.h for what each one needs.  What the
 * compiler targets without flags is BASELINE; the variants of this library for it are called NEON on
 * AArch64, and its variants for SVE are each built for one length of vectors. */
enum attn_isa {
    ATTN_ISA_BASELINE,
    ATTN_ISA_AVX2,        /* x86-64-v3 */
    ATTN_ISA_AVX512,      /* x86-64-v4 */
    ATTN_ISA_AVX512_BF16, /* x86-64-v4, AVX512_BF16 and AVX512_VBMI */
    ATTN_ISA_AMX,
    ATTN_ISA_NEON,
    ATTN_ISA_SVE, /* for vectors of any length */
    ATTN_ISA_NEON_BF16,
    ATTN_ISA_SVE128, /* of 128 bits alone */
    ATTN_ISA_SVE256,
    ATTN_ISA_SVE512,
    ATTN_ISA_NEON_F16,    /* NEON with products of f16 that are added in f32 */
    ATTN_ISA_AVX512_FP16, /* x86-64-v4 and AVX512-FP16 */
    ATTN_ISA_AVX512_2FMA, /* AVX512, as suits processors with two units for multiply-adds of 512 bits */
    ATTN_ISA_COUNT
};

/* The instruction set whose vectors the compiler may use in the file that includes this header, as its flags
 * say: what a plug-in that is one source compiled once claims. */
#if defined __AVX512BF16__ && defined __AVX512VBMI__ && defined __AVX512VL__
#define ATTN_ISA_COMPILED ATTN_ISA_AVX512_BF16
#elif defined __AVX512BW__ && defined __AVX512CD__ && defined __AVX512DQ__ && defined __AVX512VL__
#define ATTN_ISA_COMPILED ATTN_ISA_AVX512
#elif defined __AVX2__ && defined __FMA__
#define ATTN_ISA_COMPILED ATTN_ISA_AVX2
#elif defined __ARM_FEATURE_SVE
#define ATTN_ISA_COMPILED ATTN_ISA_SVE
#else
#define ATTN_ISA_COMPILED ATTN_ISA_BASELINE
#endif

/* Masks, a set of bits: CAUSAL, CAUSAL_TOP_LEFT and TREE exclude each other, the others combine.
 *
 * A tree of drafts is what a step of speculative decoding verifies: the last q_len keys of a sequence are
 * the drafts, draft i is query i too, and all keys before are the cache.  Places in a tree are depths:
 * windows and ALiBi, which count keys, do not go with it.  Where a sequence has fewer keys than queries,
 * its first drafts have none. */
enum attn_mask {
    ATTN_MASK_NONE = 0,
    ATTN_MASK_CAUSAL = 1 << 0,          /* query i sees keys j <= i + kv_len - q_len */
    ATTN_MASK_CAUSAL_TOP_LEFT = 1 << 1, /* query i sees keys j <= i (PyTorch's is_causal) */
    ATTN_MASK_BIAS = 1 << 2,            /* tensors.bias is added to the scaled scores */
    ATTN_MASK_BOOL = 1 << 3,            /* tensors.mask: 1 = attend, 0 = masked */
    /* tensors.parents: query i sees the cache, its own key and those of its ancestors */
    ATTN_MASK_TREE = 1 << 4
};

/* Options, a set of bits; the field named on the right holds the value. */
enum attn_option {
    ATTN_OPTION_WINDOW = 1 << 0,  /* window_left, window_right */
    ATTN_OPTION_SOFTCAP = 1 << 1, /* softcap */
    ATTN_OPTION_SINKS = 1 << 2,   /* tensors.sinks: one extra logit per query head */
    ATTN_OPTION_ALIBI = 1 << 3,   /* tensors.slopes: one slope per query head */
    ATTN_OPTION_RAGGED = 1 << 4,  /* tensors.kv_lens: each sequence's keys, at most kv_len */
    ATTN_OPTION_PAGED = 1 << 5,   /* page_size, tensors.block_table: K and V in pages */
    /* tensors.cu_seqlens: the queries of all sequences follow each other, at most q_len of each; so
     * do their keys (cu_seqlens_kv), unless RAGGED or PAGED says that they lie in a cache */
    ATTN_OPTION_PACKED = 1 << 6,
    ATTN_OPTION_SHARED_KV = 1 << 7, /* V is the first v_dim elements of each row of K */
    /* tensors.k_zero, v_zero: zero points of ATTN_I4; without them all are 8 */
    ATTN_OPTION_ZERO_POINTS = 1 << 8,
    /* index_count, index_block, tensors.indices: queries see only keys of a list, as sparse attention
     * chooses them */
    ATTN_OPTION_INDEX = 1 << 9
};

/* Wanted results, a set of bits. */
enum attn_output {
    ATTN_OUTPUT_O = 1 << 0,
    ATTN_OUTPUT_LSE = 1 << 1,     /* natural logarithm of the row's sum of exponentials */
    ATTN_OUTPUT_WEIGHTS = 1 << 2, /* softmax rows, (B, Hq, Sq, Skv) */
    ATTN_OUTPUT_DQ = 1 << 3,      /* of a backward pass */
    ATTN_OUTPUT_DK = 1 << 4,
    ATTN_OUTPUT_DV = 1 << 5,
    ATTN_OUTPUT_SCORES = 1 << 6 /* as in the formula above, -inf where a key is hidden */
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
    enum attn_dtype kv_dtype; /* of K and V: dtype, or one of 8 or 4 bits */
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
    size_t kv_group; /* of ATTN_I4: neighbouring elements of a row that share a scale, 32 or 64 */
    size_t index_count; /* entries of a list of keys; */
    size_t index_block; /* so many queries of a sequence that follow each other share one */
};

/* One operand.  `stride` counts elements in the order of the logical dimensions named below; the
 * last dimension is dense (stride 1), so stride[3] belongs to tensors whose last dimension has it. */
struct attn_tensor {
    void *data;
    enum attn_dtype dtype;
    ptrdiff_t stride[4];
};

/* Every operand and result of a call; .data is NULL where absent.  Operands may share memory, as k and v do
 * with latent attention.  A result may share memory neither with an operand nor with another result: what is
 * then computed is undefined, and attn_tensors_valid() does not look for it. */
struct attn_tensors {
    size_t size;
    /* Packed sequences have stride[0] = 0, in q o lse weights scores, and in k v k_scale v_scale where the
     * keys are packed too: row i of sequence b is row cu_seqlens[b] + i. */
    struct attn_tensor q;       /* (B, Hq, Sq, D) */
    struct attn_tensor k;       /* (B, Hkv, Skv, D);  paged: (pages, Hkv, page_size, D) */
    struct attn_tensor v;       /* (B, Hkv, Skv, Dv); paged: (pages, Hkv, page_size, Dv) */
    struct attn_tensor o;       /* (B, Hq, Sq, Dv) */
    struct attn_tensor lse;     /* (B, Hq, Sq) f32; f64 where dtype is */
    struct attn_tensor weights; /* (B, Hq, Sq, Skv) likewise */
    /* Broadcast to (B, Hq, Sq, Skv) by strides of 0 before the last; i and j count in their sequence,
     * packed or not.  A bias is f32 or of the problem's dtype. */
    struct attn_tensor bias;          /* added to the scores; -inf masks */
    struct attn_tensor mask;          /* ATTN_BOOL */
    struct attn_tensor sinks;         /* (Hq) f32; -inf: no sink */
    struct attn_tensor slopes;        /* (Hq) f32 */
    struct attn_tensor kv_lens;       /* (B) i32 */
    struct attn_tensor cu_seqlens;    /* (B + 1) i32: queries of sequence b are rows [b], [b + 1) */
    struct attn_tensor cu_seqlens_kv; /* (B + 1) i32: likewise keys, where they are packed too */
    struct attn_tensor block_table;   /* (B, pages per sequence) i32 */
    struct attn_tensor k_scale;       /* (B, Hkv, Skv, D) f32; shared scales have a stride of 0:
                                          stride[3] for one per token, stride[2] for one per channel */
    /* (B, Hkv, Skv) f32, likewise.  Of ATTN_I4 both have a last dimension, the groups of a row, of which the
     * last may be shorter. */
    struct attn_tensor v_scale;
    struct attn_tensor dO, dQ, dK, dV; /* backward: shaped like o, q, k, v */
    /* Allocated pages of k and v, and rows of packed q and packed k; attn_tensors_valid() checks against
     * them. */
    size_t pages, q_rows, kv_rows;
    struct attn_tensor scores; /* (B, Hq, Sq, Skv), a result: shaped and stored like weights */
    /* (B, Sq) i32, packed as q is: the parent of draft i, which is below i, or -1 where that is the cache. */
    struct attn_tensor parents;
    struct attn_tensor k_zero, v_zero; /* f32, of the shape of k_scale and v_scale of ATTN_I4 */
    /* (B, Hkv, ceil(Sq / index_block), index_count) i32: keys of a sequence, each at most once and in any
     * order, and -1, which is none.  A query sees those of its list that masks and lengths leave.  Packed:
     * the lists of all sequences follow each other, ceil(q_len / index_block) of each, and stride[0] = 0. */
    struct attn_tensor indices;
};

/* Known deviations from this header, a set of bits, for kernels that wrap a library whose semantics
 * cannot be changed.  The check skips what a kernel declares here, and its results list it. */
enum attn_caveat {
    ATTN_CAVEAT_NAN_LEAKS =
        1 << 0, /* a NaN in a masked key or value reaches rows that do not see it */
    ATTN_CAVEAT_EMPTY_ROWS =
        1 << 1, /* rows that see no key have any values: NaN, the mean of V, an LSE of 0 */
    ATTN_CAVEAT_INFINITE_SCORES =
        1 << 2, /* scores of -inf that no mask makes, but an infinite key, make rows NaN; or scores
                 * near the largest float outweigh a mask that is added as a finite number */
    ATTN_CAVEAT_SUBNORMALS = 1 << 3, /* subnormal numbers count as 0 */
    ATTN_CAVEAT_NAN_VANISHES =
        1 << 4, /* a NaN in a row's query, or in a key that it sees, may come out as a number */
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
    bool varies;              /* results may differ between thread counts, calls or batches */
    size_t max_dim;           /* largest D and Dv; 0 = any */
    enum attn_dtype compute;  /* what its multiply-adds take: ATTN_F32, or ATTN_BF16 (P rounded); of
                               * problems with dtype=f64 always f64, attn_compute(); with BF16 subnormal
                               * elements of Q and K count as 0 */
    double bound_factor;      /* allowed multiple of the error bound; 0 = 1 */
    const char *bound_reason; /* why, where bound_factor is not 0 */
    unsigned caveats;         /* enum attn_caveat */
};

struct attn_plan;

/* An environment variable. */
struct attn_variable {
    const char *name, *value;
};

/* A library that a kernel calls and that this program need not have: it is loaded when a plan needs
 * it, so that a process which only asks what the kernel can do neither loads it nor starts its
 * threads. */
#define ATTN_LIBRARY_CHOICES 3
struct attn_library {
    size_t size; /* sizeof(struct attn_library) of whoever compiled it */
    /* Loads it into this process, once; false sets *why: a static string that says how to get it.
     * NULL where the program is linked with it. */
    bool (*load)(const char **why);
    /* Name, version and code as loaded, a static string. */
    const char *(*description)(void);
    /* Optional: names of the ways it can run on this host that may be the fastest for the problem, the
     * best guess first; returns how many, 1 to ATTN_LIBRARY_CHOICES.  Static storage. */
    size_t (*choices)(const struct attn_problem *problem, enum attn_isa isa,
                      const char *choices[ATTN_LIBRARY_CHOICES]);
    /* Optional: what has to stand in the environment of a process before the library is loaded,
     * with one of the choices, NULL where there are none.  Static storage. */
    const struct attn_variable *(*environment)(enum attn_isa isa, const char *choice,
                                               size_t *count);
    const char *chooser; /* the variable that makes the choice; NULL where there is none */
};

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
    const struct attn_library *library; /* what it calls; NULL where nothing */
    void (*reserved[3])(void);          /* NULL */

    struct attn_caps caps;
};

/* A kernel bound to a problem, a thread count and its workspace. */
struct attn_plan {
    size_t size;
    const struct attn_kernel *kernel;
    int threads;     /* >= 1; 1 for a serial kernel */
    void *workspace; /* lent by the caller, ATTN_WORKSPACE_ALIGN aligned */
    size_t workspace_bytes;
    void *state;         /* the kernel's own, set by prepare */
    const char *refusal; /* set by prepare where the kernel's library refuses after all: why */
    void *reserved[3];   /* NULL */

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

/* The scale for kernels that compute in f64 (dtype=f64): 1/sqrt(D) is not rounded to f32. */
static inline double attn_problem_scale_f64(const struct attn_problem *problem)
{
    return problem->scale != 0 ? (double)problem->scale
                               : 1 / __builtin_sqrt((double)problem->qk_dim);
}

/* The key that query i stands at: masks, windows and ALiBi count from there. */
static inline ptrdiff_t attn_position(const struct attn_problem *problem, ptrdiff_t i,
                                      ptrdiff_t q_len, ptrdiff_t kv_len)
{
    return problem->mask & ATTN_MASK_CAUSAL_TOP_LEFT ? i : i + kv_len - q_len;
}

/* Keys [lo, hi) that positional masks (causal, window) leave to query i; lo = hi where none.  With a tree:
 * the cache and all drafts up to its own; attn_tree_sees() says which of these it sees. */
struct attn_range {
    ptrdiff_t lo, hi;
};

/* The mask rule, for a sequence of q_len queries and kv_len keys. */
static inline struct attn_range attn_visible_in(const struct attn_problem *problem, ptrdiff_t i,
                                                ptrdiff_t q_len, ptrdiff_t kv_len)
{
    struct attn_range r = {0, kv_len};
    const ptrdiff_t at = attn_position(problem, i, q_len, kv_len);
    if (problem->mask & (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT | ATTN_MASK_TREE))
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

/* Whether sequences are packed and their keys are, too: not where keys lie in a cache. */
static inline bool attn_keys_packed(const struct attn_problem *problem)
{
    const unsigned cached = ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED;
    return problem->options & ATTN_OPTION_PACKED && !(problem->options & cached);
}

/* A sequence's lengths, and where its rows begin in operands that are packed. */
struct attn_sequence {
    size_t q_first, q_len;
    size_t kv_first, kv_len;
};

static inline struct attn_sequence attn_sequence(const struct attn_problem *problem,
                                                 const struct attn_tensors *tensors, size_t b)
{
    struct attn_sequence s = {0, problem->q_len, 0, problem->kv_len};
    if (problem->options & ATTN_OPTION_PACKED) {
        const int32_t *q = (const int32_t *)tensors->cu_seqlens.data + b;
        s.q_first = (size_t)q[0];
        s.q_len = (size_t)(q[1] - q[0]);
    }
    if (attn_keys_packed(problem)) {
        const int32_t *kv = (const int32_t *)tensors->cu_seqlens_kv.data + b;
        s.kv_first = (size_t)kv[0];
        s.kv_len = (size_t)(kv[1] - kv[0]);
    }
    if (problem->options & ATTN_OPTION_RAGGED)
        s.kv_len = (size_t)((const int32_t *)tensors->kv_lens.data)[b];
    return s;
}

/* The drafts of a sequence. */
struct attn_tree {
    const int32_t *parents; /* by draft; NULL: no tree */
    ptrdiff_t first;        /* key of draft 0; below 0 where the first drafts have none */
};

static inline struct attn_tree attn_tree(const struct attn_problem *problem,
                                         const struct attn_tensors *tensors,
                                         const struct attn_sequence *sequence, size_t b)
{
    const struct attn_tensor *t = &tensors->parents;
    struct attn_tree tree = {NULL, (ptrdiff_t)sequence->kv_len - (ptrdiff_t)sequence->q_len};
    if (problem->mask & ATTN_MASK_TREE)
        tree.parents =
            (const int32_t *)t->data + (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)sequence->q_first;
    return tree;
}

/* The last of draft i and its ancestors that is not behind `draft`; -1 where none is.  The one before it is
 * its parent. */
static inline ptrdiff_t attn_tree_up(const struct attn_tree *tree, ptrdiff_t i, ptrdiff_t draft)
{
    while (i >= 0 && i > draft)
        i = tree->parents[i];
    return i;
}

/* Whether query i sees key j, as far as the tree says. */
static inline bool attn_tree_sees(const struct attn_tree *tree, ptrdiff_t i, ptrdiff_t j)
{
    const ptrdiff_t draft = j - tree->first;
    return draft < 0 || attn_tree_up(tree, i, draft) == draft;
}

/* shown[0, n) of keys [j, j + n) become 0 where the tree hides the key from query i. */
static inline void attn_tree_hide(const struct attn_tree *tree, ptrdiff_t i, ptrdiff_t j,
                                  ptrdiff_t n, uint8_t *shown)
{
    ptrdiff_t last = j + n - 1 - tree->first, next = attn_tree_up(tree, i, last);
    for (; n > 0 && last >= 0; last--)
        if (last == next)
            next = tree->parents[next], n--;
        else
            shown[--n] = 0;
}

/* Lists of keys of a sequence of q_len queries, for each KV head. */
static inline size_t attn_lists(const struct attn_problem *problem, size_t q_len)
{
    return (q_len + problem->index_block - 1) / problem->index_block;
}

/* The list of query i of sequence b for KV head g, index_count keys; NULL where queries have none. */
static inline const int32_t *attn_list(const struct attn_problem *problem,
                                       const struct attn_tensors *tensors, size_t b, size_t g,
                                       size_t i)
{
    const struct attn_tensor *t = &tensors->indices;
    if (!(problem->options & ATTN_OPTION_INDEX))
        return NULL;
    size_t row = i / problem->index_block;
    for (size_t a = 0; problem->options & ATTN_OPTION_PACKED && a < b; a++)
        row += attn_lists(problem, attn_sequence(problem, tensors, a).q_len);
    return (const int32_t *)t->data + (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)g * t->stride[1] +
           (ptrdiff_t)row * t->stride[2];
}

/* KV head that serves query head h. */
static inline size_t attn_kv_head(const struct attn_problem *problem, size_t h)
{
    assert(problem->kv_heads > 0 && problem->q_heads >= problem->kv_heads);
    return h / (problem->q_heads / problem->kv_heads);
}

/* (query, key) pairs that positional masks leave, over batch and query heads; with lists of keys at most as
 * many of a query as its list has. */
double attn_visible_pairs(const struct attn_problem *problem);

/* Useful work of a forward pass: 2 * visible pairs * (D + Dv).  Recomputation earns nothing. */
double attn_useful_flops(const struct attn_problem *problem);

/* Bytes that any implementation must move: Q and the results once, each visible key's K and V
 * once per KV head, of lists as many keys as these can name. */
double attn_compulsory_bytes(const struct attn_problem *problem);

/* The same with what the operands say: the lengths of sequences, which keys lists name, and keys that a tree,
 * a boolean mask or a bias of -inf hides.  Each element of a bias, mask or scale counts once, however often
 * it is shared, and so do keys of pages that several sequences begin with. */
struct attn_work {
    double pairs; /* (query, key), over sequences and query heads */
    double flops;
    double bytes;
};
struct attn_work attn_work(const struct attn_problem *problem, const struct attn_tensors *tensors);

/* Whether the operands are what the problem says: all that it needs is there, of the right type;
 * lengths, offsets and pages point inside.  False fills message with one line that names the tensor and
 * the element.  Kernels do not check. */
bool attn_tensors_valid(const struct attn_problem *problem, const struct attn_tensors *tensors,
                        char *message, size_t size);

/* ---- elements ------------------------------------------------------------------------------ */

/* Size of one element in bytes; of i4, two of which share a byte, 0: attn_elements_bytes(). */
static inline size_t attn_dtype_size(enum attn_dtype dtype)
{
    /* f32, bf16, f16, f64, i8, i32, bool, f8e4m3, f8e5m2, i4 */
    static const unsigned char bytes[ATTN_DTYPE_COUNT] = {4, 2, 2, 8, 1, 4, 1, 1, 1, 0};
    return bytes[dtype];
}

/* Bytes of n elements that follow each other, or from a row to one n elements further on. */
static inline ptrdiff_t attn_elements_bytes(enum attn_dtype dtype, ptrdiff_t n)
{
    return dtype == ATTN_I4 ? (n + (n & 1)) / 2 : n * (ptrdiff_t)attn_dtype_size(dtype);
}

/* Whether K and V of this type stand for numbers times k_scale and v_scale: the types of 8 and 4 bits. */
static inline bool attn_dtype_scaled(enum attn_dtype dtype)
{
    return dtype == ATTN_I8 || dtype == ATTN_F8E4M3 || dtype == ATTN_F8E5M2 || dtype == ATTN_I4;
}

/* Type of LSE, weights and scores. */
static inline enum attn_dtype attn_statistics_dtype(const struct attn_problem *problem)
{
    return problem->dtype == ATTN_F64 ? ATTN_F64 : ATTN_F32;
}

/* "f32", "bf16", ...; parse returns false for an unknown name. */
const char *attn_dtype_name(enum attn_dtype dtype);
bool attn_dtype_parse(const char *name, enum attn_dtype *dtype);

/* Row (b, h, i) of a tensor: address of its first element. */
static inline void *attn_row(const struct attn_tensor *t, size_t b, size_t h, size_t i)
{
    const ptrdiff_t at =
        (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)h * t->stride[1] + (ptrdiff_t)i * t->stride[2];
    return (char *)t->data + attn_elements_bytes(t->dtype, at);
}

/* Which scale of a row of scales element d of K has, and of V of ATTN_I4. */
static inline size_t attn_scale_index(const struct attn_problem *problem, size_t d)
{
    return problem->kv_dtype == ATTN_I4 ? d / problem->kv_group : d;
}

/* The zero point of element d in row j of k_zero or v_zero: what is taken from the element before it is
 * multiplied by its scale. */
static inline float attn_zero_point(const struct attn_problem *problem,
                                    const struct attn_tensor *zero, size_t b, size_t g, size_t j,
                                    size_t d)
{
    if (problem->kv_dtype != ATTN_I4)
        return 0.0F;
    if (!(problem->options & ATTN_OPTION_ZERO_POINTS))
        return 8.0F;
    return ((const float *)attn_row(zero, b, g,
                                    j))[(ptrdiff_t)(d / problem->kv_group) * zero->stride[3]];
}

/* Row of key j of a sequence in `kv`, which is tensors->k or v: through the table where K and V lie in
 * pages. */
static inline void *attn_kv_row(const struct attn_problem *problem,
                                const struct attn_tensors *tensors, const struct attn_tensor *kv,
                                const struct attn_sequence *sequence, size_t b, size_t g, size_t j)
{
    if (!(problem->options & ATTN_OPTION_PAGED))
        return attn_row(kv, b, g, sequence->kv_first + j);
    const int32_t *table =
        (const int32_t *)tensors->block_table.data + (ptrdiff_t)b * tensors->block_table.stride[0];
    return attn_row(kv, (size_t)table[j / problem->page_size], g, j % problem->page_size);
}

/* ---- kernels ------------------------------------------------------------------------------- */

/* "avx2", ...; parse returns false for an unknown name. */
const char *attn_isa_name(enum attn_isa isa);
bool attn_isa_parse(const char *name, enum attn_isa *isa);

/* Whether this host can run it, and the environment variable ATTN_ISA_MASK, if there is one, names it.  For
 * ATTN_ISA_AMX this asks Linux to let the process use tiles, which holds until exec; signal stacks
 * (sigaltstack) then need room for them, and where one has none the answer is no. */
bool attn_isa_available(enum attn_isa isa);

/* All ATTN_ISA_COUNT instruction sets, in this processor's order of preference; wider is not always
 * faster. Use a kernel's first variant in this order that supports the problem. */
const enum attn_isa *attn_isa_preference(void);

/* Every variant built into the library, in the order of kernels/CMakeLists.txt, weakest ISA
 * first; also those that this host cannot run. */
const struct attn_kernel *const *attn_kernels(size_t *count);

/* A variant by name and ISA; NULL where there is none.  ATTN_ISA_BASELINE finds the one that every
 * processor of this architecture runs, on AArch64 that for ATTN_ISA_NEON. */
const struct attn_kernel *attn_find(const char *name, enum attn_isa isa);

/* The variant to use on this host, from the problem and the threads alone (and from what was measured here,
 * where attn_wisdom_load() of wisdom.h was called); NULL where none supports it. */
const struct attn_kernel *attn_kernel_best(const struct attn_problem *problem, int threads);

/* Whether the kernel, not NULL, computes this problem (host ISA aside); false sets *why to a static
 * string. */
bool attn_supports(const struct attn_kernel *kernel, const struct attn_problem *problem,
                   const char **why);

/* What its multiply-adds take for this problem: caps.compute, and f64 where the operands are f64. */
static inline enum attn_dtype attn_compute(const struct attn_kernel *kernel,
                                           const struct attn_problem *problem)
{
    return problem->dtype == ATTN_F64 ? ATTN_F64 : kernel->caps.compute;
}

/* A shared object with kernels exports one function of this name and type: its variants, as
 * attn_kernels() gives those of the library. */
#define ATTN_PLUGIN_ENTRY "attn_plugin"
typedef const struct attn_kernel *const *attn_plugin_entry(size_t *count);

/* Loads what the kernel, not NULL, calls; true where it calls nothing.  False sets *why to a static
 * string that says how to get it. */
bool attn_load(const struct attn_kernel *kernel, const char **why);

/* ---- plans --------------------------------------------------------------------------------- */

/* Scratch that a plan of the kernel, not NULL, needs, bytes; 0 where none. */
size_t attn_workspace_size(const struct attn_kernel *kernel, const struct attn_problem *problem,
                           int threads);

/* Binds and prepares.  The kernel is not NULL, the workspace may be where no bytes are needed.  False
 * sets *why and leaves nothing to destroy: the kernel or its library refuses the problem, this host
 * lacks its ISA or its library, or the workspace is too small or misaligned. */
bool attn_plan_init(struct attn_plan *plan, const struct attn_kernel *kernel,
                    const struct attn_problem *problem, int threads, void *workspace,
                    size_t workspace_bytes, const char **why);
/* A variant of this library for ATTN_ISA_AMX configures the tiles of each thread that it runs on, the
 * caller's too, and then releases them: what a caller had in its tiles is lost. */
void attn_execute(const struct attn_plan *plan, const struct attn_tensors *tensors);
void attn_plan_destroy(struct attn_plan *plan);

#ifdef __cplusplus
}
#endif
