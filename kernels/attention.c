/*
 * attention: problems, capability checks, plans.
 */
#include "attention.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- elements ------------------------------------------------------------------------------ */

static const char *const dtypes[ATTN_DTYPE_COUNT] = {
    [ATTN_F32] = "f32",       [ATTN_BF16] = "bf16", [ATTN_F16] = "f16",   [ATTN_F64] = "f64",
    [ATTN_I8] = "i8",         [ATTN_I32] = "i32",   [ATTN_BOOL] = "bool", [ATTN_F8E4M3] = "f8e4m3",
    [ATTN_F8E5M2] = "f8e5m2", [ATTN_I4] = "i4",
};

const char *attn_dtype_name(enum attn_dtype dtype)
{
    return dtypes[dtype];
}

bool attn_dtype_parse(const char *name, enum attn_dtype *dtype)
{
    for (int i = 0; i < ATTN_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i], name) == 0) {
            *dtype = (enum attn_dtype)i;
            return true;
        }
    return false;
}

/* ---- problems ------------------------------------------------------------------------------ */

void attn_problem_init(struct attn_problem *problem)
{
    *problem = (struct attn_problem){
        .size = sizeof *problem,
        .batch = 1,
        .q_heads = 1,
        .kv_heads = 1,
        .q_len = 1,
        .kv_len = 1,
        .qk_dim = 1,
        .v_dim = 1,
        .dtype = ATTN_F32,
        .kv_dtype = ATTN_F32,
        .layout = ATTN_BHSD,
        .pass = ATTN_FORWARD,
        .outputs = ATTN_OUTPUT_O,
        .window_left = -1,
        .window_right = -1,
    };
}

/* Whether a * b * c * d elements of 8 bytes, the widest type, can be addressed by ptrdiff_t. */
static bool addressable(size_t a, size_t b, size_t c, size_t d)
{
    size_t n;
    return !__builtin_mul_overflow(a, b, &n) && !__builtin_mul_overflow(n, c, &n) &&
           !__builtin_mul_overflow(n, d, &n) && n <= PTRDIFF_MAX / 8;
}

bool attn_problem_valid(const struct attn_problem *p, const char **why)
{
    const unsigned both = ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT;
    const bool tree = p->mask & ATTN_MASK_TREE;
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        {p->size < sizeof *p, "the problem's size field is not set (attn_problem_init)"},
        {!p->batch || !p->q_heads || !p->kv_heads || !p->q_len || !p->kv_len || !p->qk_dim ||
             !p->v_dim,
         "a length is zero"},
        {(unsigned)p->dtype >= ATTN_DTYPE_COUNT || (unsigned)p->kv_dtype >= ATTN_DTYPE_COUNT,
         "an unknown data type"},
        {(unsigned)p->pass > ATTN_BACKWARD, "an unknown pass"},
        {(unsigned)p->layout > ATTN_BSHD, "an unknown layout"},
        {p->mask >= ATTN_MASK_TREE << 1, "an unknown mask"},
        {p->options >= ATTN_OPTION_INDEX << 1, "an unknown option"},
        {p->outputs >= ATTN_OUTPUT_SCORES << 1, "an unknown output"},
        {p->kv_heads && p->q_heads % p->kv_heads != 0, "q_heads is not a multiple of kv_heads"},
        {(p->mask & both) == both, "two causal masks at once"},
        {tree && p->mask & both,
         "a tree and a causal mask: the tree says which drafts a query sees"},
        {tree && p->options & (ATTN_OPTION_WINDOW | ATTN_OPTION_ALIBI),
         "a tree with a window or ALiBi, which count keys: places in a tree are depths"},
        {!(isfinite(p->scale) && isfinite(p->softcap)), "scale or softcap is not finite"},
        {p->options & ATTN_OPTION_SOFTCAP && p->softcap <= 0, "softcap is not positive"},
        {!(p->options & ATTN_OPTION_SOFTCAP) && p->softcap != 0,
         "a softcap without ATTN_OPTION_SOFTCAP"},
        {!(p->options & ATTN_OPTION_WINDOW) && (p->window_left != -1 || p->window_right != -1),
         "a window without ATTN_OPTION_WINDOW (-1 is none)"},
        {!(p->options & ATTN_OPTION_PAGED) && p->page_size != 0,
         "a page_size without ATTN_OPTION_PAGED"},
        {p->kv_dtype == ATTN_I4 && p->kv_group != 32 && p->kv_group != 64,
         "K and V of i4 need a kv_group of 32 or 64"},
        {p->kv_dtype != ATTN_I4 && p->kv_group != 0, "a kv_group without K and V of i4"},
        {p->kv_dtype != ATTN_I4 && p->options & ATTN_OPTION_ZERO_POINTS,
         "zero points without K and V of i4"},
        {p->window_left < -1 || p->window_right < -1, "a window is less than -1"},
        {p->options & ATTN_OPTION_WINDOW &&
             (p->window_left > PTRDIFF_MAX / 2 || p->window_right > PTRDIFF_MAX / 2),
         "a window is too wide to be added to a position"},
        {p->options & ATTN_OPTION_PAGED && p->page_size == 0, "page_size is zero"},
        {p->options & ATTN_OPTION_INDEX && (p->index_count == 0 || p->index_block == 0),
         "index_count or index_block is zero"},
        {!(p->options & ATTN_OPTION_INDEX) && (p->index_count != 0 || p->index_block != 0),
         "an index_count or index_block without ATTN_OPTION_INDEX"},
        {p->options & ATTN_OPTION_SHARED_KV && p->v_dim > p->qk_dim,
         "shared K and V: v_dim is larger than qk_dim"},
        {p->outputs == 0, "no output is wanted"},
        {!addressable(p->batch, p->q_heads, p->q_len, p->qk_dim) ||
             !addressable(p->batch, p->q_heads, p->q_len, p->v_dim) ||
             !addressable(p->batch, p->kv_heads, p->kv_len, p->qk_dim) ||
             !addressable(p->batch, p->kv_heads, p->kv_len, p->v_dim) ||
             (p->options & ATTN_OPTION_PAGED &&
              !addressable(p->page_size, p->kv_heads, p->qk_dim, 1)) ||
             (p->options & ATTN_OPTION_PAGED &&
              !addressable(p->page_size, p->kv_heads, p->v_dim, 1)) ||
             (p->outputs & (ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES) &&
              !addressable(p->batch, p->q_heads, p->q_len, p->kv_len)) ||
             (p->options & ATTN_OPTION_INDEX &&
              !addressable(p->batch, p->kv_heads, p->q_len, p->index_count)),
         "an operand does not fit in the address space"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].wrong) {
            *why = rules[i].why;
            return false;
        }
    return true;
}

/* ---- capabilities -------------------------------------------------------------------------- */

/* Reasons name what is refused as the text of a problem does. */
static const char *const dtype_reasons[ATTN_DTYPE_COUNT] = {
    [ATTN_F32] = "dtype=f32",   [ATTN_BF16] = "dtype=bf16",     [ATTN_F16] = "dtype=f16",
    [ATTN_F64] = "dtype=f64",   [ATTN_I8] = "dtype=i8",         [ATTN_I32] = "dtype=i32",
    [ATTN_BOOL] = "dtype=bool", [ATTN_F8E4M3] = "dtype=f8e4m3", [ATTN_F8E5M2] = "dtype=f8e5m2",
    [ATTN_I4] = "dtype=i4",
};

bool attn_supports(const struct attn_kernel *kernel, const struct attn_problem *problem,
                   const char **why)
{
    assert(kernel);
    if (!attn_problem_valid(problem, why))
        return false;
    const struct attn_caps *caps = &kernel->caps;
    const struct attn_problem *p = problem;
    const unsigned kv_dtypes = caps->kv_dtypes | 1u << p->dtype;
    const size_t dim = p->qk_dim > p->v_dim ? p->qk_dim : p->v_dim;
    const struct {
        bool missing;
        const char *why;
    } needs[] = {
        {kernel->size < sizeof *kernel || caps->size < sizeof *caps,
         "the kernel was built for an older interface"},
        {!(caps->dtypes & 1u << p->dtype), dtype_reasons[p->dtype]},
        {!(kv_dtypes & 1u << p->kv_dtype), "K and V of this data type"},
        {p->mask & ~caps->masks & ATTN_MASK_CAUSAL, "mask=causal"},
        {p->mask & ~caps->masks & ATTN_MASK_CAUSAL_TOP_LEFT, "mask=causal_top_left"},
        {p->mask & ~caps->masks & ATTN_MASK_BIAS, "mask=bias"},
        {p->mask & ~caps->masks & ATTN_MASK_BOOL, "mask=bool"},
        {p->mask & ~caps->masks, "mask=tree"},
        {p->options & ~caps->options & ATTN_OPTION_WINDOW, "window"},
        {p->options & ~caps->options & ATTN_OPTION_SOFTCAP, "softcap"},
        {p->options & ~caps->options & ATTN_OPTION_SINKS, "sinks"},
        {p->options & ~caps->options & ATTN_OPTION_ALIBI, "alibi"},
        {p->options & ~caps->options & ATTN_OPTION_RAGGED, "ragged lengths"},
        {p->options & ~caps->options & ATTN_OPTION_PAGED, "paged K and V"},
        {p->options & ~caps->options & ATTN_OPTION_PACKED, "packed sequences"},
        {p->options & ~caps->options & ATTN_OPTION_SHARED_KV, "shared K and V"},
        {p->options & ~caps->options & ATTN_OPTION_ZERO_POINTS, "zero points"},
        {p->options & ~caps->options & ATTN_OPTION_INDEX, "keys=index"},
        {p->outputs & ~caps->outputs & ATTN_OUTPUT_O, "outputs=o"},
        {p->outputs & ~caps->outputs & ATTN_OUTPUT_LSE, "outputs=lse"},
        {p->outputs & ~caps->outputs & ATTN_OUTPUT_WEIGHTS, "outputs=weights"},
        {p->outputs & ~caps->outputs & ATTN_OUTPUT_SCORES, "outputs=scores"},
        {p->outputs & ~caps->outputs, "outputs of a backward pass"},
        {p->pass == ATTN_FORWARD && !caps->forward, "the forward pass"},
        {p->pass == ATTN_BACKWARD && !caps->backward, "the backward pass"},
        {caps->max_dim && dim > caps->max_dim, "so large a head dimension"},
    };
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        if (needs[i].missing) {
            *why = needs[i].why;
            return false;
        }
    if (!kernel->supports)
        return true;
    *why = "this problem"; /* for one that does not say */
    return kernel->supports(problem, why);
}

bool attn_load(const struct attn_kernel *kernel, const char **why)
{
    return !kernel->library || !kernel->library->load || kernel->library->load(why);
}

/* ---- plans --------------------------------------------------------------------------------- */

static int threads_of(const struct attn_kernel *kernel, int threads)
{
    return kernel->caps.parallel && threads > 1 ? threads : 1;
}

size_t attn_workspace_size(const struct attn_kernel *kernel, const struct attn_problem *problem,
                           int threads)
{
    assert(kernel);
    return kernel->workspace_size ? kernel->workspace_size(problem, threads_of(kernel, threads))
                                  : 0;
}

bool attn_plan_init(struct attn_plan *plan, const struct attn_kernel *kernel,
                    const struct attn_problem *problem, int threads, void *workspace,
                    size_t workspace_bytes, const char **why)
{
    if (!attn_supports(kernel, problem, why))
        return false;
    if (threads < 1) {
        *why = "threads is less than 1";
        return false;
    }
    if (!attn_isa_available(kernel->isa)) {
        *why = "this host lacks the instruction set";
        return false;
    }
    if (!attn_load(kernel, why))
        return false;
    const size_t needed = attn_workspace_size(kernel, problem, threads);
    if (workspace_bytes < needed || (needed && !workspace)) {
        *why = "the workspace is too small";
        return false;
    }
    if ((uintptr_t)workspace % ATTN_WORKSPACE_ALIGN) {
        *why = "the workspace is not aligned";
        return false;
    }
    *plan = (struct attn_plan){
        .size = sizeof *plan,
        .kernel = kernel,
        .problem = *problem,
        .threads = threads_of(kernel, threads),
        .workspace = workspace,
        .workspace_bytes = needed,
    };
    if (kernel->prepare)
        kernel->prepare(plan);
    *why = plan->refusal;
    if (plan->refusal)
        attn_plan_destroy(plan);
    return !*why;
}

void attn_execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    assert(tensors->q.data && tensors->k.data && tensors->v.data);
    plan->kernel->execute(plan, tensors);
}

void attn_plan_destroy(struct attn_plan *plan)
{
    if (plan->kernel && plan->kernel->destroy)
        plan->kernel->destroy(plan);
    plan->kernel = NULL;
}
