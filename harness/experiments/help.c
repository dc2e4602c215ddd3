/*
 * help: pages about experiments.
 */
#include "help.h"

#include <string.h>

#include "asked.h"
#include "base/table.h"

#define HELP_WIDTH 80

void experiment_print_list(FILE *out, size_t width)
{
    char line[256];
    const struct experiment *experiment;
    for (size_t i = 0; (experiment = experiment_at(i)); i++) {
        snprintf(line, sizeof line, "  %-16s %s", experiment->name, experiment->question);
        table_wrap(out, line, width, 19);
    }
}

/* Lines of a text, indented. */
static void print_indented(FILE *out, const char *text)
{
    while (*text) {
        const size_t length = strcspn(text, "\n");
        fprintf(out, "  %.*s\n", (int)length, text);
        text += length + (text[length] == '\n');
    }
}

static void print_common(FILE *out)
{
    parameters_print(out, asked_parameters);
    static const char *const lines[][2] = {
        {"--quick", "smaller numbers, in seconds"},
        {"--plugin FILE", "kernels from a shared object or a program; repeatable"},
        {"--output FILE", "results as JSON Lines; - for standard output"},
        {"--force", "replace the file of --output"},
        {"--help", "this page"},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        fprintf(out, "  %-19s %s\n", lines[i][0], lines[i][1]);
}

void experiment_print_help(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "usage: attnbench experiment %s [PARAMETER]... [--output FILE]\n\n",
            experiment ? experiment->name : "NAME|all");
    if (experiment) {
        fprintf(out, "Question\n  %s\n\nMethod\n", experiment->question);
        print_indented(out, experiment->method);
        fprintf(out, "\nSource\n");
        print_indented(out, experiment->source);
        fprintf(out, "\nParameters\n");
        parameters_print(out, experiment->parameters);
    } else {
        fprintf(out, "Experiments about attention itself; `all` runs each of\n\n");
        experiment_print_list(out, HELP_WIDTH);
        fprintf(out, "\nattnbench experiment NAME --help has its question, method and source.\n\n");
    }
    print_common(out);
    fprintf(out, "\nExit status: 0 done, 1 a number differs from one that is known or a step "
                 "failed,\n2 usage, 3 input, output or environment, 130 interrupted.\n");
}
