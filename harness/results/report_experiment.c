/*
 * report_experiment: tables and sentences of experiments.
 */
#include "report_experiment.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/progress.h"
#include "report_rows.h"

unsigned report_table(const struct table *table)
{
    progress_clear();
    const unsigned shown =
        table_print(report_output.out, table, report_output.width, report_output.color);
    report_flush();
    return shown;
}

void report_sentence(const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    progress_clear();
    fputc('\n', report_output.out);
    table_wrap(report_output.out, text, report_output.width, 0);
    report_flush();
}
