/*
 * reference_isa: picks the build of reference.c that suits this host.
 *
 * kernel.cmake writes reference_list.h: one ATTN_REFERENCE(isa, ISA) per ISA that the compiler
 * could target, weakest first.
 */
#include "reference.h"
#include "reference/visible_keys.h"

typedef void reference_row(const struct attn_problem *, const struct attn_tensors *, size_t, size_t,
                           size_t, enum attn_dtype, double, void *, struct attn_reference_row *);

#define ATTN_REFERENCE(isa, ISA) reference_row attn_reference_##isa;
#include "reference_list.h"
#undef ATTN_REFERENCE

static const struct {
    enum attn_isa isa;
    reference_row *row;
} builds[] = {
#define ATTN_REFERENCE(isa, ISA) {ATTN_ISA_##ISA, attn_reference_##isa},
#include "reference_list.h"
#undef ATTN_REFERENCE
};

/* In long double, which is the same on every ISA. */
#define ATTN_REFERENCE(isa, ISA)            \
    reference_row attn_reference_f64_##isa; \
    static reference_row *const row_of_f64 = attn_reference_f64_##isa;
#include "reference_f64_list.h"
#undef ATTN_REFERENCE

size_t attn_reference_workspace(const struct attn_problem *problem)
{
    const size_t scores = problem->kv_len + 1; /* with the sink */
    const size_t bytes = problem->dtype == ATTN_F64 ? sizeof(long double) : sizeof(double);
    const size_t numbers = (SUMS + SUM_KEYS) * sums_row(problem) + 2 * problem->qk_dim + 4 * scores;
    return SCRATCH_ALIGN + numbers * bytes + scores * (sizeof(size_t) + sizeof(void *));
}

void attn_reference(const struct attn_problem *problem, const struct attn_tensors *tensors,
                    size_t b, size_t h, size_t i, enum attn_dtype compute, double bound_factor,
                    void *workspace, struct attn_reference_row *row)
{
    size_t best = 0;
    for (size_t k = 1; k < sizeof builds / sizeof *builds; k++)
        if (attn_isa_available(builds[k].isa))
            best = k;
    reference_row *row_of_type = problem->dtype == ATTN_F64 ? row_of_f64 : builds[best].row;
    row_of_type(problem, tensors, b, h, i, compute, bound_factor, workspace, row);
}
