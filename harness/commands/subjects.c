/*
 * subjects: what may follow the name of a command, for completion, manual pages and messages alike.
 */
#include "commands.h"

#include <string.h>

#include "base/progress.h"
#include "base/scan.h"

static const struct named topics[TOPICS] = {
    [TOPIC_COLUMNS] = {"columns", "marks and columns of the tables"},
    [TOPIC_FLAGS] = {"flags", "letters that say how to read a row"},
    [TOPIC_METRICS] = {"metrics", "numbers of a row, in the results file and in tables"},
    [TOPIC_MODELS] = {"models", "the layers of each model of --model"},
    [TOPIC_PROBLEM] = {"problem", "keys of a problem, their values and their defaults"},
    [TOPIC_STATES] = {"states", "words that stand in place of a time"},
    [TOPIC_SUITES] = {"suites", "what each suite of --suite is for"},
};

static const char *const shells[SHELLS] = {
    [SHELL_BASH] = "bash", [SHELL_ZSH] = "zsh", [SHELL_FISH] = "fish"};

bool subject_at(enum command command, size_t index, struct named *subject)
{
    if (command == COMMAND_EXPERIMENT) {
        const struct experiment *e = experiment_at(index);
        *subject = e ? (struct named){e->name, e->question}
                     : (struct named){"all", "those that take no session of timings"};
        return e || experiment_at(index - 1);
    }
    if (command == COMMAND_COMPLETION && index < SHELLS) {
        *subject = (struct named){shells[index], ""};
        return true;
    }
    if (command == COMMAND_HELP && index < TOPICS) {
        *subject = topics[index];
        return true;
    }
    index -= command == COMMAND_HELP ? TOPICS : 0; /* commands follow the topics */
    if ((command != COMMAND_HELP && command != COMMAND_COUNT) || index >= COMMAND_COUNT)
        return false;
    const struct options_command *c = &options_commands[index];
    *subject = (struct named){c->name, c->summary};
    return true;
}

/* Whether a script of the source tree has this name, which users expect to be a command. */
static bool is_script(const char *name)
{
    static const char *const scripts[] = {"bisect", "capsule", "compare", "explain", "export",
                                          "gate",   "history", "icount",  "plot",    "report"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (strcmp(scripts[i], name) == 0)
            return true;
    return false;
}

int subject_unknown(enum command command, const char *name, const char *before)
{
    static const struct {
        const char *none, *known;
    } words[] = {
        [COMMAND_EXPERIMENT] = {"no experiment", "experiments are"},
        [COMMAND_HELP] = {"no help on", "there is help on"},
        [COMMAND_COMPLETION] = {"no completion for shell", "shells are"},
        [COMMAND_COUNT] = {"no command", "commands are"},
    };
    char message[512];
    if (command == COMMAND_COUNT && is_script(name)) {
        progress_say("%sno command '%s', but a script: scripts/%s", before, name, name);
        return EXIT_USAGE;
    }
    struct scan_choice choice = {.given = piece_of(name)};
    struct named subject;
    for (size_t i = 0; subject_at(command, i, &subject); i++)
        scan_offer(&choice, subject.name);
    scan_refuse_message(&choice, words[command].none, words[command].known, MESSAGE(message));
    progress_say("%s%s", before, message);
    return EXIT_USAGE;
}
