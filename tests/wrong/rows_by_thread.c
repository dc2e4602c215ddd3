/*
 * rows_by_thread: each thread takes as many rows as go into them by whole numbers, the last one the rest.
 *
 * With more threads than rows that is none each, and the last thread is forgotten, too.
 */
#include <omp.h>

#include "wrong.h"

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    const size_t rows = p->batch * p->q_heads * p->q_len, threads = (size_t)plan->threads;
#pragma omp parallel num_threads(plan->threads)
    {
        const size_t t = (size_t)omp_get_thread_num(), each = rows / threads;
        const size_t end = t + 1 == threads && each ? rows : (t + 1) * each;
        for (size_t n = t * each; n < end; n++)
            one_row(p, tensors, n / p->q_len / p->q_heads, n / p->q_len % p->q_heads, n % p->q_len,
                    honest_row);
    }
}

WRONG_KERNEL(rows_by_thread, "shares rows out by whole numbers, which is none with more threads");
