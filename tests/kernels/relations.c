/*
 * relations: the table, and what a kernel makes of a pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "drawn_places.h"
#include "judged_problem.h"
#include "relations.h"

#define POSITIONAL (ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT)
#define TERMS (ATTN_MASK_BIAS | ATTN_MASK_BOOL)

/* ALiBi counts from where a mask begins: it does not go with taking causal_top_left away. */
static const struct relation relations[] = {
    {.name = "a window is a boolean mask",
     .must_options = ATTN_OPTION_WINDOW,
     .masks = ATTN_MASK_CAUSAL | TERMS,
     .options = ~0u,
     .form_masks = ATTN_MASK_BOOL,
     .relate = relate_as_mask},
    {.name = "causal is a boolean mask",
     .must_masks = ATTN_MASK_CAUSAL,
     .masks = TERMS,
     .options = ~0u,
     .form_masks = ATTN_MASK_BOOL,
     .relate = relate_as_mask},
    {.name = "causal_top_left is a boolean mask",
     .must_masks = ATTN_MASK_CAUSAL_TOP_LEFT,
     .masks = TERMS,
     .options = ~(unsigned)ATTN_OPTION_ALIBI,
     .form_masks = ATTN_MASK_BOOL,
     .relate = relate_as_mask},
    {.name = "a window is a bias",
     .must_options = ATTN_OPTION_WINDOW,
     .masks = ATTN_MASK_CAUSAL | TERMS,
     .options = ~0u,
     .form_masks = ATTN_MASK_BIAS,
     .relate = relate_as_bias},
    {.name = "causal is a bias",
     .must_masks = ATTN_MASK_CAUSAL,
     .masks = TERMS,
     .options = ~0u,
     .form_masks = ATTN_MASK_BIAS,
     .relate = relate_as_bias},
    {.name = "causal_top_left is a bias",
     .must_masks = ATTN_MASK_CAUSAL_TOP_LEFT,
     .masks = TERMS,
     .options = ~(unsigned)ATTN_OPTION_ALIBI,
     .form_masks = ATTN_MASK_BIAS,
     .relate = relate_as_bias},
    {.name = "a boolean mask is a bias",
     .must_masks = ATTN_MASK_BOOL,
     .masks = ATTN_MASK_CAUSAL | TERMS,
     .options = ~0u,
     .form_masks = ATTN_MASK_BIAS,
     .relate = relate_as_bias},
    {.name = "slopes are a bias",
     .must_options = ATTN_OPTION_ALIBI,
     .masks = POSITIONAL | ATTN_MASK_BOOL,
     .options = ~0u,
     .form_masks = ATTN_MASK_BIAS,
     .prepare = relation_exact_slopes,
     .relate = relate_slopes_as_bias},
    {.name = "a sink is a key of value 0",
     .must_options = ATTN_OPTION_SINKS,
     .masks = POSITIONAL | TERMS,
     .options =
         ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP | ATTN_OPTION_RAGGED | ATTN_OPTION_SHARED_KV,
     .form_masks = ATTN_MASK_BIAS,
     .quantised = QUANTISED_NEVER,
     .relate = relate_sink_as_key},
    {.name = "a high softcap is none",
     .must_options = ATTN_OPTION_SOFTCAP,
     .masks = POSITIONAL | TERMS,
     .options = ~0u,
     .prepare = relation_high_softcap,
     .relate = relate_uncapped},
    {.name = "a batch is its sequences",
     .masks = POSITIONAL | TERMS,
     .options = ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED),
     .relate = relate_single},
    {.name = "a ragged batch is its sequences",
     .must_options = ATTN_OPTION_RAGGED,
     .masks = POSITIONAL | TERMS,
     .options = ~0u,
     .relate = relate_single},
    {.name = "packed sequences are sequences",
     .must_options = ATTN_OPTION_PACKED,
     .masks = POSITIONAL | TERMS,
     .options = ~0u,
     .relate = relate_single},
    {.name = "a chunk of causal is its rows",
     .must_masks = ATTN_MASK_CAUSAL,
     .masks = TERMS,
     .options = ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED),
     .relate = relate_chunk},
    {.name = "pages are contiguous keys", /* ragged, or keys would be packed without pages */
     .must_options = ATTN_OPTION_PAGED | ATTN_OPTION_RAGGED,
     .masks = POSITIONAL | TERMS,
     .options = ~0u,
     .relate = relate_contiguous},
    {.name = "shared K and V are two tensors",
     .must_options = ATTN_OPTION_SHARED_KV,
     .masks = POSITIONAL | TERMS,
     .options = ~0u,
     .relate = relate_apart},
    {.name = "int8 is floats",
     .masks = POSITIONAL | TERMS,
     .options = ~0u,
     .quantised = QUANTISED_ALWAYS,
     .prepare = relation_exact_scales,
     .relate = relate_floats},
};

const struct relation *relation_at(size_t n)
{
    return n < sizeof relations / sizeof *relations ? &relations[n] : NULL;
}

const struct relation *relation_named(const char *name)
{
    const struct relation *relation;
    for (size_t n = 0; (relation = relation_at(n)); n++)
        if (strcmp(relation->name, name) == 0)
            return relation;
    return NULL;
}

struct drawn_limits relation_limits(const struct relation *relation,
                                    const struct attn_kernel *kernel)
{
    const struct attn_caps *caps = &kernel->caps;
    const unsigned i8 = relation->quantised == QUANTISED_NEVER ? 0 : caps->kv_dtypes;
    return (struct drawn_limits){
        .q_len = 40,
        .kv_len = 150,
        .dim = 40,
        .masks = relation->masks & caps->masks,
        .options = relation->options & caps->options,
        .must_masks = relation->must_masks,
        .must_options = relation->must_options,
        .dtypes = caps->dtypes & drawn_everything.dtypes,
        .kv_dtypes = i8 & 1u << ATTN_I8,
        .quantised = relation->quantised == QUANTISED_ALWAYS,
    };
}

/* ---- a kernel and a pair ------------------------------------------------------------------- */

/* Number of a row in the order of struct judged_problem. */
static size_t row_number(const struct judged_problem *t, size_t b, size_t h, size_t i)
{
    size_t row = 0;
    for (size_t before = 0; before < b; before++)
        row += t->c.problem.q_heads * attn_sequence(&t->c.problem, &t->tensors, before).q_len;
    return row + h * attn_sequence(&t->c.problem, &t->tensors, b).q_len + i;
}

/* A row of one form, with its kernel's results. */
struct row {
    const struct judged_problem *t;
    const struct attn_kernel *kernel;
    size_t b, h, i;
};

static double result(const struct row *row, const struct attn_tensor *of, size_t d)
{
    const size_t first = attn_sequence(&row->t->c.problem, &row->t->tensors, row->b).q_first;
    return tensors_get(of, row->b, row->h, first + row->i, d);
}

static double bound(const struct row *row, bool lse, size_t d)
{
    const size_t number = row_number(row->t, row->b, row->h, row->i);
    return lse ? judged_bound_lse(row->t, row->kernel, number)
               : judged_bound_o(row->t, row->kernel, number, d);
}

static void compare_element(const struct row *x, const struct row *y, bool lse, size_t d)
{
    const double one = result(x, lse ? &x->t->tensors.lse : &x->t->tensors.o, d);
    const double other = result(y, lse ? &y->t->tensors.lse : &y->t->tensors.o, d);
    const double most = bound(x, lse, d) + bound(y, lse, d);
    if (one == other || fabs(one - other) <= most)
        return;
    char texts[2][PARSE_TEXT];
    parse_print_problem(&x->t->c.problem, texts[0]);
    parse_print_problem(&y->t->c.problem, texts[1]);
    fail_msg("%s (%zu, %zu, %zu, %zu) is %.17g of %s, but %.17g of %s, and may differ by %.3g",
             lse ? "lse" : "o", x->b, x->h, x->i, d, one, texts[0], other, texts[1], most);
}

/* Holds the rows of `y`, another form of `x`, against those of `x`. */
static void compare(const struct judged_problem *x, const struct judged_problem *y,
                    const struct related *form, const struct attn_kernel *kernel)
{
    const struct attn_problem *p = &y->c.problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < attn_sequence(p, &y->tensors, b).q_len; i++) {
                const struct row one = {x, kernel, form->b + b, h, form->i + i};
                const struct row other = {y, kernel, b, h, i};
                for (size_t d = 0; y->outputs & ATTN_OUTPUT_O && d < p->v_dim; d++)
                    compare_element(&one, &other, false, d);
                if (y->outputs & ATTN_OUTPUT_LSE)
                    compare_element(&one, &other, true, 0);
            }
}

/* Runs the kernel on the other form; false where it does not compute that. */
static bool form_agrees(const struct drawn_property *property, const struct drawn_case *c,
                        const struct judged_problem *first, struct related *form)
{
    struct drawn_operands *d = &form->d;
    char message[256];
    d->tensors.o = drawn_rows_tensor(d, d->problem.v_dim, d->problem.dtype);
    d->tensors.lse = drawn_rows_tensor(d, 1, attn_statistics_dtype(&d->problem));
    if (!attn_tensors_valid(&d->problem, &d->tensors, message, sizeof message))
        fail_msg("the other form: %s", message);
    struct judged_problem *t = judged_wrap(&d->problem, &d->tensors);
    const bool ran = judged_run(t, property->kernel, drawn_threads(c));
    if (ran) {
        judged_fill(t);
        compare(first, t, form, property->kernel);
    }
    judged_close(t);
    return ran;
}

static bool suits(const struct relation *relation, const struct attn_problem *p)
{
    const bool quantised = p->kv_dtype == ATTN_I8;
    return (p->mask & relation->must_masks) == relation->must_masks &&
           (p->options & relation->must_options) == relation->must_options &&
           !(p->mask & ~(relation->must_masks | relation->masks)) &&
           !(p->options & ~(relation->must_options | relation->options)) &&
           (quantised ? relation->quantised != QUANTISED_NEVER
                      : relation->quantised != QUANTISED_ALWAYS);
}

bool relation_holds(const struct drawn_property *property, const struct drawn_case *c)
{
    const struct relation *relation = property->context;
    const bool poison = !(property->kernel->caps.caveats & ATTN_CAVEAT_NAN_LEAKS);
    struct attn_problem p = c->problem;
    struct drawn_operands d;
    bool applies = false;
    p.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    if (!suits(relation, &p))
        return false;
    drawn_open(&d, &p, poison, c->seed);
    if (relation->prepare)
        relation->prepare(&d);
    struct judged_problem *t = judged_wrap(&d.problem, &d.tensors);
    if (judged_run(t, property->kernel, drawn_threads(c))) {
        judged_fill(t);
        for (size_t n = 0;; n++) {
            struct related form = {.d = d};
            form.d.count = 0; /* those blocks are not its own */
            const bool more = relation->relate(&d, n, &form);
            applies |= more && form_agrees(property, c, t, &form);
            drawn_close(&form.d);
            if (!more)
                break;
        }
    }
    judged_close(t);
    drawn_close(&d);
    return applies;
}
