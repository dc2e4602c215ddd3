/*
 * reference_row: what the reference says of a row, and memory for it.
 */
#include <math.h>
#include <stdlib.h>

#include "compare.h"

bool reference_row_open(struct reference_row *row, const struct attn_problem *p, unsigned parts)
{
    struct attn_reference_row *r = &row->reference;
    const struct {
        unsigned parts;
        double **at;
        size_t count;
    } rooms[] = {
        {0, &r->o, p->v_dim},
        {REFERENCE_BOUND, &r->bound, p->v_dim},
        {REFERENCE_MAGNITUDE, &r->magnitude, p->v_dim},
        {REFERENCE_WEIGHTS, &r->weights, p->kv_len},
        {REFERENCE_WEIGHTS | REFERENCE_BOUND, &r->weights_bound, p->kv_len},
        {REFERENCE_SCORES, &r->scores, p->kv_len},
        {REFERENCE_SCORES | REFERENCE_BOUND, &r->scores_bound, p->kv_len},
    };
    size_t all = 0;
    for (size_t n = 0; n < sizeof rooms / sizeof *rooms; n++)
        all += (parts & rooms[n].parts) == rooms[n].parts ? rooms[n].count : 0;
    *row =
        (struct reference_row){.reference.size = sizeof row->reference,
                               .block = malloc(all * sizeof(double) + attn_reference_workspace(p))};
    double *next = row->block;
    for (size_t n = 0; next && n < sizeof rooms / sizeof *rooms; n++)
        if ((parts & rooms[n].parts) == rooms[n].parts) {
            *rooms[n].at = next;
            next += rooms[n].count;
        }
    row->workspace = next;
    return row->block;
}

void reference_row_close(struct reference_row *row)
{
    free(row->block);
    row->block = NULL;
}

void reference_row_compute(struct reference_row *row, const struct attn_kernel *kernel,
                           const struct attn_problem *p, const struct attn_tensors *tensors,
                           struct tensors_place at)
{
    attn_reference(p, tensors, at.b, at.h, at.i, kernel ? attn_compute(kernel, p) : ATTN_F32,
                   kernel ? kernel->caps.bound_factor : 0, row->workspace, &row->reference);
}

void reference_row_widen(struct reference_row *of, const struct attn_kernel *kernel,
                         const struct attn_problem *p)
{
    struct attn_reference_row *row = &of->reference;
    const double factor = kernel->caps.bound_factor > 0 ? kernel->caps.bound_factor : 1;
    const bool bf16 = attn_compute(kernel, p) == ATTN_BF16;
    for (size_t d = 0; d < p->v_dim; d++) {
        if (bf16 && row->bound[d] > 0)
            row->bound[d] += attn_reference_bf16_extra(p, row->magnitude[d]);
        row->bound[d] *= factor;
    }
    if (bf16 && row->lse != -INFINITY)
        row->lse_bound += attn_reference_bf16_extra_lse();
    row->lse_bound *= factor;
}
