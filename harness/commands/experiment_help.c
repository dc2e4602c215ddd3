/*
 * experiment_help: the list of experiments, and a page of each.
 */
#include "commands.h"

#include <string.h>

#include "base/refuse.h"
#include "base/scan.h"
#include "base/table.h"
#include "experiments/experiment.h"

#define HELP_WIDTH 80

bool experiment_choose(struct options *options, int argc, const char *const *argv, char *message,
                       size_t message_size)
{
    const char *name = argc > 1 && *argv[1] != '-' ? argv[1] : "all";
    struct scan_choice choice = {.given = piece_from(name, name + strlen(name))};
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    const struct experiment *experiment = experiment_find(name);
    options->own =
        experiment && experiment->calculation ? experiment->calculation->parameters : NULL;
    if (experiment || strcmp(name, "all") == 0)
        return true;
    for (size_t i = 0; (experiment = experiment_at(i)); i++)
        scan_offer(&choice, experiment->name);
    scan_offer(&choice, "all");
    return refuse(message, message_size, "no experiment %s; %s", scan_quote(choice.given, quoted),
                  scan_advice(&choice, "experiments are", advice));
}

void experiment_print_list(FILE *out, size_t width)
{
    char line[256];
    const struct experiment *experiment;
    for (size_t i = 0; (experiment = experiment_at(i)); i++) {
        snprintf(line, sizeof line, "  %-16s %s", experiment->name, experiment->question);
        table_wrap(out, line, width, 19);
    }
}

void experiment_print_method(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "  ");
    table_wrap(out, experiment->method, HELP_WIDTH - 2, 2);
}

void experiment_print_asked(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "Question\n  %s\n\nMethod\n", experiment->question);
    experiment_print_method(out, experiment);
    fprintf(out, "\nSource\n  ");
    table_wrap(out, experiment->source, HELP_WIDTH - 2, 2);
}

void experiment_print_help(FILE *out, const struct options *options)
{
    const struct experiment *experiment =
        options->subject ? experiment_find(options->subject) : NULL;
    fprintf(out, "usage: attnbench experiment %s [PARAMETER]... [--output FILE]\n\n",
            experiment ? experiment->name : "NAME|all");
    if (experiment) {
        experiment_print_asked(out, experiment);
        fprintf(out, "\nParameters\n");
    } else {
        fprintf(out, "Experiments about attention itself; `all` runs those that take no session of "
                     "timings\n\n");
        experiment_print_list(out, HELP_WIDTH);
        fprintf(out, "\nattnbench experiment NAME --help has its question, method and source.\n\n");
    }
    options_print_options(out, COMMAND_EXPERIMENT, options->own);
    fprintf(out, "\nExit status: 0 done, 1 a number differs from one that is known or a step "
                 "failed,\n2 usage, 3 input, output or environment, 130 interrupted.\n");
}
