/*
 * lengths: stratified lengths with a given mean, in an order by the seed.
 *
 * Length number n of B is LO + (HI - LO) (n / (B - 1))^a: the shortest is LO, the longest HI, and a is chosen
 * so that their mean is the given one, as near as B allows.  Servers have few long and many short sequences,
 * a > 1.
 */
#include "lengths.h"

#include <math.h>
#include <stdlib.h>

#include "base/random.h"

enum { STREAM_Q = 1, STREAM_KV };       /* streams of the two orders */
#define ORDERS UINT64_C(0x6f7264657273) /* key of the orders, unlike that of elements */

static size_t length_at(const struct input_lengths *l, size_t n, size_t count, double exponent)
{
    const double at = (double)n / (double)(count - 1);
    return l->lo + (size_t)rint((double)(l->hi - l->lo) * pow(at, exponent));
}

/* Bisection: the mean decreases in the exponent. */
static double find_exponent(const struct input_lengths *l, size_t count)
{
    double low = -30, high = 30; /* log2 of the exponent */
    for (int step = 0; step < 50; step++) {
        const double middle = (low + high) / 2;
        double sum = 0;
        for (size_t n = 0; n < count; n++)
            sum += (double)length_at(l, n, count, exp2(middle));
        if (sum > (double)l->mean * (double)count)
            low = middle;
        else
            high = middle;
    }
    return exp2(high);
}

static void stratify(const struct input_lengths *l, size_t count, size_t *lengths)
{
    lengths[0] = l->mean;
    if (count == 1)
        return;
    const double exponent = find_exponent(l, count);
    for (size_t n = 0; n < count; n++)
        lengths[n] = length_at(l, n, count, exponent);
}

static struct input_lengths usual(size_t most)
{
    return (struct input_lengths){.lo = 1, .hi = most, .mean = 1 + (most - 1) / 2};
}

/* Whether packed sequences have as many queries as keys: the default unless clauses give other lengths. */
static bool looks_at_itself(const struct problem_case *c)
{
    return attn_keys_packed(&c->problem) && c->problem.q_len == c->problem.kv_len &&
           !((c->input.lens.given || c->input.run_count) && c->input.qlens.given) &&
           !c->input.decode;
}

/* Copies queries or keys of sequences that are given one by one. */
static void unroll(const struct problem_case *c, bool queries, size_t *lengths)
{
    size_t b = 0;
    for (size_t i = 0; i < c->input.run_count; i++)
        for (size_t n = 0; n < c->input.runs[i].count && b < c->problem.batch; n++)
            lengths[b++] = queries ? c->input.runs[i].q : c->input.runs[i].kv;
}

static void find_q(const struct problem_case *c, size_t *q)
{
    const struct attn_problem *p = &c->problem;
    const struct input *in = &c->input;
    const struct input_lengths l = in->qlens.given                        ? in->qlens
                                   : in->lens.given && looks_at_itself(c) ? in->lens
                                                                          : usual(p->q_len);
    const bool mixed = lengths_vary_q(p) && in->decode;
    const bool itself = looks_at_itself(c) && !in->qlens.given;
    for (size_t b = 0; b < p->batch; b++)
        q[b] = mixed && b < in->decode ? 1 : p->q_len;
    if (in->run_count && lengths_vary_q(p) && (in->runs[0].q || itself)) {
        unroll(c, in->runs[0].q, q);
        return;
    }
    if (lengths_vary_q(p) && !mixed)
        stratify(&l, p->batch, q);
    if (lengths_vary_q(p))
        random_shuffle(q, p->batch, random_key(in->seed ^ ORDERS, STREAM_Q));
}

static void find_kv(const struct problem_case *c, const size_t *q, size_t *kv)
{
    const struct attn_problem *p = &c->problem;
    const struct input_lengths l = c->input.lens.given ? c->input.lens : usual(p->kv_len);
    const bool itself = looks_at_itself(c) && !c->input.run_count;
    for (size_t b = 0; b < p->batch; b++)
        kv[b] = itself ? q[b] : p->kv_len;
    if (c->input.run_count && lengths_vary_kv(p))
        unroll(c, false, kv);
    if (c->input.run_count || itself || !lengths_vary_kv(p))
        return;
    stratify(&l, p->batch, kv);
    random_shuffle(kv, p->batch, random_key(c->input.seed ^ ORDERS, STREAM_KV));
}

bool lengths_of(const struct problem_case *c, struct lengths *lengths)
{
    const size_t batch = c->problem.batch;
    *lengths = (struct lengths){reallocarray(NULL, batch, sizeof *lengths->q),
                                reallocarray(NULL, batch, sizeof *lengths->kv)};
    if (!lengths->q || !lengths->kv) {
        lengths_free(lengths);
        return false;
    }
    find_q(c, lengths->q);
    find_kv(c, lengths->q, lengths->kv);
    return true;
}

void lengths_free(struct lengths *lengths)
{
    free(lengths->q);
    free(lengths->kv);
    *lengths = (struct lengths){0};
}

size_t lengths_shortest(const struct input *input, const struct attn_problem *problem)
{
    const struct input_lengths l = input->lens.given ? input->lens : usual(problem->kv_len);
    size_t least = problem->batch == 1 ? l.mean : l.lo;
    if (!lengths_vary_kv(problem))
        return problem->kv_len;
    if (input->run_count)
        least = input->runs[0].kv;
    for (size_t i = 0; i < input->run_count; i++)
        least = input->runs[i].kv < least ? input->runs[i].kv : least;
    return least;
}

static void add_work(struct attn_work *work, const struct attn_problem *p)
{
    work->pairs += attn_visible_pairs(p);
    work->flops += attn_useful_flops(p);
    work->bytes += attn_compulsory_bytes(p);
}

struct attn_work lengths_work(const struct problem_case *c)
{
    const struct attn_problem *p = &c->problem;
    const bool vary = lengths_vary_q(p) || lengths_vary_kv(p);
    struct attn_problem one = *p;
    struct attn_work work = {0};
    struct lengths lengths;
    if (!vary || c->input.kind == INPUT_FILE || !lengths_of(c, &lengths)) {
        add_work(&work, p);
        return work;
    }
    one.batch = 1;
    one.options &= ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED | ATTN_OPTION_PAGED);
    for (size_t b = 0; b < p->batch; b++) {
        one.q_len = lengths.q[b];
        one.kv_len = lengths.kv[b];
        add_work(&work, &one);
    }
    lengths_free(&lengths);
    return work;
}
