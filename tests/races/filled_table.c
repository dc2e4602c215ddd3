/*
 * filled_table: one thread fills the table, and the others wait at a barrier.
 *
 * Nothing is wrong with it.  A barrier of OpenMP is code that ThreadSanitizer does not see: without
 * someone who tells it of barriers, it takes this kernel for lazy_table.
 */
#include "shared_table.h"

WRONG_CALL(filled_table, "one thread fills the table, and the others wait for it")
{
#pragma omp parallel num_threads(plan->threads)
#pragma omp single
    fill_table();
    each_row(plan, tensors, row_by_table);
}
