/*
 * adversary: runs a kernel on each of the inputs that expose errors which random numbers hide.
 */
#include "phases.h"

#include "adversary_inputs.h"
#include "base/random.h"

/* One run.  Its KV heads have the special keys edges[first], edges[first + 1], ..., in rotation; `first`
 * is the number of KV heads in earlier runs of this input. */
static bool run(struct checker *checker, const struct adversary *adversary,
                const struct problem_case *c, const size_t *edges, size_t edge_count, size_t first,
                size_t rows)
{
    struct trial trial;
    double ratio;
    const unsigned turn = checker->trials++;
    if (!trial_open(&trial, checker, adversary->phase, c, trial_layout(turn), TRIAL_EVERY_COUNT))
        return checker->result->ok;
    trial.heads_before = first;
    if (adversary->special_keys)
        for (; trial.needle_count < edge_count; trial.needle_count++)
            trial.needles[trial.needle_count] = edges[(first + trial.needle_count) % edge_count];
    adversary_fill(&trial, adversary, random_key(checker->c->input.seed, turn));
    const bool right =
        trial_judge(&trial, rows) && (!adversary->precise || precision_judge(&trial, &ratio));
    trial_close(&trial);
    return right;
}

/* Repeats the run until each of `most` edges has been the special key of some head, or each kind of head has
 * occurred. */
static bool run_all(struct checker *checker, const struct adversary *adversary,
                    const struct problem_case *c, size_t most)
{
    size_t edges[TRIAL_NEEDLES];
    const size_t count = pick_edges(c->problem.kv_len, checker->threads, edges, most);
    const size_t heads = c->problem.batch * c->problem.kv_heads;
    const size_t needed = adversary->special_keys ? count
                          : adversary->heads      ? adversary->heads->count
                          : adversary->kinds      ? adversary->kinds(&c->problem)
                          : adversary->kind_count ? adversary->kind_count
                                                  : 1;
    for (size_t first = 0; first < needed; first += heads)
        if (!run(checker, adversary, c, edges, count, first, SIZE_MAX))
            return false;
    return true;
}

/* Whether an adversary has a mask, an option or a type of K and V that the case lacks. */
static bool is_foreign(const struct attn_problem *p, const struct attn_problem *small)
{
    return p->mask != small->mask || p->options != small->options || p->kv_dtype != small->kv_dtype;
}

static enum adversary_turn turn_of(const struct adversary *adversary, const struct attn_problem *p,
                                   const struct attn_problem *small)
{
    return adversary->fine        ? ADVERSARY_FINE
           : is_foreign(p, small) ? ADVERSARY_FOREIGN
                                  : ADVERSARY_OWN;
}

/* Whether a caveat of the kernel says that it may fail this input; the caveat about the contents of hidden
 * keys counts only where the problem hides keys. */
static bool is_admitted(const struct checker *checker, const struct adversary *adversary,
                        const struct attn_problem *p)
{
    const unsigned hiding =
        ATTN_OPTION_WINDOW | ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED | ATTN_OPTION_PACKED;
    const unsigned admitted = checker->kernel->caps.caveats & adversary->caveat;
    return admitted & ~(unsigned)ATTN_CAVEAT_NAN_LEAKS ||
           (admitted && (p->mask || p->options & hiding));
}

bool adversary_run(struct checker *checker, const struct attn_problem *small,
                   enum adversary_turn turn)
{
    const bool thorough = checker->depth == CHECK_THOROUGH;
    for (size_t n = 0; n < adversary_count; n++) {
        struct problem_case c = shrink_case(checker, small);
        c.problem.outputs |= checker->kernel->caps.outputs & ATTN_OUTPUT_LSE;
        if (!adversary_shape_case(&adversaries[n], &c))
            continue;
        if (adversaries[n].fine && attn_compute(checker->kernel, small) == ATTN_BF16)
            continue; /* bf16 rounds similar weights all in the same direction */
        if (turn_of(&adversaries[n], &c.problem, small) != turn ||
            is_admitted(checker, &adversaries[n], &c.problem))
            continue;
        c.problem = shrink_problem(&c.problem, checker->limit); /* the adversary may enlarge it */
        parse_fit_input(&c.input, &c.problem);
        if (!run_all(checker, &adversaries[n], &c, thorough ? TRIAL_NEEDLES : 24))
            return false;
    }
    return true;
}

bool adversary_full_length(struct checker *checker)
{
    const struct attn_problem p = shrink_full_length(checker);
    const struct problem_case c = shrink_case(checker, &p);
    const size_t rows = CHECK_SAMPLED_ROWS;
    size_t edges[TRIAL_NEEDLES];
    const size_t count = pick_edges(p.kv_len, checker->threads, edges, TRIAL_NEEDLES);
    const size_t heads = p.batch * p.kv_heads;
    if (heads > 1 && checker->depth != CHECK_THOROUGH)
        return run(checker, &adversary_needle_or_negative, &c, edges, count, 0, rows);
    const size_t rounds = checker->depth == CHECK_THOROUGH ? 4 : 2;
    bool right = run(checker, &adversary_negative, &c, edges, count, 0, rows);
    for (size_t n = 0; right && n < rounds; n++)
        right = run(checker, &adversary_needle, &c, edges, count, n * heads, rows);
    return right;
}
