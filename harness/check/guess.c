/*
 * guess: mistakes that kernels make, each as the problem that they then compute.
 */
#include "evidence.h"

#include <math.h>

/* Changes the guess and describes it; false where that makes no sense for this problem. */
typedef bool suppose(struct guess *guess);

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

static bool last_key_missing(struct guess *guess)
{
    size_t first, last;
    if (!ends_of(&guess->view, &first, &last))
        return false;
    guess->view.range.hi = (ptrdiff_t)last;
    return guess_say(guess, first < last, "as if it did not see its last key, %zu", last);
}

static bool first_key_missing(struct guess *guess)
{
    size_t first, last;
    if (!ends_of(&guess->view, &first, &last))
        return false;
    guess->view.range.lo = (ptrdiff_t)first + 1;
    return guess_say(guess, first < last, "as if it did not see its first key, %zu", first);
}

static bool see(struct guess *guess, size_t j)
{
    struct row_view *s = &guess->view;
    const char *hider = row_view_hider(s, j);
    s->range.lo = (ptrdiff_t)j < s->range.lo ? (ptrdiff_t)j : s->range.lo;
    s->range.hi = (ptrdiff_t)j < s->range.hi ? s->range.hi : (ptrdiff_t)j + 1;
    s->shown = j;
    return guess_say(guess, true, "query %zu sees key %zu, %s", s->at.i, j, hider);
}

static bool one_key_more(struct guess *guess)
{
    size_t first, last;
    return ends_of(&guess->view, &first, &last) && last + 1 < row_view_reach(&guess->view) &&
           see(guess, last + 1);
}

static bool one_key_before(struct guess *guess)
{
    size_t first, last;
    return ends_of(&guess->view, &first, &last) && first > 0 && see(guess, first - 1);
}

#define POSITIONAL (unsigned)(ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT)

static bool no_mask(struct guess *guess)
{
    struct attn_problem *p = &guess->problem;
    const unsigned places = POSITIONAL | ATTN_MASK_TREE;
    const bool any = p->mask & places || p->options & ATTN_OPTION_WINDOW;
    p->mask &= ~places;
    p->options &= ~(unsigned)ATTN_OPTION_WINDOW;
    guess->view.range = (struct attn_range){0, (ptrdiff_t)guess->view.sequence.kv_len};
    return guess_say(guess, any, "as if there were no mask");
}

static bool other_alignment(struct guess *guess)
{
    struct attn_problem *p = &guess->problem;
    const bool causal = p->mask & POSITIONAL;
    p->mask ^= POSITIONAL;
    row_view_update(&guess->view);
    return guess_say(guess, causal, "as if the mask were aligned to the %s key",
                     p->mask & ATTN_MASK_CAUSAL ? "last" : "first");
}

static bool chain(struct guess *guess)
{
    const bool tree = guess->problem.mask & ATTN_MASK_TREE;
    guess->problem.mask ^= ATTN_MASK_TREE | ATTN_MASK_CAUSAL;
    return guess_say(guess, tree, "as if the drafts were a chain");
}

static bool first_tree(struct guess *guess)
{
    struct attn_tensor *t = &guess->tensors.parents;
    if (!(guess->problem.mask & ATTN_MASK_TREE))
        return false;
    t->data = (int32_t *)t->data - guess->view.sequence.q_first;
    t->stride[0] = 0;
    return guess_say(guess, guess->view.at.b > 0, "as if it read the tree of sequence 0");
}

static bool every_key(struct guess *guess)
{
    const bool listed = guess->view.list;
    guess->view.list = NULL;
    return guess_say(guess, listed, "as if it saw keys that its list does not name");
}

static bool first_list(struct guess *guess)
{
    const struct row_view *s = &guess->view;
    guess->view.list = attn_list(&guess->problem, &guess->tensors, s->at.b, s->g, 0);
    return guess_say(guess, guess->view.list && s->at.i >= guess->problem.index_block,
                     "as if it read the list of query 0");
}

static bool list_of_first_head(struct guess *guess)
{
    const struct row_view *s = &guess->view;
    guess->view.list = attn_list(&guess->problem, &guess->tensors, s->at.b, 0, s->at.i);
    return guess_say(guess, guess->view.list && s->g > 0, "as if it read the list of KV head 0");
}

static bool first_mask(struct guess *guess)
{
    const bool several = guess->problem.mask & ATTN_MASK_BOOL && guess->tensors.mask.stride[1];
    guess->tensors.mask.stride[1] = 0;
    return guess_say(guess, several && guess->view.at.h > 0,
                     "as if it read the boolean mask of head 0");
}

static bool padded(struct guess *guess)
{
    struct attn_sequence *s = &guess->view.sequence;
    const size_t keys = s->kv_len, b = guess->view.at.b;
    s->kv_len = row_view_reach(&guess->view);
    row_view_update(&guess->view);
    return guess_say(guess, s->kv_len > keys, "as if sequence %zu had %zu keys instead of %zu", b,
                     s->kv_len, keys);
}

static bool length_of_neighbour(struct guess *guess)
{
    struct row_view *s = &guess->view;
    const size_t keys = s->sequence.kv_len, next = (s->at.b + 1) % guess->problem.batch;
    s->sequence.kv_len = attn_sequence(&guess->problem, &guess->tensors, next).kv_len;
    row_view_update(s);
    return guess_say(guess, s->sequence.kv_len < keys,
                     "as if sequence %zu had the %zu keys of sequence %zu", s->at.b,
                     s->sequence.kv_len, next);
}

/* ---- scores -------------------------------------------------------------------------------- */

static bool slope_from_first(struct guess *guess)
{
    struct row_view *s = &guess->view;
    const ptrdiff_t right = s->position;
    s->position = (ptrdiff_t)s->at.i;
    return guess_say(guess, guess->problem.options & ATTN_OPTION_ALIBI && s->position != right,
                     "as if slopes began at key %zu instead of %td", s->at.i, right);
}

static bool scaled_sink(struct guess *guess)
{
    guess->view.sink *= (double)attn_problem_scale(&guess->problem);
    return guess_say(guess,
                     guess->problem.options & ATTN_OPTION_SINKS && isfinite(guess->view.sink),
                     "as if the sink were scaled, too");
}

/* ---- operands ------------------------------------------------------------------------------ */

static bool next_query(struct guess *guess)
{
    struct row_view *s = &guess->view;
    s->at.row++;
    s->at.i++;
    return guess_say(guess, s->at.i < s->sequence.q_len, "as if it computed query %zu", s->at.i);
}

static bool previous_query(struct guess *guess)
{
    struct row_view *s = &guess->view;
    s->at.row--;
    s->at.i--;
    return guess_say(guess, s->at.i != SIZE_MAX, "as if it computed query %zu", s->at.i);
}

static bool unsigned_bytes(struct guess *guess)
{
    const bool bytes = guess->tensors.k.dtype == ATTN_I8;
    guess->tensors.k.dtype = guess->tensors.v.dtype = ATTN_BOOL; /* an unsigned type of 8 bits */
    return guess_say(guess, bytes, "as if bytes of int8 were unsigned");
}

static bool unscaled(struct guess *guess, struct attn_tensor *scale, const char *name)
{
    static float one = 1;
    *scale = (struct attn_tensor){&one, ATTN_F32, {0, 0, 0, 0}};
    return guess_say(guess, attn_dtype_scaled(guess->problem.kv_dtype), "as if %s were not applied",
                     name);
}

static bool k_unscaled(struct guess *guess)
{
    return unscaled(guess, &guess->tensors.k_scale, "k_scale");
}

static bool v_unscaled(struct guess *guess)
{
    return unscaled(guess, &guess->tensors.v_scale, "v_scale");
}

static bool zeros_of_8(struct guess *guess)
{
    const bool zeros = guess->problem.options & ATTN_OPTION_ZERO_POINTS;
    guess->problem.options &= ~(unsigned)ATTN_OPTION_ZERO_POINTS;
    return guess_say(guess, zeros, "as if zero points were 8");
}

static bool v_zeros_for_k(struct guess *guess)
{
    guess->tensors.k_zero = guess->tensors.v_zero;
    return guess_say(guess,
                     guess->problem.options & ATTN_OPTION_ZERO_POINTS &&
                         guess->problem.v_dim >= guess->problem.qk_dim,
                     "as if v_zero were k_zero");
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
    guess->text = text;
    guess->size = size;
    if (n >= GUESSES + GUESS_OPTIONS)
        return guess_place(n - GUESSES - GUESS_OPTIONS, right, guess, fits);
    *fits = n < GUESSES ? guesses[n](guess) : guess_option(n - GUESSES, guess);
    return true;
}
