/*
 * relations: the table, and what a kernel makes of a pair.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "drawn_places.h"
#include "reference.h"
#include "relations.h"
#include "tested.h"

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
    {.name = "a tree is a boolean mask",
     .must_masks = ATTN_MASK_TREE,
     .masks = TERMS,
     .options = ~0u,
     .form_masks = ATTN_MASK_BOOL,
     .relate = relate_as_mask},
    {.name = "lists are a boolean mask",
     .must_options = ATTN_OPTION_INDEX,
     .masks = POSITIONAL | TERMS,
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
     .options = ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED | ATTN_OPTION_INDEX),
     .relate = relate_single},
    {.name = "a ragged batch is its sequences",
     .must_options = ATTN_OPTION_RAGGED,
     .masks = POSITIONAL | TERMS,
     .options = ~(unsigned)ATTN_OPTION_INDEX,
     .relate = relate_single},
    {.name = "packed sequences are sequences",
     .must_options = ATTN_OPTION_PACKED,
     .masks = POSITIONAL | TERMS,
     .options = ~(unsigned)ATTN_OPTION_INDEX,
     .relate = relate_single},
    {.name = "a chunk of causal is its rows",
     .must_masks = ATTN_MASK_CAUSAL,
     .masks = TERMS,
     .options = ~(unsigned)(ATTN_OPTION_RAGGED | ATTN_OPTION_PACKED | ATTN_OPTION_INDEX),
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
    const unsigned scaled = relation->quantised == QUANTISED_NEVER ? 0 : caps->kv_dtypes;
    return (struct drawn_limits){
        .q_len = 40,
        .kv_len = 150,
        .dim = 40,
        .masks = relation->masks & caps->masks,
        .options = relation->options & caps->options,
        .must_masks = relation->must_masks,
        .must_options = relation->must_options,
        .dtypes = caps->dtypes & drawn_everything.dtypes,
        .kv_dtypes = scaled & drawn_everything.kv_dtypes,
        .quantised = relation->quantised == QUANTISED_ALWAYS,
    };
}

/* ---- a kernel and a pair ------------------------------------------------------------------- */

/* Operands with a kernel's results, and by how much these may be wrong: row by row, the elements of O and
 * then LSE. */
struct form {
    const struct attn_problem *problem;
    const struct attn_tensors *tensors;
    unsigned outputs;
    double *bounds;
};

static void bound_row(const struct form *f, const struct attn_kernel *kernel,
                      struct tensors_place at, void *workspace, double *bounds)
{
    const struct attn_problem *p = f->problem;
    struct attn_reference_row row = {.size = sizeof row, .bound = bounds};
    row.o = malloc(p->v_dim * sizeof *row.o);
    assert_non_null(row.o);
    attn_reference(p, f->tensors, at.b, at.h, at.i, attn_compute(kernel, p),
                   kernel->caps.bound_factor, workspace, &row);
    bounds[p->v_dim] = row.lse_bound;
    free(row.o);
}

/* Calls the kernel; false where it does not compute that. */
static bool form_open(struct form *f, const struct attn_kernel *kernel,
                      const struct drawn_operands *d, int threads)
{
    *f = (struct form){.problem = &d->problem, .tensors = &d->tensors};
    f->outputs = tested_call(kernel, f->problem, f->tensors, threads);
    if (!f->outputs)
        return false;
    const size_t rows = tensors_rows(f->problem, f->tensors), wide = d->problem.v_dim + 1;
    void *workspace = malloc(attn_reference_workspace(f->problem));
    f->bounds = malloc((rows * wide + 1) * sizeof *f->bounds);
    assert_true(workspace && f->bounds);
    for (size_t n = 0; n < rows; n++)
        bound_row(f, kernel, tensors_place(f->problem, f->tensors, n), workspace,
                  f->bounds + n * wide);
    free(workspace);
    return true;
}

/* A row of a form, by its number, that of tensors_place(). */
struct row {
    const struct form *form;
    struct tensors_place at;
    size_t number;
};

static struct row row_at(const struct form *f, size_t b, size_t h, size_t i)
{
    size_t before = 0;
    for (size_t k = 0; k < b; k++)
        before += f->problem->q_heads * attn_sequence(f->problem, f->tensors, k).q_len;
    const size_t number = before + h * attn_sequence(f->problem, f->tensors, b).q_len + i;
    return (struct row){f, tensors_place(f->problem, f->tensors, number), number};
}

/* Element d of O; LSE where d is v_dim. */
static double result(const struct row *row, size_t d)
{
    const struct attn_tensors *t = row->form->tensors;
    const bool lse = d == row->form->problem->v_dim;
    return tensors_get(lse ? &t->lse : &t->o, row->at.b, row->at.h, row->at.row, lse ? 0 : d);
}

static double bound(const struct row *row, size_t d)
{
    return row->form->bounds[row->number * (row->form->problem->v_dim + 1) + d];
}

static void compare_element(const struct row *x, const struct row *y, size_t d)
{
    const double one = result(x, d), other = result(y, d), most = bound(x, d) + bound(y, d);
    if (one == other || fabs(one - other) <= most)
        return;
    char texts[2][PARSE_TEXT];
    parse_print_problem(x->form->problem, texts[0]);
    parse_print_problem(y->form->problem, texts[1]);
    fail_msg("%s (%zu, %zu, %zu, %zu) is %.17g of %s, but %.17g of %s, and may differ by %.3g",
             d == x->form->problem->v_dim ? "lse" : "o", x->at.b, x->at.h, x->at.i, d, one,
             texts[0], other, texts[1], most);
}

/* Holds the rows of `y`, another form of `x`, against those of `x`. */
static void compare(const struct form *x, const struct form *y, const struct related *how)
{
    const size_t v_dim = y->problem->v_dim, rows = tensors_rows(y->problem, y->tensors);
    for (size_t n = 0; n < rows; n++) {
        const struct tensors_place at = tensors_place(y->problem, y->tensors, n);
        const struct row one = row_at(x, how->b + at.b, at.h, how->i + at.i), other = {y, at, n};
        for (size_t d = 0; y->outputs & ATTN_OUTPUT_O && d < v_dim; d++)
            compare_element(&one, &other, d);
        if (y->outputs & ATTN_OUTPUT_LSE)
            compare_element(&one, &other, v_dim);
    }
}

/* Calls the kernel on the other form; false where it does not compute that. */
static bool form_agrees(const struct attn_kernel *kernel, int threads, const struct form *first,
                        struct related *other)
{
    struct drawn_operands *d = &other->d;
    struct form form;
    char message[256];
    d->problem.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    d->tensors.o = drawn_rows_tensor(d, d->problem.v_dim, d->problem.dtype);
    d->tensors.lse = drawn_rows_tensor(d, 1, attn_statistics_dtype(&d->problem));
    if (!attn_tensors_valid(&d->problem, &d->tensors, message, sizeof message))
        fail_msg("the other form: %s", message);
    const bool ran = form_open(&form, kernel, d, threads);
    if (ran)
        compare(first, &form, other);
    free(form.bounds);
    return ran;
}

static bool suits(const struct relation *relation, const struct attn_problem *p)
{
    const bool quantised = attn_dtype_scaled(p->kv_dtype);
    return (p->mask & relation->must_masks) == relation->must_masks &&
           (p->options & relation->must_options) == relation->must_options &&
           !(p->mask & ~(relation->must_masks | relation->masks)) &&
           !(p->options & ~(relation->must_options | relation->options)) &&
           (quantised ? relation->quantised != QUANTISED_NEVER
                      : relation->quantised != QUANTISED_ALWAYS);
}

static bool holds(const struct drawn_property *property, const struct problem_case *c, bool judged)
{
    const struct relation *relation = property->context;
    const struct attn_kernel *kernel = property->kernel;
    const int threads = drawn_threads(c);
    struct drawn_operands d;
    struct form first;
    bool applies = false;
    if (!suits(relation, &c->problem))
        return false;
    drawn_open(&d, &c->problem, !(kernel->caps.caveats & ATTN_CAVEAT_NAN_LEAKS), c->input.seed);
    d.problem.outputs |= ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
    if (relation->prepare)
        relation->prepare(&d);
    if (form_open(&first, kernel, &d, threads)) {
        if (judged)
            tested_judge(kernel, &d.problem, &d.tensors, first.outputs);
        for (size_t n = 0;; n++) {
            struct related form = {.d = d};
            form.d.count = 0; /* those blocks are not its own */
            const bool more = relation->relate(&d, n, &form);
            applies |= more && form_agrees(kernel, threads, &first, &form);
            drawn_close(&form.d);
            if (!more)
                break;
        }
    }
    free(first.bounds);
    drawn_close(&d);
    return applies;
}

bool relation_holds(const struct drawn_property *property, const struct problem_case *c)
{
    return holds(property, c, false);
}

bool relation_holds_judged(const struct drawn_property *property, const struct problem_case *c)
{
    return holds(property, c, true);
}
