/*
 * completion: completes the last word of a command line from the tables of options and kernels, and prints
 * the scripts by which shells call it, as `attnbench complete WORD...` (completion_print()).
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "base/scan.h"
#include "session/options.h"
#include "problem/cases.h"
#include "problem/catalogue.h"
#include "problem/models.h"
#include "problem/select.h"

#define A_FILE 1

/* ---- the shells ------------------------------------------------------------------------------ */

static const char *const scripts[SHELLS] = {
    [SHELL_BASH] = "_attnbench() {\n"
                   "    local found\n"
                   "    COMPREPLY=()\n"
                   "    found=$(\"${COMP_WORDS[0]/#\\~/$HOME}\" complete \\\n"
                   "        \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null) ||\n"
                   "        { compopt -o default; return; }\n"
                   "    [[ -z $found ]] || mapfile -t COMPREPLY <<<\"$found\"\n"
                   "    COMPREPLY=(\"${COMPREPLY[@]%%$'\\t'*}\")\n"
                   "    [[ ${COMPREPLY[0]} != *= ]] || compopt -o nospace\n"
                   "}\n"
                   "complete -F _attnbench attnbench\n",
    [SHELL_ZSH] =
        "#compdef attnbench\n"
        "_attnbench() {\n"
        "    local found\n"
        "    local -a lines behind\n"
        "    found=$(\"${(Q)words[1]}\" complete \"${(@Q)words[2,CURRENT]}\" 2>/dev/null) ||\n"
        "        { _files; return }\n"
        "    lines=(\"${(@f)found}\")\n"
        "    lines=(\"${(@)lines//:/\\\\:}\")\n"
        "    lines=(\"${(@)lines/$'\\t'/:}\")\n"
        "    [[ $found != *=$'\\t'* ]] || behind=(-S '')\n"
        "    _describe attnbench lines \"${behind[@]}\"\n"
        "}\n"
        "if [[ $funcstack[1] == _attnbench ]]; then\n"
        "    _attnbench \"$@\"\n"
        "else\n"
        "    compdef _attnbench attnbench\n"
        "fi\n",
    [SHELL_FISH] =
        "function __attnbench_complete\n"
        "    set -l words (commandline -opc)\n"
        "    set -l current (commandline -ct)\n"
        "    if set -l found ($words[1] complete $words[2..-1] \"$current\" 2>/dev/null)\n"
        "        set -q found[1]; and printf '%s\\n' $found\n"
        "    else\n"
        "        __fish_complete_path \"$current\"\n"
        "    end\n"
        "end\n"
        "complete -c attnbench -f -a '(__attnbench_complete)'\n",
};

int completion_command(const struct options *options)
{
    const char *name = options->subject ? options->subject : "";
    struct named shell;
    for (size_t i = 0; i < SHELLS && subject_at(COMMAND_COMPLETION, i, &shell); i++)
        if (strcmp(shell.name, name) == 0) {
            fputs(scripts[i], stdout);
            return EXIT_AS_ASKED;
        }
    return subject_unknown(COMMAND_COMPLETION, name, "");
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The word to complete: a part that stays, and behind it the beginning of a name. */
struct place {
    const char *word;
    size_t kept, offered;
    bool value; /* the name is the value of a problem's key, up to a comma */
};

static void offer(struct place *at, const char *name, const char *what)
{
    const char *begin = at->word + at->kept;
    if (strncmp(name, begin, strlen(begin)) != 0)
        return;
    printf("%.*s%s\t%s\n", (int)at->kept, at->word, name, what);
    at->offered++;
}

static void offer_suites(struct place *at)
{
    for (const struct suite *suite = cases_builtin; suite->name; suite++)
        offer(at, suite->name, suite->summary);
    offer(at, "all", "all built-in suites");
}

static void offer_kernels(struct place *at)
{
    const char *names[SELECT_MAX];
    const size_t count = catalogue_names(names, SELECT_MAX);
    for (size_t i = 0; i < count; i++)
        offer(at, names[i], catalogue_named(names[i])->summary);
    for (const struct catalogue_group *group = catalogue_groups; group->name; group++)
        offer(at, group->name, group->summary);
}

static void offer_models(struct place *at)
{
    char name[48];
    for (size_t i = 0; models_name(i, name); i++)
        offer(at, name, "");
}

static void offer_cases(struct place *at)
{
    struct case_list list = {0};
    char message[512];
    if (cases_load(&list, "all", MESSAGE(message)))
        for (size_t i = 0; i < list.count; i++)
            offer(at, list.items[i].name, "");
    cases_free(&list);
}

static void offer_isas(struct place *at)
{
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        offer(at, attn_isa_name((enum attn_isa)isa), "");
    offer(at, "best", "the variant that this host prefers");
    offer(at, "all", "all of this host");
}

static void offer_blas(struct place *at)
{
    for (size_t i = 0; select_blas_name(i); i++)
        offer(at, select_blas_name(i), "");
}

static void offer_keys(struct place *at)
{
    const struct parse_key_help *key;
    for (size_t i = 0; (key = parse_key_help(i)); i++) {
        char name[32];
        snprintf(name, sizeof name, "%s=", key->name);
        offer(at, name, key->meaning);
    }
}

/* Options whose values are names, comma separated. */
static const struct {
    const char *option;
    void (*offer)(struct place *at);
} names[] = {
    {"suite", offer_suites}, {"kernel", offer_kernels}, {"model", offer_models},
    {"isa", offer_isas},     {"blas", offer_blas},      {"case", offer_cases},
    {"problem", offer_keys},
};

static int offer_values(struct place *at, const struct option *option)
{
    const bool file = strstr(option->form, "FILE") || strcmp(option->name, "model") == 0;
    const char *const *word = option->words;
    const char *comma = strrchr(at->word + at->kept, ',');
    if (comma && option->kind != OPTION_WORD)
        at->kept = (size_t)(comma + 1 - at->word);
    else if (at->value)
        return 0;
    for (; word && *word; word++)
        offer(at, *word, "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(option->name, names[i].option) == 0)
            names[i].offer(at);
    return file && !at->offered ? A_FILE : 0;
}

static void offer_options(struct place *at, enum command command, const struct option *own)
{
    const struct option *option;
    for (size_t i = 0; (option = options_of(command, own, i)); i++) {
        char name[64];
        snprintf(name, sizeof name, "--%s", option->name);
        offer(at, name, option->help);
    }
}

static void offer_subjects(struct place *at, enum command command)
{
    struct named subject;
    for (size_t i = 0; subject_at(command, i, &subject); i++)
        offer(at, subject.name, subject.summary);
}

/* ---- the line -------------------------------------------------------------------------------- */

/* The option of a word such as --kernel or --kernel=flash; NULL if it is none. */
static const struct option *option_of(const char *word, enum command command,
                                      const struct option *own)
{
    struct piece name = piece_from(word, word + strcspn(word, "="));
    return piece_skip(&name, "--") ? options_named(command, own, name) : NULL;
}

/* The option whose value the last word is.  In bash each = is a word of its own, also one between a key of a
 * problem and its value. */
static const struct option *option_before(int count, const char *const *words, struct place *at,
                                          enum command command, const struct option *own)
{
    const char *equals = strchr(at->word, '=');
    int option = count - 2;
    bool split = equals == at->word;
    if (split) {
        at->word++;
    } else if (equals && strncmp(at->word, "--", 2) == 0) {
        at->kept = (size_t)(equals + 1 - at->word);
        option = count - 1;
    } else if (count > 2 && strcmp(words[option], "=") == 0) {
        option--;
        split = true;
    }
    at->value = split && strncmp(words[option], "--", 2) != 0;
    while (split && option > 1 && strncmp(words[option], "--", 2) != 0)
        option -= strcmp(words[option - 1], "=") == 0 ? 2 : 1;
    return option_of(words[option], command, own);
}

int completion_print(int count, const char *const *words)
{
    enum command command;
    struct place at = {.word = count ? words[count - 1] : ""};
    const struct option *own = NULL;
    if (count < 2) {
        offer_subjects(&at, COMMAND_COUNT);
        return 0;
    }
    if (!options_command(words[0], &command))
        return A_FILE;
    const bool is_option = *at.word == '-';
    if (count == 2 && options_commands[command].subject && !is_option) {
        offer_subjects(&at, command);
        return 0;
    }
    const struct experiment *experiment =
        command == COMMAND_EXPERIMENT ? experiment_find(words[1]) : NULL;
    if (experiment && experiment->calculation)
        own = experiment->calculation->parameters;
    else if (experiment) /* takes the options of run */
        command = COMMAND_RUN;
    const struct option *option = option_before(count, words, &at, command, own);
    if (option && option->form)
        return offer_values(&at, option);
    offer_options(&at, command, own);
    return 0;
}
