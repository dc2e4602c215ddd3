/*
 * help: prints the page of a topic, an experiment or a command.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "results/report.h"
#include "session/session.h"

static const struct {
    const char *before;
    void (*print)(void);
} pages[TOPICS] = {
    [TOPIC_COLUMNS] = {"Marks and columns; a wider terminal shows more columns.",
                       report_legend_columns},
    [TOPIC_FLAGS] = {"Flags say how to read a row; no sample is dropped because of one.",
                     report_legend_flags},
    [TOPIC_METRICS] = {"A row of the results file has these fields; a column shows a share in "
                       "percent.\nattnbench help columns has those that are made of several.",
                       report_legend_metrics},
    [TOPIC_MODELS] =
        {"MODEL[.KIND], its number of layers, when they compute, and on what: a decoder "
         "in a pass over\nS tokens and for a token, an encoder in a pass in which each "
         "token sees all, prefill in a\npass alone, decode for a token alone; without: "
         "never, they have no softmax over keys.",
         list_models},
    [TOPIC_PROBLEM] = {"A problem is key=value,...; lengths may have a unit: 16k is 16384, 2M is "
                       "2097152.\n128..8192*2 (times 2), 100..500+100, 7..9 and 64|128 stand for "
                       "several values: one case each.",
                       list_keys},
    [TOPIC_STATES] = {"A row without a time has a state instead, with its reason.",
                      report_legend_states},
    [TOPIC_SUITES] = {"A suite is a list of cases: built in, or a file (docs/problems.md).",
                      list_suites},
};

static void print_topics(void)
{
    printf("usage: attnbench help TOPIC|COMMAND\n\n");
    struct named topic;
    for (size_t i = 0; i < TOPICS && subject_at(COMMAND_HELP, i, &topic); i++)
        printf("  %-11s %s\n", topic.name, topic.summary);
    printf("\nattnbench --help lists the commands.\n");
}

/* False where there is no such topic. */
static bool print_topic(const char *name)
{
    struct named topic;
    size_t i = 0;
    while (i < TOPICS && subject_at(COMMAND_HELP, i, &topic) && strcmp(topic.name, name) != 0)
        i++;
    if (i == TOPICS)
        return false;
    report_open(false);
    printf("%s\n\n", pages[i].before);
    pages[i].print();
    return true;
}

/* ---- experiments ------------------------------------------------------------------------------ */

static void print_experiment_page(FILE *out, const struct options *options)
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
        list_experiments(out, OPTIONS_PAGE_WIDTH);
        fprintf(out, "\nattnbench experiment NAME --help has its question, method and source.\n\n");
    }
    options_print_options(out, COMMAND_EXPERIMENT, options->own);
    fprintf(out, "\nExit status: 0 done, 1 a number differs from one that is known or a step "
                 "failed,\n2 usage, 3 input, output or environment, 130 interrupted.\n");
}

/* ---- pages ------------------------------------------------------------------------------------ */

void help_print_page(const struct options *options)
{
    if (options->command == COMMAND_HELP)
        print_topics();
    else if (options->command == COMMAND_EXPERIMENT)
        print_experiment_page(stdout, options);
    else
        options_print_help(stdout, options->command);
}

int help_command(const struct options *options)
{
    struct options about = {.command = COMMAND_HELP};
    if (!options->subject || options_command(options->subject, &about.command))
        help_print_page(&about);
    else if (!print_topic(options->subject))
        return subject_unknown(COMMAND_HELP, options->subject, "");
    return EXIT_AS_ASKED;
}
