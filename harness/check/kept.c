/*
 * kept: copies of results, and where they differ.
 */
#include "trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/tensors_view.h"

bool kept_copy(struct kept *kept, const struct attn_problem *p, const struct tensor_set *set)
{
    struct tensors_view views[TENSORS_RESULTS];
    size_t bytes = 1;
    kept->tensors = set->tensors;
    const size_t count = tensors_results(&kept->tensors, p, &set->shape, views);
    for (size_t n = 0; n < count; n++)
        bytes += tensors_extent(&views[n], set->layout.row_padding) + sizeof(double);
    kept->block = malloc(bytes);
    char *at = kept->block;
    for (size_t n = 0; at && n < count; n++) {
        const size_t extent = tensors_extent(&views[n], set->layout.row_padding);
        views[n].t->data = memcpy(at, views[n].t->data, extent);
        at += (extent + sizeof(double) - 1) / sizeof(double) * sizeof(double); /* aligned */
    }
    return kept->block;
}

void kept_put_back(const struct kept *kept, struct trial *trial)
{
    struct tensors_view views[TENSORS_RESULTS], own[TENSORS_RESULTS];
    const struct tensor_set *set = &trial->set;
    const size_t count = tensors_results(&kept->tensors, &trial->problem, &set->shape, views);
    tensors_results(&set->tensors, &trial->problem, &set->shape, own);
    for (size_t n = 0; n < count; n++)
        memcpy(own[n].t->data, views[n].t->data,
               tensors_extent(&views[n], set->layout.row_padding));
}

void kept_free(struct kept *kept)
{
    free(kept->block);
    kept->block = NULL;
}

bool kept_difference(const struct attn_problem *p, const struct attn_tensors *a,
                     const struct attn_tensors *b, struct tensors_place at,
                     struct kept_difference *d)
{
    struct tensors_view views[TENSORS_RESULTS], others[TENSORS_RESULTS];
    const struct tensors_shape no_rows = {0};
    const size_t count = tensors_results(a, p, &no_rows, views);
    tensors_results(b, p, &no_rows, others);
    for (size_t n = 0; n < count; n++) {
        const struct attn_tensor *s = views[n].t, *t = others[n].t;
        const size_t length = views[n].dense == 3 ? views[n].cols : 1; /* of LSE a number */
        if (memcmp(attn_row(s, at.b, at.h, at.row), attn_row(t, at.b, at.h, at.row),
                   length * attn_dtype_size(s->dtype)) == 0)
            continue;
        for (size_t e = 0; e < length; e++) {
            const double x = tensors_get(s, at.b, at.h, at.row, e);
            const double y = tensors_get(t, at.b, at.h, at.row, e);
            *d = (struct kept_difference){views[n].name, e, x, y};
            if (!(isnan(x) && isnan(y)) && (x != y || signbit(x) != signbit(y)))
                return true;
        }
    }
    return false;
}

size_t kept_differing(const struct attn_problem *p, const struct attn_tensors *a,
                      const struct attn_tensors *b, size_t *rows, size_t most)
{
    size_t count = 0;
    struct kept_difference d;
    for (size_t row = 0; count < most && row < tensors_rows(p, a); row++)
        if (kept_difference(p, a, b, tensors_place(p, a, row), &d))
            rows[count++] = row;
    return count;
}
