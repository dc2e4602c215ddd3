/*
 * compare: results against the reference, row by row.
 */
#include "compare.h"

#include <math.h>

/* The error of an element as a multiple of its bound; infinite where a NaN or infinity is wrong. */
static double over_bound(double got, double expected, double bound)
{
    if (isnan(expected))
        return isnan(got) ? 0 : INFINITY;
    if (!isfinite(expected) || !isfinite(got))
        return got == expected ? 0 : INFINITY;
    const double error = fabs(got - expected);
    return error == 0 ? 0 : bound > 0 ? error / bound : INFINITY;
}

/* A row's state while its tensors are compared. */
struct row_error {
    struct mismatch worst;
    double over_bound;
};

static void note_worst(struct row_error *error, const char *tensor, size_t element, double got,
                       double expected, double bound)
{
    const double over = over_bound(got, expected, bound);
    if (over <= error->over_bound)
        return;
    error->over_bound = over;
    error->worst.tensor = tensor;
    error->worst.element = element;
    error->worst.got = got;
    error->worst.expected = expected;
    error->worst.bound = bound;
}

static void compare_o(const struct attn_problem *p, const struct attn_tensors *t,
                      struct tensors_place at, const struct attn_reference_row *row,
                      struct row_error *error, struct comparison *sum)
{
    for (size_t d = 0; d < p->v_dim; d++) {
        const double got = tensors_get(&t->o, at.b, at.h, at.row, d);
        note_worst(error, "o", d, got, row->o[d], row->bound[d]);
        const double difference = fabs(got - row->o[d]);
        if (isfinite(difference)) {
            sum->square_error += difference * difference;
            sum->max_abs_error = fmax(sum->max_abs_error, difference);
            sum->elements++;
        }
    }
}

static void compare_lse(const struct attn_tensors *t, struct tensors_place at,
                        const struct attn_reference_row *row, struct row_error *error,
                        struct comparison *sum)
{
    const double got = tensors_get(&t->lse, at.b, at.h, at.row, 0);
    note_worst(error, "lse", 0, got, row->lse, row->lse_bound);
    const double difference = fabs(got - row->lse);
    if (isfinite(difference)) {
        sum->square_error_lse += difference * difference;
        sum->lse_rows++;
    }
}

static void compare_row(const struct attn_problem *p, const struct attn_tensors *t, size_t number,
                        const struct attn_reference_row *row, struct comparison *sum)
{
    const struct tensors_place at = tensors_place(p, t, number);
    struct row_error error = {.worst.row = number};
    if (p->outputs & ATTN_OUTPUT_O)
        compare_o(p, t, at, row, &error, sum);
    if (p->outputs & ATTN_OUTPUT_LSE)
        compare_lse(t, at, row, &error, sum);
    for (size_t j = 0; p->outputs & ATTN_OUTPUT_WEIGHTS && j < p->kv_len; j++)
        note_worst(&error, "weights", j, tensors_get(&t->weights, at.b, at.h, at.row, j),
                   row->weights[j], row->weights_bound[j]);
    for (size_t j = 0; p->outputs & ATTN_OUTPUT_SCORES && j < p->kv_len; j++)
        note_worst(&error, "scores", j, tensors_get(&t->scores, at.b, at.h, at.row, j),
                   row->scores[j], row->scores_bound[j]);
    sum->rows++;
    sum->over_bound = fmax(sum->over_bound, error.over_bound);
    if (error.over_bound > 1 && (!sum->wrong_rows++ || number < sum->first.row))
        sum->first = error.worst;
}

static void merge(struct comparison *total, const struct comparison *part)
{
    if (part->wrong_rows && (!total->wrong_rows || part->first.row < total->first.row))
        total->first = part->first;
    total->rows += part->rows;
    total->wrong_rows += part->wrong_rows;
    total->max_abs_error = fmax(total->max_abs_error, part->max_abs_error);
    total->over_bound = fmax(total->over_bound, part->over_bound);
    total->square_error += part->square_error;
    total->square_error_lse += part->square_error_lse;
    total->elements += part->elements;
    total->lse_rows += part->lse_rows;
}

bool compare_rows(const struct attn_kernel *kernel, const struct attn_problem *problem,
                  const struct attn_tensors *tensors, const size_t *rows, size_t count, int threads,
                  uint64_t input, struct comparison *comparison)
{
    const bool lenient = kernel->caps.caveats & ATTN_CAVEAT_EMPTY_ROWS;
    bool memory = true;
    *comparison = (struct comparison){0};
    const double work = (double)count * (double)problem->kv_len;
    const unsigned parts = REFERENCE_BOUND | REFERENCE_MAGNITUDE |
                           (problem->outputs & ATTN_OUTPUT_WEIGHTS ? REFERENCE_WEIGHTS : 0) |
                           (problem->outputs & ATTN_OUTPUT_SCORES ? REFERENCE_SCORES : 0);
    struct stored stored;
    stored_open(&stored, problem, input, rows, count);
#pragma omp parallel num_threads(threads) if (work > COMPARE_PARALLEL)
    {
        struct reference_row row;
        struct comparison mine = {0};
        const bool ready = reference_row_open(&row, problem, parts);
#pragma omp for schedule(dynamic, 4)
        for (size_t k = 0; k < count; k++)
            if (ready) {
                stored_row(&stored, kernel, problem, tensors, rows[k], &row);
                if (!(lenient && row.reference.lse == -INFINITY))
                    compare_row(problem, tensors, rows[k], &row.reference, &mine);
            }
        reference_row_close(&row);
#pragma omp critical
        {
            memory = memory && ready;
            merge(comparison, &mine);
        }
    }
    stored_close(&stored, problem);
    return memory;
}

void compare_note(struct check_result *result, const struct comparison *comparison)
{
    result->max_abs_error = fmax(result->max_abs_error, comparison->max_abs_error);
    result->error_over_bound = fmax(result->error_over_bound, comparison->over_bound);
    if (isinf(comparison->over_bound))
        result->error_over_bound = NAN;
}
