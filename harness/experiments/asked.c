/*
 * asked: names and parameters of the command line, and the pages that list them.
 */
#include "asked.h"

#include <stdint.h>
#include <string.h>

#include "base/scan.h"
#include "base/table.h"
#include "session/options.h"

#define HELP_WIDTH 80

static const char *const busy[] = {"wait", "go-on", NULL};

/* What every experiment takes. */
static const struct parameter common[] = {
    {"seed", "N", "1", NULL, "seed of all random numbers", PARAMETER_COUNT, 0, 9e15, NULL},
    {"threads", "N", "0", NULL, "threads of a worker; 0: one per core", PARAMETER_COUNT, 0, 4096,
     NULL},
    {"if-busy", "HOW", "wait", NULL, "for times, if another session measures: wait or go-on",
     PARAMETER_WORD, 0, 0, busy},
    {"quick", "", NULL, NULL, "smaller numbers, in seconds", PARAMETER_FLAG, 0, 0, NULL},
    {"plugin", "FILE", NULL, NULL, "kernels from a shared object or a program; repeatable",
     PARAMETER_FILE, 0, 0, NULL},
    {"output", "FILE", NULL, NULL, "results as JSON Lines; - for standard output", PARAMETER_FILE,
     0, 0, NULL},
    {"force", "", NULL, NULL, "replace the file of --output", PARAMETER_FLAG, 0, 0, NULL},
    {"help", "", NULL, NULL, "this page", PARAMETER_FLAG, 0, 0, NULL},
    {0},
};

static const struct parameter none[] = {{0}};

static const struct parameter *own(const struct asked *asked)
{
    return asked->experiment ? asked->experiment->parameters : none;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool find_experiment(struct asked *asked, const char *name, char *message, size_t size)
{
    struct scan_choice choice = {.given = piece_from(name, name + strlen(name))};
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    const struct experiment *experiment;
    if (strcmp(name, "all") == 0 || (asked->experiment = experiment_find(name)))
        return true;
    for (size_t i = 0; (experiment = experiment_at(i)); i++)
        scan_offer(&choice, experiment->name);
    scan_offer(&choice, "all");
    snprintf(message, size, "no experiment %s; %s", scan_quote(choice.given, quoted),
             scan_advice(&choice, "experiments are", advice));
    return false;
}

static void unknown(const struct asked *asked, const char *argument, char *message, size_t size)
{
    const char *name = argument + (strncmp(argument, "--", 2) == 0 ? 2 : 0);
    struct scan_choice choice = {.given = piece_from(name, name + strcspn(name, "="))};
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    for (const struct parameter *p = own(asked); p->name; p++)
        scan_offer(&choice, p->name);
    for (const struct parameter *p = common; p->name; p++)
        scan_offer(&choice, p->name);
    snprintf(message, size, "experiment %s has no parameter %s; %s",
             asked->experiment ? asked->experiment->name : "all",
             scan_quote(piece_from(argument, argument + strcspn(argument, "=")), quoted),
             scan_advice(&choice, "it has", advice));
}

/* One argument, and the next where that is its value; how many were used, 0 where wrong. */
static int parse_one(struct asked *asked, int argc, const char *const *argv, char *message,
                     size_t size)
{
    const char *name = options_is_help(argv[0])         ? "help"
                       : strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2
                                                        : "";
    const size_t length = strcspn(name, "=");
    const bool joined = name[length] == '=';
    const struct parameter *parameter = parameters_find(common, name, length);
    if (!parameter)
        parameter = parameters_find(own(asked), name, length);
    if (!parameter || (parameter->kind == PARAMETER_FLAG && joined)) {
        unknown(asked, argv[0], message, size);
        return 0;
    }
    const bool flag = parameter->kind == PARAMETER_FLAG;
    const char *value = joined ? name + length + 1 : flag ? "" : argc > 1 ? argv[1] : NULL;
    if (!value || (parameter->kind == PARAMETER_FILE && !*value)) {
        snprintf(message, size, "--%s takes %s", parameter->name,
                 parameter->kind == PARAMETER_FILE ? "a file" : parameter->form);
        return 0;
    }
    json_t *parsed = parameter_parse(parameter, value, message, size);
    if (!parsed)
        return 0;
    json_object_set_new(asked->given, parameter->name, parsed);
    return flag || joined ? 1 : 2;
}

size_t asked_values(int argc, const char *const *argv, const char *option, const char **values,
                    size_t capacity)
{
    const size_t length = strlen(option);
    size_t n = 0;
    for (int i = 1; i < argc && n < capacity; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, option, length) != 0)
            continue;
        if (argv[i][2 + length] == '=')
            values[n++] = argv[i] + 2 + length + 1;
        else if (!argv[i][2 + length] && i + 1 < argc)
            values[n++] = argv[++i];
    }
    return n;
}

bool asked_parse(struct asked *asked, int argc, const char *const *argv, char *message,
                 size_t message_size)
{
    *asked = (struct asked){.given = json_object()};
    int i = 1;
    const bool named = argc > 1 && strncmp(argv[1], "--", 2) != 0 && !options_is_help(argv[1]);
    if (named) {
        if (!find_experiment(asked, argv[1], message, message_size))
            return false;
        i = 2;
    }
    for (int used; i < argc; i += used)
        if ((used = parse_one(asked, argc - i, argv + i, message, message_size)) == 0)
            return false;
    asked->help = json_object_get(asked->given, "help");
    asked->quick = json_object_get(asked->given, "quick");
    asked->force = json_object_get(asked->given, "force");
    asked->output = json_string_value(json_object_get(asked->given, "output"));
    const json_t *seed = json_object_get(asked->given, "seed");
    asked->seed = seed ? json_integer_value(seed) : 1;
    asked->if_busy = experiment_is(asked->given, "if-busy", "go-on") ? IF_BUSY_GO_ON : IF_BUSY_WAIT;
    asked->threads = (int)experiment_count(asked->given, "threads");
    if (!named && !asked->help)
        snprintf(message, message_size,
                 "experiment takes a name, or all; attnbench experiment --help lists them");
    return named || asked->help;
}

void asked_free(struct asked *asked)
{
    json_decref(asked->given);
}

json_t *asked_of(const struct asked *asked, const struct experiment *experiment)
{
    json_t *all = parameters_standard(experiment->parameters, asked->quick);
    json_object_update_existing(all, asked->given);
    json_object_set_new(all, "seed", json_integer(asked->seed));
    return all;
}

/* ---- pages ----------------------------------------------------------------------------------- */

void asked_print_list(FILE *out, size_t width)
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

void asked_print_help(FILE *out, const struct experiment *experiment)
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
        asked_print_list(out, HELP_WIDTH);
        fprintf(out, "\nattnbench experiment NAME --help has its question, method and source.\n\n");
    }
    parameters_print(out, common);
    fprintf(out, "\nExit status: 0 done, 1 a number differs from one that is known or a step "
                 "failed,\n2 usage, 3 input, output or environment, 130 interrupted.\n");
}
