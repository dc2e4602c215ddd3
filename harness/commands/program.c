/*
 * program: from argv to a command.
 */
#include "program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/build.h"
#include "commands.h"
#include "isa.h"
#include "base/alloc.h"
#include "problem/select.h"
#include "session/options.h"
#include "base/progress.h"
#include "results/report_rows.h"
#include "session/session.h"
#include "system/start.h"
#include "worker/worker.h"

static int (*const commands[COMMAND_COUNT])(const struct options *options) = {
    [COMMAND_LIST] = list_command,
    [COMMAND_RUN] = run_command,
    [COMMAND_CHECK] = run_command,
    [COMMAND_EVAL] = eval_command,
    [COMMAND_MACHINE] = machine_command,
    [COMMAND_EXPERIMENT] = experiment_command,
    [COMMAND_HELP] = help_command,
    [COMMAND_TUNE] = run_command,
    [COMMAND_COMPLETION] = completion_command,
};

/* Whether the mask names instruction sets alone; prints a message about any other word. */
static bool mask_is_known(void)
{
    const char *mask = getenv(ATTN_ISA_MASK);
    struct piece rest = piece_of(mask ? mask : ""), item;
    char message[512];
    enum attn_isa isa;
    while (piece_next(&rest, &item))
        if (!select_isa(item, &isa, MESSAGE(message))) {
            progress_say(ATTN_ISA_MASK " has %s", message);
            return false;
        }
    return true;
}

static int run(const struct options *options)
{
    if (options->help) {
        help_print_page(options);
        return EXIT_AS_ASKED;
    }
    if (options->man)
        return man_print(options);
    if (*start_ignored() && options->command != COMMAND_LIST && options->command != COMMAND_HELP &&
        options->command != COMMAND_COMPLETION)
        progress_say("ignored: %s; attnbench chooses CPUs, teams and stacks of its threads itself "
                     "(--placement)",
                     start_ignored());
    return commands[options->command](options);
}

/* Adds the parameters of the experiment that argv names, if any, to the options.  False, with a message
 * printed, if no experiment has that name. */
static bool choose_experiment(struct options *options, int argc, const char *const *argv)
{
    const char *name = argc > 1 && *argv[1] != '-' ? argv[1] : "all";
    const struct experiment *experiment = experiment_find(name);
    if (experiment && experiment->calculation)
        options->own = experiment->calculation->parameters;
    if (!experiment && strcmp(name, "all") != 0)
        subject_unknown(COMMAND_EXPERIMENT, name, "");
    return experiment || strcmp(name, "all") == 0;
}

static int run_named(const char *name, int argc, const char *const *arguments)
{
    struct options options;
    char message[512];
    options_init(&options);
    if (!options_command(name, &options.command))
        return subject_unknown(COMMAND_COUNT, name, "");
    if (options.command == COMMAND_EXPERIMENT) {
        const struct experiment *timed = argc > 1 ? experiment_find(arguments[1]) : NULL;
        if (timed && !timed->calculation) /* takes the options of run */
            return experiment_session(timed, argc - 2, arguments + 2);
        if (!choose_experiment(&options, argc, arguments))
            return EXIT_USAGE;
    }
    int code;
    if (options_parse(&options, argc, arguments, MESSAGE(message))) {
        code = run(&options);
    } else {
        progress_say("%s", message);
        code = alloc_failed() ? EXIT_ENVIRONMENT : EXIT_USAGE;
    }
    options_free(&options);
    return code;
}

/* The exit code, once what was printed has arrived; prints a message if it has not. */
static int printed(int code)
{
    int failed = report_output.failed; /* a flush that fails empties the buffer */
    errno = 0;
    if (!failed && (fflush(stdout) != 0 || ferror(stdout)))
        failed = errno ? errno : EIO;
    if (!failed)
        return code;
    progress_say("cannot write to standard output: %s", strerror(failed));
    return code == EXIT_AS_ASKED ? EXIT_ENVIRONMENT : code;
}

int program_main(int argc, char **argv)
{
    const char *const *arguments = (const char *const *)argv + 1;
    const char *name = argc > 1 ? argv[1] : "";
    char line[160];
    int code = EXIT_AS_ASKED;
    start_begun();
    if (strcmp(name, "worker") == 0)
        return worker_main();
    if (strcmp(name, "complete") == 0) /* called by the scripts of completion */
        return completion_print(argc - 2, arguments + 1);
    if (strcmp(name, "--version") == 0) {
        build_line(line);
        puts(line);
    } else if (argc < 2 || options_is_help(name)) {
        options_print_commands(argc < 2 ? stderr : stdout);
        code = argc < 2 ? EXIT_USAGE : EXIT_AS_ASKED;
    } else if (!mask_is_known()) {
        code = EXIT_USAGE;
    } else {
        alloc_watch();
        code = run_named(name, argc - 1, arguments);
    }
    return printed(code);
}
