/*
 * repeats: runs the kernel again, on other thread counts, with more threads than rows, and with other inputs.
 */
#include <limits.h>
#include <stdio.h>

#include "base/random.h"
#include "problem/clause.h"
#include "phases.h"

#define REPEATS 3

static struct problem_case normal(const struct checker *checker, const struct attn_problem *problem,
                                  uint64_t seed)
{
    struct problem_case c = shrink_case(checker, problem);
    c.input.seed = seed;
    return c;
}

/* The first row whose bits differ between two trials of one problem; false where none. */
static bool first_difference(const struct trial *a, const struct trial *b, unsigned outputs,
                             struct tensors_place *at)
{
    size_t row;
    struct attn_problem p = a->problem;
    p.outputs &= outputs;
    const bool differ = kept_differing(&p, &a->set.tensors, &b->set.tensors, &row, 1);
    if (differ)
        *at = tensors_place(&p, &a->set.tensors, row);
    return differ;
}

bool repeats_open_normal(struct trial *trial, struct checker *checker, const char *phase,
                         const struct attn_problem *problem, int threads)
{
    const struct problem_case c = normal(checker, problem, 1);
    return trial_open_filled(trial, checker, phase, &c, trial_layout(0), threads);
}

static bool must_equal(struct trial *trial, const struct trial *first, const char *when)
{
    struct tensors_place at;
    if (trial->checker->kernel->caps.varies || !first_difference(first, trial, UINT_MAX, &at))
        return true;
    return failure_found(trial, "row (b %zu, h %zu, i %zu) differs bitwise %s", at.b, at.h, at.i,
                         when);
}

/* Repeats and other thread counts against `first`. */
static bool check_again(struct checker *checker, const struct trial *first, int threads)
{
    struct trial trial;
    const bool same = threads == TRIAL_EVERY_COUNT;
    char when[64];
    snprintf(when, sizeof when, same ? "between two calls" : "on %d threads and on %d", threads,
             checker->threads);
    if (!repeats_open_normal(&trial, checker, same ? "repeat" : "threads", &first->problem,
                             threads))
        return checker->result->ok;
    bool right = true;
    for (int n = 0; right && n < (same ? REPEATS : 1); n++)
        right = trial_judge(&trial, 64) && must_equal(&trial, first, when);
    trial_close(&trial);
    return right;
}

/* One plan with another input: a kernel must not return an earlier result. */
static bool check_second_input(struct checker *checker, const struct trial *first)
{
    struct trial trial;
    struct tensors_place at;
    char message[256];
    if (!repeats_open_normal(&trial, checker, "second input", &first->problem, TRIAL_EVERY_COUNT))
        return checker->result->ok;
    bool right = trial_judge(&trial, 64);
    const struct problem_case other = normal(checker, &first->problem, 2);
    if (right && !tensors_fill(&trial.set, &other, 0, MESSAGE(message)))
        right = failure_give_up(&trial, "%s", message);
    right = right && trial_run(&trial);
    const bool looks = attn_work(&first->problem, &first->set.tensors).pairs > 0;
    if (right && looks && !first_difference(first, &trial, ATTN_OUTPUT_O, &at))
        right = failure_found(&trial, "the plan's second call returned the result of its first");
    right = right && trial_look(&trial, SIZE_MAX);
    trial_close(&trial);
    return right;
}

/* Negates elements [0, dims) of a row; an int8 x becomes -1 - x, because -128 has no negative, and a 4-bit
 * x 15 - x. */
static void negate(const struct attn_tensor *t, void *row, size_t dims)
{
    const struct attn_tensor one = {row, t->dtype, {0}};
    for (size_t d = 0; d < dims; d++)
        tensors_set(&one, 0, 0, 0, d,
                    (t->dtype == ATTN_I8   ? -1
                     : t->dtype == ATTN_I4 ? 15
                                           : 0) -
                        tensors_get(&one, 0, 0, 0, d));
}

static void negate_key(const struct attn_problem *p, const struct attn_tensors *t,
                       const struct attn_sequence *s, size_t b, size_t g, size_t j)
{
    void *k = attn_kv_row(p, t, &t->k, s, b, g, j);
    void *v = attn_kv_row(p, t, &t->v, s, b, g, j);
    negate(&t->k, k, p->qk_dim);
    if (v != k)
        negate(&t->v, v, p->v_dim);
}

/* Changes one random key of each head, neither the first nor the last nor the middle one: a kernel might
 * recognise operands by those. */
static void change_one_key(const struct attn_problem *p, const struct attn_tensors *t)
{
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        for (size_t g = 0; s.kv_len > 4 && g < p->kv_heads; g++) {
            const size_t between = s.kv_len / 2 - 1; /* keys between the first and the middle */
            const double drawn = random_unit(random_key(s.kv_len, b), g);
            negate_key(p, t, &s, b, g, 1 + (size_t)(drawn * (double)between));
        }
    }
}

void repeats_negate(const struct attn_problem *p, const struct attn_tensors *t, size_t b, size_t i,
                    size_t j)
{
    const struct attn_sequence s = attn_sequence(p, t, b);
    for (size_t h = 0; h < p->q_heads; h++)
        for (size_t n = i; n < s.q_len; n++)
            negate(&t->q, attn_row(&t->q, b, h, s.q_first + n), p->qk_dim);
    for (size_t g = 0; g < p->kv_heads; g++)
        for (size_t n = j; n < s.kv_len; n++)
            if (!clause_prefix_holds(p, t, b, n))
                negate_key(p, t, &s, b, g, n);
}

/* Changes the second half of each sequence's queries and keys. */
static void change_late_elements(const struct attn_problem *p, const struct attn_tensors *t)
{
    for (size_t b = 0; b < p->batch; b++) {
        const struct attn_sequence s = attn_sequence(p, t, b);
        repeats_negate(p, t, b, (s.q_len + 1) / 2, (s.kv_len + 1) / 2);
    }
}

/* Whether the last query sees keys whose values have changed. */
static bool last_query_sees_all(const struct attn_problem *p)
{
    return p->kv_len > 1 && !(p->mask & ~(unsigned)ATTN_MASK_CAUSAL) && !p->options;
}

/* One plan with operands that differ from the previous ones only in late elements, then only in single
 * keys: a kernel must not recognise operands by their first bytes or by samples. */
static bool check_late_elements(struct checker *checker, const struct trial *first)
{
    const struct attn_problem *problem = &first->problem;
    struct tensors_place at;
    struct trial trial;
    if (!repeats_open_normal(&trial, checker, "late elements", problem, TRIAL_EVERY_COUNT))
        return checker->result->ok;
    bool right = trial_judge(&trial, 64);
    change_late_elements(problem, &trial.set.tensors);
    tensors_seal(&trial.set, problem);
    right = right && trial_run(&trial);
    if (right && last_query_sees_all(problem) &&
        !first_difference(first, &trial, ATTN_OUTPUT_O, &at))
        right = failure_found(&trial, "the result is that of earlier operands which begin alike");
    right = right && trial_look(&trial, SIZE_MAX);
    change_one_key(problem, &trial.set.tensors);
    tensors_seal(&trial.set, problem);
    right = right && trial_run(&trial) && trial_look(&trial, SIZE_MAX);
    trial_close(&trial);
    return right;
}

/* Number of threads that get no row. */
#define IDLE_THREADS 3

static bool check_idle_threads(struct checker *checker, const struct attn_problem *small)
{
    struct trial trial;
    struct attn_problem p = *small;
    p.batch = p.batch > 2 ? 2 : p.batch;
    p.q_heads /= p.kv_heads;
    p.kv_heads = 1;
    p.q_len = p.q_len > 2 ? 2 : p.q_len;
    const int threads = (int)(p.batch * p.q_heads * p.q_len) + IDLE_THREADS;
    if (!repeats_open_normal(&trial, checker, "more threads than rows", &p, threads))
        return checker->result->ok;
    const bool right = trial_judge(&trial, SIZE_MAX);
    trial_close(&trial);
    return right;
}

static bool is_one_of(const struct checker *checker, int threads)
{
    bool one = false;
    for (size_t k = 0; k < checker->count; k++)
        one |= checker->counts[k] == threads;
    return one;
}

bool repeats_run(struct checker *checker, const struct attn_problem *small)
{
    struct trial first;
    struct attn_problem problem = *small;
    problem.outputs |= ATTN_OUTPUT_O | (checker->kernel->caps.outputs & ATTN_OUTPUT_LSE);
    if (!repeats_open_normal(&first, checker, "repeat", &problem, TRIAL_EVERY_COUNT))
        return checker->result->ok;
    bool right = trial_judge(&first, SIZE_MAX) && check_second_input(checker, &first) &&
                 check_late_elements(checker, &first) &&
                 check_again(checker, &first, TRIAL_EVERY_COUNT);
    for (int threads = checker->threads - 1; right && threads >= 1; threads--)
        right = is_one_of(checker, threads) || check_again(checker, &first, threads);
    trial_close(&first);
    return right && check_idle_threads(checker, &problem);
}
