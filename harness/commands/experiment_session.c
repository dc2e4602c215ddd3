/*
 * experiment_session: from an experiment to the command line of `attnbench run`.
 */
#include "commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/message.h"
#include "base/table.h"
#include "results/report.h"
#include "results/report_rows.h"
#include "session/session.h"
#include "system/process.h"

#define WORDS 1024
#define WIDTH 90       /* of a page */
#define MOST_BESIDE 24 /* plug-ins */

/* The session that is asked for, and the command line that runs it. */
struct wanted {
    const struct experiment *experiment;
    bool quick;
    struct options given; /* those of the command line, without the experiment's own */
    const char *words[WORDS];
    size_t count;
    char plugins[MOST_BESIDE][sizeof "--plugin=" + GUEST_TEXT];
    size_t plugin_count;
    char message[1024];
};

static bool add(struct wanted *w, const char *word)
{
    if (w->count == WORDS)
        return refuse(MESSAGE(w->message), "too many words");
    w->words[w->count++] = word;
    return true;
}

static bool chooses_cases(const char *word)
{
    return strncmp(word, "--problem=", strlen("--problem=")) == 0 ||
           strncmp(word, "--suite=", strlen("--suite=")) == 0;
}

/* Adds a plug-in that lies beside the program, by its path; the text is its name and arguments. */
static bool add_beside(struct wanted *w, const char *text)
{
    struct guest guest = {.path = ""};
    char quoted[GUEST_TEXT], name[256];
    const size_t length = strcspn(text, " ");
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    if (!process_beside(name, guest.path, sizeof guest.path) || access(guest.path, R_OK) != 0)
        return refuse(
            MESSAGE(w->message),
            "%s, which it needs, is not beside the program: scripts/build release builds it", name);
    snprintf(guest.arguments, sizeof guest.arguments, "%s",
             text + length + strspn(text + length, " "));
    if (w->plugin_count == MOST_BESIDE)
        return refuse(MESSAGE(w->message), "too many plug-ins");
    char *plugin = w->plugins[w->plugin_count++];
    snprintf(plugin, sizeof *w->plugins, "--plugin=%s", catalogue_guest_text(&guest, quoted));
    return add(w, plugin);
}

/* Adds the experiment's own options that the command line does not replace.  Options of cases are replaced
 * together, as are plug-ins. */
static bool add_standard(struct wanted *w)
{
    const struct experiment *e = w->experiment;
    const bool cases = w->given.problem_count || w->given.suite;
    bool added = true;
    for (const char *const *word = w->quick ? e->quick : e->run; added && *word; word++)
        added = (cases && chooses_cases(*word)) || add(w, *word);
    const char *const *text = w->given.plugin_count ? NULL : e->beside;
    for (; added && text && *text; text++)
        added = add_beside(w, *text);
    return added;
}

/* Parses the command line; returns EXIT_AS_ASKED, or the code to end with. */
static int read_arguments(struct wanted *w, int argc, const char *const *argv)
{
    const char **given = calloc((size_t)argc + 1, sizeof *given);
    int code = EXIT_USAGE, n = 0;
    if (!given) {
        message_print(MESSAGE(w->message), "out of memory");
        return EXIT_ENVIRONMENT;
    }
    given[n++] = "run";
    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--quick") == 0)
            w->quick = true;
        else
            given[n++] = argv[i];
    options_init(&w->given);
    if (options_parse(&w->given, n, given, MESSAGE(w->message))) {
        code = EXIT_AS_ASKED;
        if (!add(w, "run") || (!w->given.help && !w->given.resume && !add_standard(w)))
            code = EXIT_ENVIRONMENT;
        for (int i = 1; i < n && code == EXIT_AS_ASKED; i++)
            code = add(w, given[i]) ? EXIT_AS_ASKED : EXIT_USAGE;
    }
    free(given);
    return code;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Prints an experiment's method alone. */
static void print_method(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "  ");
    table_wrap(out, experiment->method, OPTIONS_PAGE_WIDTH - 2, 2);
}

void experiment_print_asked(FILE *out, const struct experiment *experiment)
{
    fprintf(out, "Question\n  %s\n\nMethod\n", experiment->question);
    print_method(out, experiment);
    fprintf(out, "\nSource\n  ");
    table_wrap(out, experiment->source, OPTIONS_PAGE_WIDTH - 2, 2);
}

static void print_words(const char *title, const struct experiment *experiment,
                        const char *const *words)
{
    char line[4096] = "  attnbench run";
    for (; *words; words++)
        message_add(line, sizeof line, strpbrk(*words, " *|") ? " '%s'" : " %s", *words);
    for (const char *const *text = experiment->beside; text && *text; text++)
        message_add(line, sizeof line, " '--plugin=%s'", *text);
    printf("\n%s\n", title);
    table_wrap(stdout, line, WIDTH, 4);
}

static void print_page(const struct experiment *e)
{
    printf("usage: attnbench experiment %s [--quick] [OPTION of run]...\n\n", e->name);
    experiment_print_asked(stdout, e);
    print_words("Runs", e, e->run);
    print_words("Runs with --quick", e, e->quick);
    printf("\nAny option of attnbench run (attnbench run --help) replaces the one above; cases\n"
           "(--problem, --suite) are replaced together, as are plug-ins.  scripts/plot draws the\n"
           "file of --output and fits what the method says.  Exit status: as of attnbench run.\n");
}

/* Prints the question behind the tables, and what to do next. */
static void conclude(const struct wanted *w)
{
    const char *output = w->given.output;
    const char *file = output && strcmp(output, "-") != 0 ? output : "FILE";
    report_sentence("experiment %s: %s", w->experiment->name, w->experiment->question);
    print_method(report_output.out, w->experiment);
    report_sentence("%scripts/plot %s draws the figure and says what is fitted; scripts/report %s "
                    "makes a page of all cells.",
                    output ? "s" : "With --output FILE s", file, file);
}

int experiment_session(const struct experiment *experiment, int argc, const char *const *argv)
{
    static struct wanted w; /* too large for a small stack */
    struct options options;
    options_init(&options);
    w.experiment = experiment;
    int code = read_arguments(&w, argc, argv);
    if (code == EXIT_AS_ASKED && w.given.help) {
        print_page(experiment);
    } else if (code == EXIT_AS_ASKED &&
               !options_parse(&options, (int)w.count, w.words, MESSAGE(w.message))) {
        code = EXIT_USAGE;
    } else if (code == EXIT_AS_ASKED) {
        options.experiment = experiment->name;
        code = run_command(&options);
        if (!options.dry_run && (code == EXIT_AS_ASKED || code == EXIT_KERNEL))
            conclude(&w);
    }
    if (*w.message)
        progress_say("experiment %s: %s", experiment->name, w.message);
    options_free(&options);
    options_free(&w.given);
    return code;
}
