/*
 * options: the loop over the command line, and --help.
 */
#include "options_table.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/cases.h"
#include "base/scan.h"
#include "problem/select.h"
#include "base/table.h"

#define HELP_WIDTH 80

void options_init(struct options *options)
{
    *options = (struct options){.placement = PLACEMENT_CORES};
}

bool options_command(const char *name, enum command *command)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(options_commands[i].name, name) == 0) {
            *command = (enum command)i;
            return true;
        }
    return false;
}

const char *options_command_name(enum command command)
{
    return options_commands[command].name;
}

bool options_is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

/* ---- parsing --------------------------------------------------------------------------------- */

/* The whole of text as a number; false beyond [lo, hi]. */
static bool number(const char *text, double lo, double hi, double *x)
{
    char *end;
    *x = strtod(text, &end);
    return end != text && !*end && *x >= lo && *x <= hi;
}

static bool unsigned_number(const char *text, uint64_t *x)
{
    char *end;
    errno = 0;
    *x = strtoull(text, &end, 0);
    return *text >= '0' && *text <= '9' && !*end && !errno && *x <= INT64_MAX;
}

/* Stores one option's value; returns what is wrong with it, NULL where nothing. */
static const char *store(struct options *options, const struct option *option, const char *value)
{
    void *field = (char *)options + option->offset;
    double x;
    switch (option->kind) {
    case FLAG:
        *(bool *)field = true;
        return NULL;
    case TEXT:
        *(const char **)field = value;
        return *value ? NULL : "is empty";
    case PROBLEM:
        if (options->problem_count == OPTIONS_MAX_PROBLEMS)
            return "is given too often; write a suite file";
        options->problems[options->problem_count++] = value;
        return NULL;
    case PLUGIN:
        if (options->plugin_count == OPTIONS_MAX_PLUGINS)
            return "is given too often";
        options->plugins[options->plugin_count++] = value;
        return *value ? NULL : "is empty";
    case SECONDS:
        return number(value, 1e-3, 1e7, field) ? NULL : "takes a positive number of seconds";
    case COUNT:
        if (!number(value, 1, 1e4, &x) || x != floor(x))
            return "takes a whole number from 1 to 10000";
        *(size_t *)field = (size_t)x;
        return NULL;
    case SEED:
        options->seeded = true;
        return unsigned_number(value, field) ? NULL : "takes a whole number";
    case DRAWS:
        if (!number(value, 0, 1e4, &x) || x != floor(x))
            return "takes a whole number from 0 to 10000";
        *(size_t *)field = (size_t)x;
        options->drawn = true;
        return NULL;
    case PLACE:
        return machine_placement_parse(value, field) ? NULL : "is cores, threads, numa or none";
    case MEMORY:
        return machine_memory_parse(value, field) ? NULL : "is first-touch, interleave or bind";
    case BUSY:
        *(enum if_busy *)field = strcmp(value, "wait") == 0 ? IF_BUSY_WAIT : IF_BUSY_GO_ON;
        return strcmp(value, "wait") == 0 || strcmp(value, "go-on") == 0 ? NULL
                                                                         : "is wait or go-on";
    }
    return NULL;
}

static const struct option *find(enum command command, const char *name, size_t length)
{
    for (size_t i = 0; i < options_table_size; i++)
        if (options_table[i].commands & 1u << command && strlen(options_table[i].name) == length &&
            strncmp(options_table[i].name, name, length) == 0)
            return &options_table[i];
    return NULL;
}

/* The option whose value a bare word looks like; NULL where it looks like none. */
static const char *option_for(const char *word)
{
    const size_t length = strlen(word), key = strcspn(word, "=");
    const char *names[SELECT_MAX];
    const size_t kernels = catalogue_names(names, SELECT_MAX);
    for (size_t i = 0; parse_key_help(i); i++)
        if (word[key] && piece_is(piece_from(word, word + key), parse_key_help(i)->name))
            return "problem";
    for (const struct suite *suite = cases_builtin; suite->name; suite++)
        if (piece_is(piece_from(word, word + strcspn(word, ",")), suite->name))
            return "suite";
    if (length > 6 && strcmp(word + length - 6, ".suite") == 0)
        return "suite";
    for (size_t i = 0; i < kernels; i++)
        if (piece_is(piece_from(word, word + strcspn(word, ",/")), names[i]))
            return "kernel";
    return NULL;
}

/* Why `argument` is no option of this command, with the nearest that is. */
static void unknown(enum command command, const char *argument, char *message, size_t size)
{
    const char *meant = option_for(argument);
    if (meant && find(command, meant, strlen(meant))) {
        snprintf(message, size, "%s takes options only; did you mean --%s %s?",
                 options_commands[command].name, meant, argument);
        return;
    }
    const char *name = argument + (strncmp(argument, "--", 2) == 0 ? 2 : 0);
    struct scan_choice choice = {.given = piece_from(name, name + strcspn(name, "="))};
    char advice[SCAN_ADVICE], quoted[SCAN_QUOTED];
    for (size_t i = 0; i < options_table_size; i++)
        if (options_table[i].commands & 1u << command)
            scan_offer(&choice, options_table[i].name);
    snprintf(message, size, "%s has no option %s; ", options_commands[command].name,
             scan_quote(piece_from(argument, argument + strcspn(argument, "=")), quoted));
    const size_t used = strlen(message);
    if (choice.nearest)
        snprintf(message + used, size - used, "did you mean --%s?", choice.nearest);
    else
        snprintf(message + used, size - used, "%s", scan_advice(&choice, "it has", advice));
}

/* One argument, and the next where that is its value; returns how many were used, 0 where wrong. */
static int parse_argument(struct options *options, int argc, const char *const *argv, char *message,
                          size_t size)
{
    const char *name = strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2 : "";
    const size_t length = strcspn(name, "=");
    const struct option *option = find(options->command, name, length);
    if (options_is_help(argv[0])) {
        options->help = true;
        return 1;
    }
    if (!option) {
        unknown(options->command, argv[0], message, size);
        return 0;
    }
    const bool joined = name[length] == '=';
    const char *value = joined ? name + length + 1 : option->value && argc > 1 ? argv[1] : NULL;
    if (!value != !option->value) {
        snprintf(message, size, "--%s takes %s", option->name,
                 option->value ? option->value : "no value");
        return 0;
    }
    const char *wrong = store(options, option, value ? value : "");
    if (wrong) {
        snprintf(message, size, "--%s %s: '%s'", option->name, wrong, value);
        return 0;
    }
    return value && !joined ? 2 : 1;
}

bool options_parse(struct options *options, int argc, const char *const *argv, char *message,
                   size_t message_size)
{
    if (!options_command(argv[0], &options->command)) {
        snprintf(message, message_size, "no command '%s'", argv[0]);
        return false;
    }
    for (int i = 1, used; i < argc; i += used)
        if ((used = parse_argument(options, argc - i, argv + i, message, message_size)) == 0)
            return false;
    return true;
}

/* ---- help ------------------------------------------------------------------------------------ */

void options_print_commands(FILE *out)
{
    fprintf(out, "usage: attnbench COMMAND [OPTION]...\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-11s %s\n", options_commands[i].name, options_commands[i].summary);
    fprintf(out, "\nattnbench COMMAND --help tells more, attnbench help explains the tables;\n"
                 "attnbench --version names the build.\n\n"
                 "ATTN_ISA_MASK=avx2 in the environment: as on a host that has of all instruction\n"
                 "sets but the baseline those named, comma separated (attnbench list).\n");
}

void options_print_help(FILE *out, enum command command)
{
    fprintf(out, "usage: attnbench %s %s\n\n%s.\n%s%s\n", options_commands[command].name,
            options_commands[command].usage, options_commands[command].summary,
            *options_commands[command].more ? "\n" : "", options_commands[command].more);
    for (size_t i = 0; i < options_table_size; i++)
        if (options_table[i].commands & 1u << command) {
            char left[40], line[400];
            snprintf(left, sizeof left, "--%s%s%s", options_table[i].name,
                     options_table[i].value ? " " : "",
                     options_table[i].value ? options_table[i].value : "");
            snprintf(line, sizeof line, "  %-19s %s", left, options_table[i].help);
            table_wrap(out, line, HELP_WIDTH, sizeof "  --placement WHERE   " - 1);
        }
}
