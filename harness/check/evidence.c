/*
 * evidence: the reference row with which a wrong row is compared.
 */
#include "evidence.h"

#include <math.h>

double evidence_output(const struct evidence *e, size_t d)
{
    const struct tensors_place at = e->view.at;
    return tensors_get(&e->trial->set.tensors.o, at.b, at.h, at.row, d);
}

bool evidence_is_output(const struct evidence *e, size_t d, double x)
{
    const enum attn_dtype dtype = e->trial->problem.dtype;
    const double u = dtype == ATTN_BF16 ? 0x1p-8 : dtype == ATTN_F16 ? 0x1p-11 : 0;
    return fabs(evidence_output(e, d) - x) <= e->row.reference.bound[d] + u * fabs(x);
}

bool evidence_suppose(struct evidence *e, const struct guess *guess)
{
    const struct attn_kernel *kernel = e->trial->checker->kernel;
    if (!single_gather(&e->single, &guess->view))
        return false;
    reference_row_compute(&e->row, kernel, &e->single.problem, &e->single.tensors,
                          (struct tensors_place){0});
    return true;
}

bool evidence_right(struct evidence *e, const struct row_view *view)
{
    struct guess right;
    guess_nothing(&right, view);
    return evidence_suppose(e, &right);
}
