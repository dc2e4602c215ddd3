/*
 * invariant: whether a row's bits depend on its own sequence alone.
 *
 * The answer to one user of a server must not depend on the other users (He and Thinking Machines Lab 2025,
 * "Defeating Nondeterminism in LLM Inference").  So a sequence must have the same bits in every call, on
 * every number of threads and however these split its keys, alone and at each place of a batch, whatever
 * numbers its neighbours have, and whether or not it shares pages with them.
 *
 * Another number of queries may change the bits: kernels choose tiles and splits by it, and it is the
 * sequence's own, unless the caller cuts prefills into chunks according to load; chunks of fixed length have
 * equal bits.  Experiment invariance shows how chunks change them.
 */
#include <stdio.h>
#include <string.h>

#include "phases.h"

#define BATCH 3 /* at least: a first, a last and one between */
#define EVERY SIZE_MAX

/* ---- parts ----------------------------------------------------------------------------------- */

static void begin_at(struct attn_tensor *t, size_t b, size_t i)
{
    const ptrdiff_t elements = (ptrdiff_t)b * t->stride[0] + (ptrdiff_t)i * t->stride[2];
    if (t->data)
        t->data = (char *)t->data + attn_elements_bytes(t->dtype, elements);
}

struct attn_tensors invariant_part(const struct attn_tensors *whole, size_t b, size_t i)
{
    struct attn_tensors part = *whole;
    struct attn_tensor *const queries[] = {&part.q, &part.o, &part.lse, &part.weights,
                                           &part.scores};
    for (size_t n = 0; n < sizeof queries / sizeof *queries; n++)
        begin_at(queries[n], b, i);
    begin_at(&part.k, b, 0);
    begin_at(&part.v, b, 0);
    return part;
}

void invariant_copy_rows(const struct attn_tensor *to, const struct attn_tensor *from, size_t batch,
                         size_t heads, size_t length, size_t dims)
{
    for (size_t b = 0; b < batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < length; i++)
                memcpy(attn_row(to, b, h, i), attn_row(from, b, h, i),
                       dims * attn_dtype_size(to->dtype));
}

void invariant_part_copy(const struct attn_problem *p, const struct attn_tensors *to,
                         const struct attn_tensors *from)
{
    invariant_copy_rows(&to->q, &from->q, p->batch, p->q_heads, p->q_len, p->qk_dim);
    invariant_copy_rows(&to->k, &from->k, p->batch, p->kv_heads, p->kv_len, p->qk_dim);
    invariant_copy_rows(&to->v, &from->v, p->batch, p->kv_heads, p->kv_len, p->v_dim);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* Compares the results of a trial's sequence, or of all, with earlier ones; the message adds `b` to the
 * numbers of the trial's sequences. */
static bool must_equal(struct trial *trial, size_t sequence, const struct attn_tensors *earlier,
                       size_t b, const char *now, const char *before)
{
    const struct attn_problem *p = &trial->problem;
    const int digits = compare_digits(p);
    struct kept_difference d;
    for (size_t row = 0; row < tensors_rows(p, &trial->set.tensors); row++) {
        const struct tensors_place at = tensors_place(p, &trial->set.tensors, row);
        if ((sequence == EVERY || sequence == at.b) &&
            kept_difference(p, &trial->set.tensors, earlier, at, &d))
            return failure_found(
                trial, "row (b %zu, h %zu, i %zu) element %zu of %s is %.*g %s and %.*g %s",
                b + at.b, at.h, at.i, d.element, d.tensor, digits, d.a, now, digits, d.b, before);
    }
    return true;
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Negates the operands of every sequence but one; a second call restores them. */
static void negate_others(struct trial *trial, size_t sequence)
{
    for (size_t b = 0; b < trial->problem.batch; b++)
        if (b != sequence)
            repeats_negate(&trial->problem, &trial->set.tensors, b, 0, 0);
    tensors_seal(&trial->set, &trial->problem);
}

static bool check_neighbours(struct trial *whole, const struct kept *first)
{
    const size_t last = whole->problem.batch - 1, places[] = {0, last};
    bool right = true;
    snprintf(whole->phase, sizeof whole->phase, "neighbours");
    for (size_t n = 0; right && n < sizeof places / sizeof *places; n++) {
        negate_others(whole, places[n]);
        right = trial_run(whole) && must_equal(whole, places[n], &first->tensors, 0,
                                               "beside other sequences", "beside the first");
        negate_others(whole, places[n]);
    }
    return right;
}

/* Checks one sequence of the batch alone, as a problem of its own lengths, with gaps between its rows, as rows of a
 * cache may have. */
static bool check_alone(struct trial *whole, size_t b, const struct attn_tensors *results)
{
    static const struct tensors_layout gaps = {.guard = TENSORS_GUARD_BACK, .row_padding = 3};
    const struct attn_sequence own = attn_sequence(&whole->problem, &whole->set.tensors, b);
    /* of the batch's seed, from which sinks are drawn */
    struct problem_case c = {.problem = whole->problem,
                             .input = {.kind = INPUT_NORMAL, .seed = whole->input.seed}};
    struct trial trial;
    char place[48];
    if (!own.q_len || !own.kv_len)
        return true;
    c.problem.batch = 1;
    c.problem.q_len = own.q_len;
    c.problem.kv_len = own.kv_len;
    c.problem.options &= ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED);
    if (!trial_open(&trial, whole->checker, "batch", &c, gaps, TRIAL_EVERY_COUNT))
        return whole->checker->result->ok;
    struct attn_tensors operands = invariant_part(&whole->set.tensors, b, own.q_first);
    const struct attn_tensors other = invariant_part(results, b, own.q_first);
    begin_at(&operands.k, 0, own.kv_first);
    begin_at(&operands.v, 0, own.kv_first);
    invariant_part_copy(&c.problem, &trial.set.tensors, &operands);
    tensors_seal(&trial.set, &c.problem);
    snprintf(place, sizeof place, "in a batch of %zu", whole->problem.batch);
    const bool right = trial_run(&trial) && must_equal(&trial, EVERY, &other, b, "alone", place);
    trial_close(&trial);
    return right;
}

/* Checks the batch again with pages of its own for each sequence: the keys of a shared prefix are copied. */
static bool check_unshared(struct trial *whole, const struct attn_tensors *results)
{
    struct problem_case c = {.problem = whole->problem, .input = whole->input};
    const struct attn_problem *p = &c.problem;
    const struct attn_tensors *from = &whole->set.tensors;
    struct trial trial;
    c.input.prefix_keys = 0;
    if (!trial_open(&trial, whole->checker, "pages of its own", &c, trial_layout(0),
                    TRIAL_EVERY_COUNT))
        return whole->checker->result->ok;
    const struct attn_tensors *to = &trial.set.tensors;
    for (size_t row = 0; row < tensors_rows(p, from); row++) {
        const struct tensors_place at = tensors_place(p, from, row);
        memcpy(attn_row(&to->q, at.b, at.h, at.row), attn_row(&from->q, at.b, at.h, at.row),
               p->qk_dim * attn_dtype_size(p->dtype));
    }
    properties_copy_keys(whole, &trial, 0, false);
    tensors_seal(&trial.set, p);
    const bool right = trial_run(&trial) && must_equal(&trial, EVERY, results, 0,
                                                       "in pages of its own", "in shared ones");
    trial_close(&trial);
    return right;
}

/* Whether a sequence's operands are only rows of Q, K and V, which follow each other. */
static bool is_dense(const struct attn_problem *p)
{
    const unsigned elsewhere = ATTN_OPTION_PAGED | ATTN_OPTION_INDEX;
    return !(p->options & elsewhere) &&
           !(p->mask & (ATTN_MASK_BOOL | ATTN_MASK_BIAS | ATTN_MASK_TREE)) &&
           !attn_dtype_scaled(p->kv_dtype);
}

static bool check_batch(struct trial *whole)
{
    struct kept first;
    bool right = kept_copy(&first, &whole->problem, &whole->set) ||
                 failure_give_up(whole, "no memory to keep results");
    right = right && trial_run(whole) &&
            must_equal(whole, EVERY, &first.tensors, 0, "in one call", "in another") &&
            check_neighbours(whole, &first);
    if (right && whole->input.prefix_keys)
        right = check_unshared(whole, &first.tensors);
    const size_t sequences = right && is_dense(&whole->problem) ? whole->problem.batch : 0;
    for (size_t b = 0; right && b < sequences; b++)
        right = check_alone(whole, b, &first.tensors);
    kept_free(&first);
    return right;
}

bool invariant_run(struct checker *checker, const struct attn_problem *problem)
{
    struct attn_problem batched = *problem;
    struct trial trial;
    batched.batch = batched.batch < BATCH ? BATCH : batched.batch;
    batched.outputs |= ATTN_OUTPUT_O | (checker->kernel->caps.outputs & ATTN_OUTPUT_LSE);
    if (!repeats_open_normal(&trial, checker, "threads", &batched, TRIAL_EVERY_COUNT))
        return checker->result->ok;
    bool right = trial_run(&trial);
    snprintf(trial.phase, sizeof trial.phase, "repeat");
    right = right && check_batch(&trial);
    trial_close(&trial);
    return right;
}
