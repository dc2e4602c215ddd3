/*
 * asked: names, flags and parameters of the command line.
 */
#include "asked.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "session/options.h"

static const char *const busy[] = {"wait", "go-on", NULL};

const struct parameter asked_parameters[] = {
    {"seed", "N", "1", NULL, "seed of all random numbers", PARAMETER_COUNT, 0, 9e15, NULL},
    {"threads", "N", "0", NULL, "threads of a worker; 0: one per core", PARAMETER_COUNT, 0, 4096,
     NULL},
    {"if-busy", "HOW", "wait", NULL, "for times, if another session measures: wait or go-on",
     PARAMETER_WORD, 0, 0, busy},
    {0},
};

static const struct parameter none[] = {{0}};

static const struct parameter *own(const struct asked *asked)
{
    return asked->experiment ? asked->experiment->parameters : none;
}

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

static const char *const flags[] = {"quick", "output", "force", "plugin", "help"};

static void unknown(const struct asked *asked, const char *argument, char *message, size_t size)
{
    const char *name = argument + (strncmp(argument, "--", 2) == 0 ? 2 : 0);
    struct scan_choice choice = {.given = piece_from(name, name + strcspn(name, "="))};
    char quoted[SCAN_QUOTED], advice[SCAN_ADVICE];
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        scan_offer(&choice, flags[i]);
    for (const struct parameter *p = asked_parameters; p->name; p++)
        scan_offer(&choice, p->name);
    for (const struct parameter *p = own(asked); p->name; p++)
        scan_offer(&choice, p->name);
    snprintf(message, size, "experiment %s has no parameter %s; %s",
             asked->experiment ? asked->experiment->name : "all",
             scan_quote(piece_from(argument, argument + strcspn(argument, "=")), quoted),
             scan_advice(&choice, "it has", advice));
}

/* Stores a parameter's value; false fills message. */
static bool store(struct asked *asked, const struct parameter *parameter, const char *value,
                  char *message, size_t size)
{
    json_t *parsed = parameter_parse(parameter, value, message, size);
    if (parsed)
        json_object_set_new(asked->given, parameter->name, parsed);
    return parsed;
}

/* One argument, and the next where that is its value; how many were used, 0 where wrong. */
static int take(struct asked *asked, int argc, const char *const *argv, char *message, size_t size)
{
    const char *name = strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2 : "";
    const size_t length = strcspn(name, "=");
    const bool joined = name[length] == '=';
    const char *value = joined ? name + length + 1 : argc > 1 ? argv[1] : NULL;
    const int used = joined ? 1 : 2;
    bool *const flag = options_is_help(argv[0])     ? &asked->help
                       : strcmp(name, "quick") == 0 ? &asked->quick
                       : strcmp(name, "force") == 0 ? &asked->force
                                                    : NULL;
    if (flag) {
        *flag = true;
        return 1;
    }
    const bool output = length == 6 && strncmp(name, "output", 6) == 0;
    const bool plugin = length == 6 && strncmp(name, "plugin", 6) == 0;
    const struct parameter *parameter = parameters_find(asked_parameters, name, length);
    if (!parameter)
        parameter = parameters_find(own(asked), name, length);
    if (!parameter && !output && !plugin) {
        unknown(asked, argv[0], message, size);
        return 0;
    }
    if (!value || (!parameter && !*value)) {
        snprintf(message, size, "--%.*s takes %s", (int)length, name,
                 parameter ? parameter->form : "a file");
        return 0;
    }
    if (plugin) /* asked_values() has taken it */
        return used;
    if (parameter)
        return store(asked, parameter, value, message, size) ? used : 0;
    asked->output = value;
    return used;
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
        if ((used = take(asked, argc - i, argv + i, message, message_size)) == 0)
            return false;
    if (!named && !asked->help) {
        snprintf(message, message_size,
                 "experiment takes a name, or all; attnbench experiment --help lists them");
        return false;
    }
    const json_t *seed = json_object_get(asked->given, "seed");
    asked->seed = seed ? json_integer_value(seed) : 1;
    const char *how = json_string_value(json_object_get(asked->given, "if-busy"));
    asked->if_busy = how && strcmp(how, "go-on") == 0 ? IF_BUSY_GO_ON : IF_BUSY_WAIT;
    asked->threads = (int)json_integer_value(json_object_get(asked->given, "threads"));
    return true;
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
