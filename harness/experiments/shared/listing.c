/*
 * listing: numbers of four digits, or all of their whole ones; seconds, whose keys end in "_s", with their unit.
 */
#include "listing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "experiments/experiment.h"
#include "results/report.h"

/* The columns of a table: keys, and these with spaces as titles. */
struct listing {
    char keys[TABLE_COLUMNS][32], titles[TABLE_COLUMNS][32];
    struct table_column columns[TABLE_COLUMNS];
    size_t count;
};

/* A key with a question mark gives way where the table is too wide, the last one first. */
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

static void print_number(const char *key, double x, char text[UNITS_TEXT])
{
    const size_t length = strlen(key);
    if (length > 2 && strcmp(key + length - 2, "_s") == 0)
        units_seconds(x, text);
    else
        snprintf(text, UNITS_TEXT, fabs(x) >= 1e4 && fabs(x) < 1e9 ? "%.0f" : "%.4g", x);
}

/* A text, a number, yes or no, the ends of an interval, or numbers beside each other. */
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

/* Columns for which the table was too wide are named: their numbers are in the file alone. */
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

void listing_print(const json_t *rows, const char *where, const char *keys, const char *heading)
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
