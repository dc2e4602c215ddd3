#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "judged_problem.h"

static size_t row_count(const struct judged_problem *t)
{
    const struct attn_problem *p = &t->c.problem;
    size_t rows = 0;
    for (size_t b = 0; b < p->batch; b++)
        rows += p->q_heads * attn_sequence(p, &t->tensors, b).q_len;
    return rows;
}

static void *zeroed(size_t count)
{
    double *x = calloc(count ? count : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

/* Room for what the reference says of each row. */
static void make_room(struct judged_problem *t)
{
    const struct attn_problem *p = &t->c.problem;
    const size_t rows = row_count(t);
    const bool weights = p->outputs & ATTN_OUTPUT_WEIGHTS;
    t->o = zeroed(rows * p->v_dim);
    t->bound = zeroed(rows * p->v_dim);
    t->magnitude = zeroed(rows * p->v_dim);
    t->weights = zeroed(weights ? rows * p->kv_len : 0);
    t->weights_bound = zeroed(weights ? rows * p->kv_len : 0);
    t->lse = zeroed(rows);
    t->lse_bound = zeroed(rows);
}

struct judged_problem *judged_open(const struct attn_problem *problem,
                                   const struct tensors_layout *layout)
{
    struct judged_problem *t = calloc(1, sizeof *t);
    char message[256];
    assert_non_null(t);
    t->c.problem = *problem;
    t->c.input.seed = 1;
    if (!tensors_alloc(&t->set, problem, layout, message, sizeof message) ||
        !tensors_fill(&t->set, &t->c, 0, message, sizeof message))
        fail_msg("%s", message);
    t->tensors = t->set.tensors;
    make_room(t);
    return t;
}

struct judged_problem *judged_wrap(const struct attn_problem *problem,
                                   const struct attn_tensors *tensors)
{
    struct judged_problem *t = calloc(1, sizeof *t);
    assert_non_null(t);
    t->c.problem = *problem;
    t->tensors = *tensors;
    make_room(t);
    return t;
}

static bool wrapped(const struct judged_problem *t)
{
    return !t->set.mapping[0];
}

void judged_close(struct judged_problem *t)
{
    if (!wrapped(t))
        tensors_free(&t->set);
    free(t->o);
    free(t->bound);
    free(t->magnitude);
    free(t->weights);
    free(t->weights_bound);
    free(t->lse);
    free(t->lse_bound);
    free(t);
}

void judged_changed(struct judged_problem *t)
{
    if (!wrapped(t))
        tensors_seal(&t->set, &t->c.problem);
    t->judged = false;
}

void judged_magnify(struct judged_problem *t, const struct attn_tensor *operand, double factor)
{
    const struct attn_problem *p = &t->c.problem;
    const size_t rows = operand == &t->set.tensors.q ? p->q_len : p->kv_len;
    const size_t dims = operand == &t->set.tensors.v ? p->v_dim : p->qk_dim;
    for (size_t i = 0; i < rows; i++)
        for (size_t d = 0; d < dims; d++)
            tensors_set(operand, 0, 0, i, d, factor * tensors_get(operand, 0, 0, i, d));
    judged_changed(t);
}

/* ---- running ------------------------------------------------------------------------------- */

#define CANARY 0x5a

struct lent_workspace judged_lend(size_t bytes)
{
    struct lent_workspace lent = {.bytes = bytes};
    const size_t room = bytes + 3 * ATTN_WORKSPACE_ALIGN;
    lent.memory =
        aligned_alloc(ATTN_WORKSPACE_ALIGN, room / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN);
    assert_non_null(lent.memory);
    memset(lent.memory, CANARY, room / ATTN_WORKSPACE_ALIGN * ATTN_WORKSPACE_ALIGN);
    memset(lent.memory + ATTN_WORKSPACE_ALIGN, 0xff, bytes); /* NaN: nobody may count on zeros */
    return lent;
}

void *judged_workspace(const struct lent_workspace *lent)
{
    return lent->memory + ATTN_WORKSPACE_ALIGN;
}

void judged_take_back(struct lent_workspace *lent)
{
    for (size_t i = 0; i < ATTN_WORKSPACE_ALIGN; i++)
        if (lent->memory[i] != CANARY ||
            lent->memory[ATTN_WORKSPACE_ALIGN + lent->bytes + i] != CANARY)
            fail_msg("memory around a workspace of %zu bytes was written", lent->bytes);
    free(lent->memory);
}

/* Into every result of a wrapped problem: nothing that a reference would say. */
static void spoil(const struct judged_problem *t)
{
    const struct attn_problem *p = &t->c.problem;
    const struct {
        const struct attn_tensor *tensor;
        size_t columns;
    } results[] = {
        {&t->tensors.o, p->v_dim}, {&t->tensors.lse, 1}, {&t->tensors.weights, p->kv_len}};
    for (size_t n = 0; n < sizeof results / sizeof *results; n++)
        for (size_t b = 0; b < p->batch; b++)
            for (size_t h = 0; h < p->q_heads; h++) {
                const struct attn_sequence s = attn_sequence(p, &t->tensors, b);
                for (size_t i = s.q_first; i < s.q_first + s.q_len; i++)
                    for (size_t d = 0; d < results[n].columns && p->outputs & 1u << n; d++)
                        tensors_set(results[n].tensor, b, h, i, d, -54321);
            }
}

void judged_execute(struct judged_problem *t, const struct attn_plan *plan)
{
    const struct attn_problem *p = &plan->problem;
    struct attn_tensors tensors = t->tensors;
    struct tensors_spot spot;
    struct attn_tensor *const results[] = {&tensors.o, &tensors.lse, &tensors.weights};
    for (unsigned i = 0; i < 3; i++)
        if (!(p->outputs & 1u << i))
            results[i]->data = NULL;
    t->outputs = p->outputs;
    if (wrapped(t)) {
        spoil(t);
        attn_execute(plan, &tensors);
        return;
    }
    tensors_poison(&t->set, p);
    attn_execute(plan, &tensors);
    if (!tensors_written(&t->set, p, &spot))
        fail_msg("%s of row (%zu, %zu, %zu) is not written", spot.tensor, spot.b, spot.h, spot.i);
    if (!tensors_padding_intact(&t->set, p, &spot))
        fail_msg("%s is written behind row (%zu, %zu, %zu)", spot.tensor, spot.b, spot.h, spot.i);
    const char *changed = tensors_changed(&t->set, &t->c.problem);
    if (changed)
        fail_msg("%s is changed", changed);
}

bool judged_run(struct judged_problem *t, const struct attn_kernel *kernel, int threads)
{
    struct attn_problem p = t->c.problem;
    const char *why;
    p.outputs &= kernel->caps.outputs;
    if (!p.outputs || !attn_supports(kernel, &p, &why))
        return false;
    struct lent_workspace lent = judged_lend(attn_workspace_size(kernel, &p, threads));
    struct attn_plan plan = {.refusal = NULL};
    if (!attn_plan_init(&plan, kernel, &p, threads, judged_workspace(&lent), lent.bytes, &why)) {
        if (!plan.refusal)
            fail_msg("%s/%s: %s", kernel->name, attn_isa_name(kernel->isa), why);
        judged_take_back(&lent);
        return false;
    }
    judged_execute(t, &plan);
    attn_plan_destroy(&plan);
    judged_take_back(&lent);
    return true;
}
