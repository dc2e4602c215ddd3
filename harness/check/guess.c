/*
 * guess: mistakes that kernels make, each as the problem that they then compute.
 */
#include "evidence.h"

#include <math.h>
#include <stdio.h>

/* Changes the guess and describes it in `text`; false where that makes no sense for this problem. */
typedef bool suppose(struct guess *guess, char *text, size_t size);

/* ---- keys ---------------------------------------------------------------------------------- */

/* The first and the last key that the row sees; false where it sees none. */
static bool ends_of(const struct row_view *s, size_t *first, size_t *last)
{
    ptrdiff_t lo = s->range.lo, hi = s->range.hi - 1;
    while (lo <= hi && row_view_hider(s, (size_t)lo))
        lo++;
    while (lo <= hi && row_view_hider(s, (size_t)hi))
        hi--;
    *first = (size_t)lo;
    *last = (size_t)hi;
    return lo <= hi;
}

static bool last_key_missing(struct guess *guess, char *text, size_t size)
{
    size_t first, last;
    if (!ends_of(&guess->view, &first, &last))
        return false;
    guess->view.range.hi = (ptrdiff_t)last;
    snprintf(text, size, "as if it did not see its last key, %zu", last);
    return first < last;
}

static bool first_key_missing(struct guess *guess, char *text, size_t size)
{
    size_t first, last;
    if (!ends_of(&guess->view, &first, &last))
        return false;
    guess->view.range.lo = (ptrdiff_t)first + 1;
    snprintf(text, size, "as if it did not see its first key, %zu", first);
    return first < last;
}

static bool see(struct guess *guess, size_t j, char *text, size_t size)
{
    struct row_view *s = &guess->view;
    snprintf(text, size, "query %zu sees key %zu, %s", s->at.i, j, row_view_hider(s, j));
    s->range.lo = (ptrdiff_t)j < s->range.lo ? (ptrdiff_t)j : s->range.lo;
    s->range.hi = (ptrdiff_t)j < s->range.hi ? s->range.hi : (ptrdiff_t)j + 1;
    s->shown = j;
    return true;
}

static bool one_key_more(struct guess *guess, char *text, size_t size)
{
    size_t first, last;
    return ends_of(&guess->view, &first, &last) && last + 1 < row_view_reach(&guess->view) &&
           see(guess, last + 1, text, size);
}

static bool one_key_before(struct guess *guess, char *text, size_t size)
{
    size_t first, last;
    return ends_of(&guess->view, &first, &last) && first > 0 && see(guess, first - 1, text, size);
}

#define POSITIONAL (unsigned)(ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT)

static bool no_mask(struct guess *guess, char *text, size_t size)
{
    struct attn_problem *p = &guess->problem;
    const unsigned places = POSITIONAL | ATTN_MASK_TREE;
    const bool any = p->mask & places || p->options & ATTN_OPTION_WINDOW;
    p->mask &= ~places;
    p->options &= ~(unsigned)ATTN_OPTION_WINDOW;
    guess->view.range = (struct attn_range){0, (ptrdiff_t)guess->view.sequence.kv_len};
    snprintf(text, size, "as if there were no mask");
    return any;
}

static bool other_alignment(struct guess *guess, char *text, size_t size)
{
    struct attn_problem *p = &guess->problem;
    const bool causal = p->mask & POSITIONAL;
    p->mask ^= POSITIONAL;
    row_view_update(&guess->view);
    snprintf(text, size, "as if the mask were aligned to the %s key",
             p->mask & ATTN_MASK_CAUSAL ? "last" : "first");
    return causal;
}

static bool chain(struct guess *guess, char *text, size_t size)
{
    guess->problem.mask ^= ATTN_MASK_TREE | ATTN_MASK_CAUSAL;
    snprintf(text, size, "as if the drafts were a chain");
    return !(guess->problem.mask & ATTN_MASK_TREE); /* a tree mask already hid the key */
}

static bool first_tree(struct guess *guess, char *text, size_t size)
{
    struct attn_tensor *t = &guess->tensors.parents;
    if (!(guess->problem.mask & ATTN_MASK_TREE))
        return false;
    t->data = (int32_t *)t->data - guess->view.sequence.q_first;
    t->stride[0] = 0;
    snprintf(text, size, "as if it read the tree of sequence 0");
    return guess->view.at.b > 0;
}

static bool every_key(struct guess *guess, char *text, size_t size)
{
    const bool listed = guess->view.list;
    guess->view.list = NULL;
    snprintf(text, size, "as if it saw keys that its list does not name");
    return listed;
}

static bool first_list(struct guess *guess, char *text, size_t size)
{
    const struct row_view *s = &guess->view;
    guess->view.list = attn_list(&guess->problem, &guess->tensors, s->at.b, s->g, 0);
    snprintf(text, size, "as if it read the list of query 0");
    return guess->view.list && s->at.i >= guess->problem.index_block;
}

static bool list_of_first_head(struct guess *guess, char *text, size_t size)
{
    const struct row_view *s = &guess->view;
    guess->view.list = attn_list(&guess->problem, &guess->tensors, s->at.b, 0, s->at.i);
    snprintf(text, size, "as if it read the list of KV head 0");
    return guess->view.list && s->g > 0;
}

static bool first_mask(struct guess *guess, char *text, size_t size)
{
    const bool several = guess->problem.mask & ATTN_MASK_BOOL && guess->tensors.mask.stride[1];
    guess->tensors.mask.stride[1] = 0;
    snprintf(text, size, "as if it read the boolean mask of head 0");
    return several && guess->view.at.h > 0;
}

static bool padded(struct guess *guess, char *text, size_t size)
{
    struct attn_sequence *s = &guess->view.sequence;
    const size_t keys = s->kv_len, b = guess->view.at.b;
    s->kv_len = row_view_reach(&guess->view);
    row_view_update(&guess->view);
    snprintf(text, size, "as if sequence %zu had %zu keys instead of %zu", b, s->kv_len, keys);
    return s->kv_len > keys;
}

static bool length_of_neighbour(struct guess *guess, char *text, size_t size)
{
    struct row_view *s = &guess->view;
    const size_t keys = s->sequence.kv_len, next = (s->at.b + 1) % guess->problem.batch;
    s->sequence.kv_len = attn_sequence(&guess->problem, &guess->tensors, next).kv_len;
    snprintf(text, size, "as if sequence %zu had the %zu keys of sequence %zu", s->at.b,
             s->sequence.kv_len, next);
    row_view_update(s);
    return s->sequence.kv_len < keys;
}

/* ---- scores -------------------------------------------------------------------------------- */

static bool slope_from_first(struct guess *guess, char *text, size_t size)
{
    struct row_view *s = &guess->view;
    const ptrdiff_t right = s->position;
    s->position = (ptrdiff_t)s->at.i;
    snprintf(text, size, "as if slopes began at key %zu instead of %td", s->at.i, right);
    return guess->problem.options & ATTN_OPTION_ALIBI && s->position != right;
}

static bool scaled_sink(struct guess *guess, char *text, size_t size)
{
    guess->view.sink *= (double)attn_problem_scale(&guess->problem);
    snprintf(text, size, "as if the sink were scaled, too");
    return guess->problem.options & ATTN_OPTION_SINKS && isfinite(guess->view.sink);
}

/* ---- operands ------------------------------------------------------------------------------ */

static bool next_query(struct guess *guess, char *text, size_t size)
{
    struct row_view *s = &guess->view;
    s->at.row++;
    s->at.i++;
    snprintf(text, size, "as if it computed query %zu", s->at.i);
    return s->at.i < s->sequence.q_len;
}

static bool previous_query(struct guess *guess, char *text, size_t size)
{
    struct row_view *s = &guess->view;
    s->at.row--;
    snprintf(text, size, "as if it computed query %zu", --s->at.i);
    return s->at.i != SIZE_MAX;
}

static bool unsigned_bytes(struct guess *guess, char *text, size_t size)
{
    const bool bytes = guess->tensors.k.dtype == ATTN_I8;
    guess->tensors.k.dtype = guess->tensors.v.dtype = ATTN_BOOL; /* an unsigned type of 8 bits */
    snprintf(text, size, "as if bytes of int8 were unsigned");
    return bytes;
}

static bool unscaled(struct guess *guess, struct attn_tensor *scale, const char *name, char *text,
                     size_t size)
{
    static float one = 1;
    *scale = (struct attn_tensor){&one, ATTN_F32, {0, 0, 0, 0}};
    snprintf(text, size, "as if %s were not applied", name);
    return attn_dtype_scaled(guess->problem.kv_dtype);
}

static bool k_unscaled(struct guess *guess, char *text, size_t size)
{
    return unscaled(guess, &guess->tensors.k_scale, "k_scale", text, size);
}

static bool v_unscaled(struct guess *guess, char *text, size_t size)
{
    return unscaled(guess, &guess->tensors.v_scale, "v_scale", text, size);
}

static bool zeros_of_8(struct guess *guess, char *text, size_t size)
{
    const bool zeros = guess->problem.options & ATTN_OPTION_ZERO_POINTS;
    guess->problem.options &= ~(unsigned)ATTN_OPTION_ZERO_POINTS;
    snprintf(text, size, "as if zero points were 8");
    return zeros;
}

static bool v_zeros_for_k(struct guess *guess, char *text, size_t size)
{
    guess->tensors.k_zero = guess->tensors.v_zero;
    snprintf(text, size, "as if v_zero were k_zero");
    return guess->problem.options & ATTN_OPTION_ZERO_POINTS &&
           guess->problem.v_dim >= guess->problem.qk_dim;
}

/* ---- all of them --------------------------------------------------------------------------- */

static suppose *const guesses[] = {
    last_key_missing,
    first_key_missing,
    one_key_more,
    one_key_before,
    no_mask,
    other_alignment,
    first_mask,
    padded,
    length_of_neighbour,
    slope_from_first,
    scaled_sink,
    next_query,
    previous_query,
    unsigned_bytes,
    k_unscaled,
    v_unscaled,
    chain,
    first_tree,
    every_key,
    first_list,
    list_of_first_head,
    zeros_of_8,
    v_zeros_for_k,
};

#define GUESSES (sizeof guesses / sizeof *guesses)

enum { SCALES = 6 };

/* Hypotheses after those of the table: another scale. */
static bool other_scale(size_t n, struct guess *guess, char *text, size_t size)
{
    const float scale = guess->problem.scale;
    const struct {
        float scale;
        const char *reason;
    } scales[SCALES] = {
        {0, "the scale were 1/sqrt(D), whatever the problem says"},
        {fabsf(scale), "the scale were positive"},
        {scale * scale, "the scale were applied twice"},
        {1, "the scale were not applied"},
        {scale * 1.44269504f, "scores were multiplied by log2(e) and then passed to exp"},
        {scale * 0.693147181f, "exp2 were used instead of exp"},
    };
    guess->problem.scale = scales[n].scale;
    snprintf(text, size, "as if %s", scales[n].reason);
    return n == 0 ? scale != attn_problem_scale(&guess->problem) : scale != scales[n].scale;
}

/* Masks and options that a kernel may ignore. */
static const struct {
    unsigned mask, option;
    const char *name;
} parts[] = {
    {.mask = ATTN_MASK_BOOL, .name = "boolean mask"},
    {.option = ATTN_OPTION_SOFTCAP, .name = "softcap"},
    {.mask = ATTN_MASK_BIAS, .name = "bias"},
    {.option = ATTN_OPTION_ALIBI, .name = "slope"},
    {.option = ATTN_OPTION_SINKS, .name = "sink"},
};

#define PARTS (sizeof parts / sizeof *parts)

/* Hypotheses after these: the problem without one of its masks or options. */
static bool left_out(size_t n, struct guess *guess, char *text, size_t size)
{
    struct attn_problem *p = &guess->problem;
    const bool had = p->mask & parts[n].mask || p->options & parts[n].option;
    p->mask &= ~parts[n].mask;
    p->options &= ~parts[n].option;
    snprintf(text, size, "as if there were no %s", parts[n].name);
    return had;
}

void guess_nothing(struct guess *guess, const struct row_view *right)
{
    *guess = (struct guess){.problem = *right->problem, .tensors = *right->tensors, .view = *right};
    if (right->problem->dtype != ATTN_F64) /* no float equals the default scale of f64 */
        guess->problem.scale = attn_problem_scale(right->problem);
    guess->view.problem = &guess->problem;
    guess->view.tensors = &guess->tensors;
}

bool guess_make(size_t n, const struct row_view *right, struct guess *guess, bool *fits, char *text,
                size_t size)
{
    guess_nothing(guess, right);
    if (n < GUESSES)
        *fits = guesses[n](guess, text, size);
    else if (n < GUESSES + SCALES)
        *fits = other_scale(n - GUESSES, guess, text, size);
    else if (n < GUESSES + SCALES + PARTS)
        *fits = left_out(n - GUESSES - SCALES, guess, text, size);
    else
        return guess_place(n - GUESSES - SCALES - PARTS, right, guess, fits, text, size);
    return true;
}
