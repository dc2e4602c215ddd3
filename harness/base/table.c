/*
 * table: widths, dropped columns, titles, notes.
 */
#include "table.h"

#include <string.h>

/* Columns in bytes; every text is ASCII. */
struct layout {
    size_t width[TABLE_COLUMNS]; /* 0 = not shown */
    size_t total;
    size_t gap; /* blanks between columns */
};

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static size_t total_of(const struct table *table, const struct layout *layout)
{
    size_t total = table->indent;
    for (size_t c = 0; c < table->column_count; c++)
        total += layout->width[c] ? layout->width[c] + layout->gap : 0;
    return total > table->indent ? total - layout->gap : total;
}

/* The shown column that is needed least; column_count where all are needed. */
static size_t least_needed(const struct table *table, const struct layout *layout)
{
    size_t least = table->column_count;
    int priority = 0;
    for (size_t c = 0; c < table->column_count; c++)
        if (layout->width[c] && table->columns[c].priority > priority) {
            priority = table->columns[c].priority;
            least = c;
        }
    return least;
}

/* Lays out the columns from number `first` on, with two blanks between them; with one where the table is
 * too wide and no further column may be dropped. */
static struct layout lay_out(const struct table *table, size_t width, size_t first)
{
    struct layout layout = {.gap = 2};
    for (size_t c = first; c < table->column_count; c++) {
        for (size_t r = 0; r < table->row_count; r++)
            layout.width[c] = larger(layout.width[c], strlen(table->rows[r].text[c]));
        if (layout.width[c])
            layout.width[c] = larger(layout.width[c], strlen(table->columns[c].title));
    }
    while ((layout.total = total_of(table, &layout)) > width) {
        const size_t least = least_needed(table, &layout);
        const bool all_needed = least == table->column_count;
        if (layout.gap > 1 && all_needed)
            layout.gap = 1;
        else if (all_needed)
            break;
        else
            layout.width[least] = 0;
    }
    return layout;
}

static const char *begin_style(enum table_style style, bool color)
{
    static const char *const codes[] = {
        [TABLE_PLAIN] = "", [TABLE_STRONG] = "\033[1m", [TABLE_BAD] = "\033[31m"};
    return color ? codes[style] : "";
}

/* One line, without blanks at its end; returns the columns used. */
static size_t print_line(FILE *out, const struct table *table, const struct layout *layout,
                         const struct table_row *row)
{
    size_t used = 0, blanks = table->indent;
    for (size_t c = 0; c < table->column_count; c++) {
        if (!layout->width[c])
            continue;
        const char *text = row ? row->text[c] : table->columns[c].title;
        const size_t length = strlen(text), room = layout->width[c] - length;
        const size_t before = table->columns[c].left ? 0 : room;
        if (length) {
            fprintf(out, "%*s%s", (int)(blanks + before), "", text);
            used += blanks + before + length;
            blanks = room - before + layout->gap;
        } else {
            blanks += layout->width[c] + layout->gap;
        }
    }
    return used;
}

void table_wrap(FILE *out, const char *text, size_t width, size_t indent)
{
    size_t used = 0;
    while (*text) {
        const size_t blanks = strspn(text, " "), word = strcspn(text + blanks, " ");
        if (used && used + blanks + word > width) {
            fprintf(out, "\n%*s", (int)indent, "");
            used = indent;
            text += blanks;
        } else {
            fprintf(out, "%.*s", (int)blanks, text);
            used += blanks;
            text += blanks;
        }
        fprintf(out, "%.*s", (int)word, text);
        used += word;
        text += word;
    }
    fprintf(out, "\n");
}

static void print_note(FILE *out, const struct table *table, const char *note, size_t used,
                       size_t width)
{
    const size_t indent = table->indent + 4;
    if (!*note)
        fprintf(out, "\n");
    else if (table->one_line || used + 2 + strlen(note) <= width)
        fprintf(out, "  %s\n", note);
    else {
        fprintf(out, "\n%*s", (int)indent, "");
        table_wrap(out, note, width - indent, indent);
    }
}

unsigned table_print(FILE *out, const struct table *table, size_t width, bool color)
{
    struct layout layout = lay_out(table, width, 0);
    const bool titles = table->titles && (layout.gap == 1 || layout.total > width);
    const char *title = "";
    if (titles)
        layout = lay_out(table, width, 1);
    print_line(out, table, &layout, NULL);
    fprintf(out, "\n");
    for (size_t r = 0; r < table->row_count; r++) {
        const struct table_row *row = &table->rows[r];
        const char *code = begin_style(row->style, color);
        if (titles && strcmp(title, row->text[0]) != 0)
            fprintf(out, "%*s%s\n", (int)table->indent, "", title = row->text[0]);
        fprintf(out, "%s", code);
        const size_t used = print_line(out, table, &layout, row);
        fprintf(out, "%s", *code ? "\033[0m" : "");
        print_note(out, table, row->note, used, width);
    }
    unsigned shown = titles;
    for (size_t c = 0; c < table->column_count; c++)
        shown |= layout.width[c] ? 1u << c : 0;
    return shown;
}
