/*
 * report_legend: explains marks, columns, flags and states: those that a session's tables have shown, or, for
 * `attnbench help`, all of them.
 */
#include "report.h"

#include <assert.h>
#include <string.h>

#include "bench/noise.h"
#include "report_rows.h"

static const struct {
    char sign;
    const char *meaning;
} marks[] = {
    {'*', "fastest at its thread count"},
    {'=', "tied: no difference shown, round by round"},
};

/* Columns that tables have shown, and marks and flags, by their character. */
static struct {
    bool mark[128], flag[128], column[COLUMN_COUNT];
} seen;

/* Lines to print, in two columns. */
struct lines {
    struct {
        char sign[16], text[128];
    } line[64];
    size_t count;
};

static void add(struct lines *lines, const char *sign, const char *word, const char *meaning)
{
    const size_t i = lines->count++;
    assert(i < sizeof lines->line / sizeof *lines->line);
    snprintf(lines->line[i].sign, sizeof lines->line[i].sign, "%s", sign);
    snprintf(lines->line[i].text, sizeof lines->line[i].text, "%s%s%s", word, *word ? ": " : "",
             meaning);
}

static void print(const struct lines *lines)
{
    size_t indent = 0;
    for (size_t i = 0; i < lines->count; i++)
        if (strlen(lines->line[i].sign) + 2 > indent)
            indent = strlen(lines->line[i].sign) + 2;
    for (size_t i = 0; i < lines->count; i++)
        report_wrapped(indent, "%-*s%s", (int)indent, lines->line[i].sign, lines->line[i].text);
}

void report_legend_saw(const struct table *table, unsigned shown, const int *which)
{
    for (size_t c = 0; c < table->column_count; c++) {
        const int column = which ? which[c] : (int)c;
        if (column < 0 || !(shown & 1u << c))
            continue;
        for (size_t r = 0; r < table->row_count; r++) {
            const char *text = table->rows[r].text[c];
            const bool few = column == COLUMN_INTERVAL && *text == 'n'; /* n=..., no interval */
            seen.flag['n'] |= few;
            seen.column[column] |= *text && !few;
            for (; *text; text++) {
                seen.mark[*text & 127] |= column == COLUMN_MARK;
                seen.flag[*text & 127] |= column == COLUMN_FLAGS;
            }
        }
    }
}

static void add_marks(struct lines *lines, bool all)
{
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
        if (all || seen.mark[(int)marks[m].sign])
            add(lines, (const char[]){marks[m].sign, 0}, "", marks[m].meaning);
}

static void add_columns(struct lines *lines, bool all)
{
    for (int c = 0; c < COLUMN_COUNT; c++)
        if (report_column_meaning(c, all) && (all || seen.column[c]))
            add(lines, report_columns(false)[c].title, "", report_column_meaning(c, all));
}

static void add_flags(struct lines *lines, bool all)
{
    for (size_t f = 0; f < noise_word_count; f++) {
        const struct noise_word *word = &noise_words[f];
        const char sign[] = {word->letter, word->bit == NOISE_NO_INTERVAL ? '=' : 0, 0};
        if (all || seen.flag[(int)word->letter])
            add(lines, sign, word->word, word->meaning);
    }
}

void report_legend(void)
{
    struct lines lines = {0};
    add_marks(&lines, false);
    add_columns(&lines, false);
    add_flags(&lines, false);
    fprintf(report_output.out, "\n");
    print(&lines);
    fprintf(report_output.out, "attnbench help says more.\n\n");
}

void report_legend_columns(void)
{
    struct lines lines = {0};
    add_marks(&lines, true);
    add_columns(&lines, true);
    print(&lines);
}

void report_legend_flags(void)
{
    struct lines lines = {0};
    add_flags(&lines, true);
    print(&lines);
}

void report_legend_states(void)
{
    struct lines lines = {0};
    for (int s = 0; s < CELL_STATE_COUNT; s++)
        add(&lines, cell_state_name((enum cell_state)s), "",
            cell_state_meaning((enum cell_state)s));
    print(&lines);
}

void report_legend_metrics(void)
{
    for (int f = FIELD_NONE + 1; f < FIELD_COUNT; f++) {
        const enum field field = (enum field)f;
        const char *object = field_object(field);
        const int column = report_column_of(field);
        report_wrapped(4, "%s%s%s, %s%s%s", object ? object : "", object ? "." : "",
                       field_name(field), field_unit(field),
                       column < COLUMN_COUNT ? "; column " : "",
                       column < COLUMN_COUNT ? report_columns(false)[column].title : "");
        report_wrapped(4, "    %s", field_meaning(field));
    }
}
