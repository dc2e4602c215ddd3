/*
 * help: what the words in a table mean, by topic.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "base/progress.h"
#include "results/report.h"
#include "base/scan.h"
#include "session/session.h"

static const struct {
    const char *name, *summary, *before;
    void (*print)(void);
} topics[] = {
    {"columns", "marks and columns of the tables",
     "Marks and columns; a wider terminal shows more columns.", report_help_columns},
    {"flags", "letters that say how to read a row",
     "Flags say how to read a row; no sample is dropped because of one.", report_help_flags},
    {"metrics", "numbers of a row, in the results file and in tables",
     "A row of the results file has these fields; a column shows a share in percent.\n"
     "attnbench help columns has those that are made of several.",
     report_help_metrics},
    {"models", "the layers of each model of --model",
     "MODEL[.KIND], its number of layers, when they compute, and on what: a decoder in a pass "
     "over\n"
     "S tokens and for a token, an encoder in a pass in which each token sees all, prefill in a\n"
     "pass alone, decode for a token alone; without: never, they have no softmax over keys.",
     list_models},
    {"problem", "keys of a problem, their values and their defaults",
     "A problem is key=value,...; lengths may have a unit: 16k is 16384, 2M is 2097152.\n"
     "128..8192*2 (times 2), 100..500+100, 7..9 and 64|128 stand for several values: one case "
     "each.",
     list_keys},
    {"states", "words that stand in place of a time",
     "A row without a time has a state instead, with its reason.", report_help_states},
    {"suites", "what each suite of --suite is for",
     "A suite is a list of cases: built in, or a file (docs/problems.md).", list_suites},
};
#define TOPICS (sizeof topics / sizeof *topics)

const char *help_topic(size_t index, const char **summary)
{
    if (index >= TOPICS)
        return NULL;
    *summary = topics[index].summary;
    return topics[index].name;
}

static void print_topics(void)
{
    printf("usage: attnbench help TOPIC|COMMAND\n\n");
    for (size_t i = 0; i < TOPICS; i++)
        printf("  %-11s %s\n", topics[i].name, topics[i].summary);
    printf("\nattnbench --help lists the commands.\n");
}

static int unknown_topic(const char *name)
{
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    struct scan_choice choice = {.given = piece_from(name, name + strlen(name))};
    for (size_t i = 0; i < TOPICS; i++)
        scan_offer(&choice, topics[i].name);
    for (int i = 0; i < COMMAND_COUNT; i++)
        scan_offer(&choice, options_command_name((enum command)i));
    progress_say("no help on %s; %s", scan_quote(choice.given, quoted),
                 scan_advice(&choice, "there is help on", advice));
    return EXIT_USAGE;
}

/* False where there is no such topic. */
static bool print_topic(const char *name)
{
    size_t i = 0;
    while (i < TOPICS && strcmp(topics[i].name, name) != 0)
        i++;
    if (i == TOPICS)
        return false;
    report_open(false);
    printf("%s\n\n", topics[i].before);
    topics[i].print();
    return true;
}

void help_print_page(const struct options *options)
{
    if (options->command == COMMAND_HELP)
        print_topics();
    else if (options->command == COMMAND_EXPERIMENT)
        experiment_print_help(stdout, options);
    else
        options_print_help(stdout, options->command);
}

int help_command(const struct options *options, int argc, const char *const *argv)
{
    (void)argc, (void)argv;
    struct options about = {.command = COMMAND_HELP};
    if (!options->subject || options_command(options->subject, &about.command))
        help_print_page(&about);
    else if (!print_topic(options->subject))
        return unknown_topic(options->subject);
    return fflush(stdout) == 0 ? EXIT_AS_ASKED : EXIT_ENVIRONMENT;
}
