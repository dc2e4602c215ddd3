/*
 * worked_rows: rows that compare numbers with published ones, and rows of properties.
 */
#include <math.h>

#include "worked_examples.h"

static json_t *matrix(const double *x, size_t rows, size_t columns)
{
    json_t *all = json_array();
    for (size_t i = 0; i < rows; i++)
        json_array_append_new(all, number_array(x + i * columns, columns));
    return all;
}

double worked_difference(const double *x, size_t rows, size_t columns, const json_t *published)
{
    double worst = json_array_size(published) == rows ? 0 : INFINITY;
    for (size_t i = 0; i < rows; i++) {
        const json_t *row = json_array_get(published, i);
        for (size_t j = 0; j < columns; j++) {
            const json_t *value = json_array_get(row, j);
            const double expected = value ? json_number_value(value) : 0;
            worst = experiment_larger(worst, fabs(x[i * columns + j] - expected));
        }
    }
    return worst;
}

void worked_add(const struct worked_rows *w, const char *quantity, const char *by, const double *x,
                size_t height, size_t width, const json_t *published, double tolerance,
                int decimals)
{
    json_t *values = json_pack("{s:o, s:O?, s:i}", "computed", matrix(x, height, width),
                               "published", published, "decimals", decimals);
    if (published) {
        const double worst = worked_difference(x, height, width, published);
        json_object_set_new(values, "difference", number_json(worst));
        json_object_set_new(values, "tolerance", json_real(tolerance));
        json_object_set_new(values, "ok", json_boolean(worst <= tolerance));
    }
    experiment_add(
        w->rows,
        json_pack("{s:s, s:s, s:s}", "example", w->example, "quantity", quantity, "by", by),
        values);
}

void worked_add_property(const struct worked_rows *w, const char *property, const char *by,
                         double worst, double tolerance)
{
    experiment_add(
        w->rows,
        json_pack("{s:s, s:s, s:s}", "example", w->example, "property", property, "by", by),
        json_pack("{s:o, s:f, s:b}", "difference", number_json(worst), "tolerance", tolerance, "ok",
                  (int)(worst <= tolerance)));
}
