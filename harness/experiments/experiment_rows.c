/*
 * experiment_rows: makes, reads, selects and lists rows of experiments.
 */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "experiment.h"
#include "results/report.h"

#define KEY 64 /* bytes of a key, or of a condition */

/* The next of the keys, NULL behind the last. */
static const char *next_key(const char **keys, char key[KEY])
{
    const size_t length = strcspn(*keys, " ");
    snprintf(key, KEY, "%.*s", (int)length, *keys);
    *keys += length + strspn(*keys + length, " ");
    return length ? key : NULL;
}

json_t *experiment_pick(json_t *to, const json_t *from, const char *keys)
{
    char key[KEY];
    while (next_key(&keys, key))
        if (json_object_get(from, key))
            json_object_set(to, key, json_object_get(from, key));
    return to;
}

/* Whether a value equals a text, which may stand for a number, true or false. */
static bool is_value(const json_t *value, const char *text)
{
    if (json_is_string(value))
        return strcmp(json_string_value(value), text) == 0;
    if (json_is_number(value))
        return json_number_value(value) == strtod(text, NULL);
    return json_is_boolean(value) && json_is_true(value) == (strcmp(text, "true") == 0);
}

/* Whether a row has all values of "key=value key=value...". */
static bool is_where(const struct experiment_part *part, const char *where)
{
    char condition[KEY];
    bool all = true;
    while (all && where && next_key(&where, condition)) {
        char *value = strchr(condition, '=');
        assert(value);
        *value++ = 0;
        const json_t *known = json_object_get(part->params, condition);
        all = is_value(known ? known : json_object_get(part->values, condition), value);
    }
    return all;
}

bool experiment_part_next(struct experiment_part *part)
{
    const json_t *row;
    while ((row = json_array_get(part->rows, part->next))) {
        part->next++;
        part->params = json_object_get(row, "params");
        part->values = json_object_get(row, "values");
        if (is_where(part, part->where))
            return true;
    }
    return false;
}

struct experiment_extent experiment_extent(const json_t *rows, const char *where, const char *key)
{
    struct experiment_part part = {.rows = rows, .where = where};
    struct experiment_extent extent = {.first = NAN, .least = INFINITY, .most = -INFINITY};
    while (experiment_part_next(&part)) {
        const double x = member_number(part.values, key);
        extent.first = extent.rows++ ? extent.first : x;
        extent.missing += isnan(x);
        extent.least = fmin(extent.least, x);
        extent.most = fmax(extent.most, x);
    }
    return extent;
}

size_t experiment_where(const json_t *rows, const char *where)
{
    return experiment_extent(rows, where, "").rows;
}

double experiment_at_number(const json_t *object, const char *key, size_t index)
{
    const json_t *value = json_array_get(json_object_get(object, key), index);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

size_t experiment_count(const json_t *object, const char *key)
{
    return (size_t)json_integer_value(json_object_get(object, key));
}

bool experiment_is(const json_t *object, const char *key, const char *text)
{
    return strcmp(member_text(object, key), text) == 0;
}

size_t experiment_counts(const json_t *object, const char *key, size_t *x, size_t capacity)
{
    const json_t *list = json_object_get(object, key), *value;
    size_t i;
    json_array_foreach (list, i, value)
        if (i < capacity)
            x[i] = (size_t)json_integer_value(value);
    return json_array_size(list) < capacity ? json_array_size(list) : capacity;
}

void experiment_add(json_t *rows, json_t *params, json_t *values)
{
    json_array_append_new(rows, json_pack("{s:o, s:o}", "params", params, "values", values));
}

json_t *experiment_values(const struct experiment_value *values)
{
    json_t *object = json_object();
    for (; values->key; values++)
        json_object_set_new(object, values->key, number_json(values->x));
    return object;
}

json_t *experiment_range(double lo, double hi)
{
    return number_array((double[]){lo, hi}, 2);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The columns of a table: keys, and titles, which have spaces for underscores. */
struct listing {
    char keys[TABLE_COLUMNS][32], titles[TABLE_COLUMNS][32];
    struct table_column columns[TABLE_COLUMNS];
    size_t count;
};

/* Keys with a question mark are optional columns; the last ones are dropped first. */
static void open_columns(struct listing *l, const char *keys)
{
    for (l->count = 0; *keys && l->count < TABLE_COLUMNS; l->count++) {
        const size_t length = strcspn(keys, " "), n = l->count;
        snprintf(l->keys[n], sizeof l->keys[n], "%.*s", (int)length, keys);
        strcpy(l->titles[n], l->keys[n]);
        for (char *c = l->titles[n]; *c; c++)
            if (*c == '_')
                *c = ' ';
        l->columns[n] = (struct table_column){.title = l->titles[n]};
        if (l->keys[n][length - 1] == '?') {
            l->keys[n][length - 1] = l->titles[n][length - 1] = 0;
            l->columns[n].priority = (int)n + 1;
        }
        keys += length + (keys[length] == ' ');
    }
}

/* Four digits, or all digits of a whole number; keys that end in "_s" are seconds, printed with a unit. */
static void print_number(const char *key, double x, char text[UNITS_TEXT])
{
    const size_t length = strlen(key);
    if (length > 2 && strcmp(key + length - 2, "_s") == 0)
        units_seconds(x, text);
    else
        snprintf(text, UNITS_TEXT, fabs(x) >= 1e4 && fabs(x) < 1e9 ? "%.0f" : "%.4g", x);
}

/* A text, a number, yes or no, an interval, or a list of numbers. */
static void print_cell(const char *key, const json_t *x, char text[TABLE_CELL])
{
    const char *between = strstr(key, "ci95") ? " .. " : " ";
    char number[UNITS_TEXT];
    const json_t *item;
    size_t i, n = 0;
    *text = 0;
    if (json_is_string(x) || json_is_boolean(x)) {
        snprintf(text, TABLE_CELL, "%s",
                 json_is_true(x)    ? "yes"
                 : json_is_false(x) ? "no"
                                    : json_string_value(x));
    } else if (json_is_number(x)) {
        print_number(key, json_number_value(x), number);
        snprintf(text, TABLE_CELL, "%s", number);
    }
    json_array_foreach (x, i, item) {
        print_number(key, json_number_value(item), number);
        if (json_is_number(item) && n < TABLE_CELL)
            n += (size_t)snprintf(text + n, TABLE_CELL - n, "%s%s", i ? between : "", number);
    }
}

static void add_row(struct listing *l, const struct experiment_part *part, struct table_row *row)
{
    for (size_t c = 0; c < l->count; c++) {
        const json_t *x = json_object_get(part->values, l->keys[c]);
        x = x ? x : json_object_get(part->params, l->keys[c]);
        print_cell(l->keys[c], x, row->text[c]);
        l->columns[c].left |= json_is_string(x);
    }
    if (json_is_false(json_object_get(part->values, "ok")))
        row->style = TABLE_BAD;
}

/* Names the columns that did not fit, whose numbers are only in the file. */
static void say_left_out(const struct listing *l, unsigned shown)
{
    char text[TABLE_COLUMNS * 34] = "";
    for (size_t c = 0; c < l->count; c++)
        if (l->columns[c].priority && !(shown & 1u << c))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "",
                     l->titles[c]);
    if (*text)
        report_sentence("Too wide for the table: %s.", text);
}

void experiment_list(const json_t *rows, const char *where, const char *keys, const char *heading)
{
    struct experiment_part of = {.rows = rows, .where = where};
    struct listing l;
    open_columns(&l, keys);
    struct table table = {.columns = l.columns,
                          .column_count = l.count,
                          .rows = calloc(json_array_size(rows) + 1, sizeof *table.rows)};
    while (table.rows && experiment_part_next(&of))
        add_row(&l, &of, &table.rows[table.row_count++]);
    if (table.row_count) {
        report_sentence("%s", heading);
        table.titles = l.count && l.columns[0].left;
        say_left_out(&l, report_table(&table));
    }
    free(table.rows);
}
