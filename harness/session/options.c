/*
 * options: parses the command line, and prints --help.
 */
#include "options.h"

#include <string.h>

#include "problem/cases.h"
#include "problem/select.h"
#include "base/table.h"

void options_init(struct options *options)
{
    *options = (struct options){.seed = OPTIONS_NOT_GIVEN, .draws = OPTIONS_NOT_GIVEN};
}

void options_free(struct options *options)
{
    json_decref(options->values);
    options->values = NULL;
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

bool options_is_help(const char *argument)
{
    return strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0;
}

const struct option *options_of(enum command command, const struct option *own, size_t index)
{
    for (; own && own->name; own++)
        if (index-- == 0)
            return own;
    for (const struct option *o = options_table; o->name; o++)
        if (o->commands & 1u << command && index-- == 0)
            return o;
    return NULL;
}

/* ---- parsing --------------------------------------------------------------------------------- */

static bool add(const char **list, size_t *count, size_t most, const char *value)
{
    if (*count == most)
        return false;
    list[(*count)++] = value;
    return true;
}

/* Stores a pointer into argv, whose bytes may be any. */
static bool store_text(struct options *o, const struct option *option, const char *text,
                       struct message message)
{
    const bool may_be_empty = option->kind == OPTION_SETTING;
    const char *wrong = *text || may_be_empty ? NULL : "is empty";
    if (option->kind == OPTION_TEXT || may_be_empty)
        *(const char **)((char *)o + option->offset) = text;
    else if (option->kind == OPTION_PROBLEMS &&
             !add(o->problems, &o->problem_count, OPTIONS_MAX_PROBLEMS, text))
        wrong = "is given too often; write a suite file";
    else if (option->kind == OPTION_PLUGINS &&
             !add(o->plugins, &o->plugin_count, OPTIONS_MAX_PLUGINS, text))
        wrong = "is given too often";
    if (wrong)
        message_print(message, "--%s %s: '%s'", option->name, wrong, text);
    return !wrong;
}

/* Stores one option's value; false fills message. */
static bool store(struct options *options, const struct option *option, const char *text,
                  struct message message)
{
    if (!text) /* a flag */
        return *(bool *)((char *)options + option->offset) = true;
    if (option->commands && option->kind <= OPTION_PLUGINS)
        return store_text(options, option, text, message);
    if (option->commands)
        return options_value_store(option, text, (char *)options + option->offset, message);
    json_t *value = options_value_parse(option, text, message);
    return value && json_object_set_new(options->values, option->name, value) == 0;
}

const struct option *options_named(enum command command, const struct option *own,
                                   struct piece name)
{
    const struct option *option;
    for (size_t i = 0; (option = options_of(command, own, i)); i++)
        if (piece_is(name, option->name))
            return option;
    return NULL;
}

/* The option whose value a bare word looks like; NULL: none. */
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

/* Fills message: why the argument is no option of this command, and the nearest option. */
static void unknown(const struct options *options, const char *argument, struct message message)
{
    const struct options_command *command = &options_commands[options->command];
    const char *meant = option_for(argument);
    const struct option *option;
    if (options->subject && *argument != '-') {
        message_print(message, "%s takes one %s", command->name, command->subject);
        return;
    }
    if (meant && options_named(options->command, options->own, piece_of(meant))) {
        message_print(message, "%s takes options only; did you mean --%s %s?", command->name, meant,
                      argument);
        return;
    }
    const char *name = argument + (strncmp(argument, "--", 2) == 0 ? 2 : 0);
    struct scan_choice choice = {.given = piece_from(name, name + strcspn(name, "="))};
    char advice[SCAN_ADVICE], quoted[SCAN_QUOTED];
    for (size_t i = 0; (option = options_of(options->command, options->own, i)); i++)
        scan_offer(&choice, option->name);
    message_print(message, "%s%s%s has no option %s; ", command->name, options->subject ? " " : "",
                  options->subject ? options->subject : "",
                  scan_quote(piece_from(argument, argument + strcspn(argument, "=")), quoted));
    if (choice.nearest)
        message_add(message.text, message.size, "did you mean --%s?", choice.nearest);
    else
        message_add(message.text, message.size, "%s", scan_advice(&choice, "it has", advice));
}

/* Parses an argument, and the next one if that is its value; returns how many it used, 0 on an error. */
static int parse_argument(struct options *options, int argc, const char *const *argv,
                          struct message message)
{
    const char *name = options_is_help(argv[0])         ? "help"
                       : strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2
                                                        : "";
    const size_t length = strcspn(name, "=");
    const struct option *option =
        options_named(options->command, options->own, (struct piece){name, length});
    if (!option) {
        unknown(options, argv[0], message);
        return 0;
    }
    const bool joined = name[length] == '=';
    const char *value = joined ? name + length + 1 : option->form && argc > 1 ? argv[1] : NULL;
    if (!value != !option->form) {
        message_print(message, "--%s takes %s", option->name,
                      option->form ? option->form : "no value");
        return 0;
    }
    if (!store(options, option, value, message))
        return 0;
    return value && !joined ? 2 : 1;
}

/* Stores the default values. */
static void store_standard(struct options *options)
{
    const struct option *option;
    char message[256];
    for (size_t i = 0; (option = options_of(options->command, NULL, i)); i++)
        if (option->standard)
            store(options, option, option->standard, MESSAGE(message));
}

bool options_apply(struct options *options, int argc, const char *const *argv,
                   struct message message)
{
    for (int i = 0, used; i < argc; i += used)
        if ((used = parse_argument(options, argc - i, argv + i, message)) == 0)
            return false;
    return true;
}

bool options_parse(struct options *options, int argc, const char *const *argv,
                   struct message message)
{
    int i = 1;
    if (!options_command(argv[0], &options->command))
        return refuse(message, "no command '%s'", argv[0]);
    options->arguments = argv;
    options->argument_count = argc;
    store_standard(options);
    if (options->own && !options->values)
        options->values = json_object();
    if (options_commands[options->command].subject && argc > 1 && *argv[1] != '-')
        options->subject = argv[i++];
    return options_apply(options, argc - i, argv + i, message);
}

json_t *options_arguments(const struct options *options)
{
    json_t *all = json_array();
    for (int i = 0; i < options->argument_count; i++)
        json_array_append_new(all, json_string(options->arguments[i]));
    return all;
}

/* ---- help ------------------------------------------------------------------------------------ */

void options_print_commands(FILE *out)
{
    fprintf(out, "usage: attnbench COMMAND [OPTION]...\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-11s %s\n", options_commands[i].name, options_commands[i].summary);
    fprintf(out, "\nattnbench COMMAND --help tells more, attnbench help explains the tables;\n"
                 "attnbench --version names the build.\n\n"
                 "ATTN_ISA_MASK=avx2,... in the environment: " OPTIONS_ISA_MASK "\n");
}

void options_print_options(FILE *out, enum command command, const struct option *own)
{
    const struct option *o;
    for (size_t i = 0; (o = options_of(command, own, i)); i++) {
        char left[40], line[400];
        snprintf(left, sizeof left, "--%s%s%s", o->name, o->form ? " " : "",
                 o->form ? o->form : "");
        snprintf(line, sizeof line, "  %-19s %s", left, o->help);
        if (o->standard)
            message_add(line, sizeof line, " (default: %s%s%s)", o->standard,
                        o->quick ? "; --quick: " : "", o->quick ? o->quick : "");
        table_wrap(out, line, OPTIONS_PAGE_WIDTH, sizeof "  --placement WHERE   " - 1);
    }
}

void options_print_help(FILE *out, enum command command)
{
    const struct options_command *c = &options_commands[command];
    fprintf(out, "usage: attnbench %s %s\n\n%s.\n%s%s\n", c->name, c->usage, c->summary,
            *c->more ? "\n" : "", c->more);
    options_print_options(out, command, NULL);
}
