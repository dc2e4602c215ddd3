/*
 * shrink: a smaller problem on which a kernel takes the same branches.
 */
#include <math.h>

#include "phases.h"

/* To make, lay out and checksum an element of K or V takes about as long as this many multiply-adds, which
 * matters for decode, with many keys and few queries.  Pages are filled whole. */
#define FILLING 32

static double multiply_adds(const struct attn_problem *p)
{
    const size_t page = p->options & ATTN_OPTION_PAGED ? p->page_size : 1;
    const double elements = (double)p->batch * (double)(p->qk_dim + p->v_dim);
    const double stored = ceil((double)p->kv_len / (double)page) * (double)page;
    return elements * ((double)p->kv_len * (double)p->q_heads * (double)p->q_len +
                       FILLING * stored * (double)p->kv_heads);
}

/* A length that is the same modulo `base`, and less than 2 * base where n is more. */
static size_t shorten(size_t n, size_t base)
{
    return n <= 2 * base ? n : base + n % base;
}

/* The smaller of n and `needed`, but at least `least`. */
static size_t fewer(size_t n, size_t least, size_t needed)
{
    const size_t enough = needed > least ? needed : least;
    return n < enough ? n : enough;
}

struct attn_problem shrink_heads(const struct attn_problem *problem, double limit, size_t rows)
{
    struct attn_problem p = *problem;
    if (multiply_adds(&p) <= limit)
        return p;
    const size_t group = p.q_heads / p.kv_heads;
    const unsigned own_lengths = ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED;
    const size_t sequences = p.options & own_lengths ? 4 : 2; /* of two, one may be empty */
    p.kv_heads = fewer(p.kv_heads, 2, (rows - 1) / (p.batch * group * p.q_len) + 1);
    p.q_heads = p.kv_heads * group;
    p.batch = fewer(p.batch, sequences, (rows - 1) / (p.q_heads * p.q_len) + 1);
    return p;
}

struct attn_problem shrink_full_length(const struct checker *checker)
{
    const struct attn_problem *p = &checker->c->problem;
    return checker->depth == CHECK_THOROUGH ? *p
                                            : shrink_heads(p, checker->limit, CHECK_SAMPLED_ROWS);
}

struct attn_problem shrink_problem(const struct attn_problem *problem, double limit)
{
    struct attn_problem p = shrink_heads(problem, limit, 1);
    for (size_t base = 512; base >= 32 && multiply_adds(&p) > limit; base /= 2) {
        p.page_size = shorten(problem->page_size, base);
        if (problem->kv_len >= problem->q_len) {
            p.q_len = shorten(problem->q_len, base);
            p.kv_len = p.q_len + shorten(problem->kv_len - problem->q_len, base);
        } else {
            p.kv_len = shorten(problem->kv_len, base);
            p.q_len = p.kv_len + shorten(problem->q_len - problem->kv_len, base);
        }
    }
    if (p.kv_len < problem->kv_len) /* lists keep the same share of the keys */
        p.index_count = (p.index_count * p.kv_len + problem->kv_len - 1) / problem->kv_len;
    return p;
}

/* ---- inputs -------------------------------------------------------------------------------- */

static size_t share(size_t n, size_t from, size_t to)
{
    return to < from ? (size_t)((double)n * (double)to / (double)from) : n;
}

static void shorten_lengths(struct input_lengths *lengths, size_t from, size_t to)
{
    lengths->lo = share(lengths->lo, from, to);
    lengths->mean = share(lengths->mean, from, to);
    lengths->hi = share(lengths->hi, from, to);
}

struct problem_case shrink_case(const struct checker *checker, const struct attn_problem *problem)
{
    const struct attn_problem *whole = &checker->c->problem;
    struct problem_case c = {.problem = *problem, .input = checker->c->input};
    struct input *input = &c.input;
    const size_t decode = share(input->decode, whole->batch, problem->batch);
    input->kind = INPUT_NORMAL;
    input->needle = 0;
    *input->path = *input->prefix = 0;
    input->decode = input->decode && !decode ? 1 : decode;
    shorten_lengths(&input->lens, whole->kv_len, problem->kv_len);
    shorten_lengths(&input->qlens, whole->q_len, problem->q_len);
    input->prefix_keys = share(input->prefix_keys, whole->kv_len, problem->kv_len);
    parse_fit_input(input, problem);
    return c;
}
