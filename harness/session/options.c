/*
 * options: tables of commands and options, and the loop over them.
 */
#include "options.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "problem/cases.h"
#include "base/scan.h"
#include "problem/select.h"
#include "base/table.h"

#define HELP_WIDTH 80

#define IN(command) (1u << COMMAND_##command)
#define SELECTS (IN(RUN) | IN(CHECK))

static const struct {
    const char *name, *summary, *usage, *more;
} commands[COMMAND_COUNT] = {
    [COMMAND_LIST] = {"list", "kernels, variants, suites, and why one is unavailable",
                      "[--json | --matrix] [--plugin FILE]...", ""},
    [COMMAND_RUN] =
        {"run", "check and time kernels", "[OPTION]...",
         "Without --suite and --problem the suite is `default`.  Every cell (case, kernel,\n"
         "variant, threads) is checked against the float64 reference before it is timed,\n"
         "in one process per launch; launches of a case's cells are interleaved.\n"
         "\n"
         "Exit status: 0 success (unsupported and unavailable included), 1 a kernel\n"
         "failed its check, crashed, timed out or was implausible, 2 usage, 3 input,\n"
         "output or environment, 130 interrupted.\n"
         "\n"
         "attnbench help explains the tables: columns, flags, states.\n"},
    [COMMAND_CHECK] =
        {"check", "correctness only, every adversarial input", "[OPTION]...",
         "Prints the largest difference between any two kernels of a case as well.\n"
         "Exit status as for run.\n"
         "\n"
         "An element passes if its error is within a bound, derived from its inputs, on\n"
         "what rounding can do to a correct kernel.  Results on normal input must also\n"
         "have an RMS error, over at most 256 rows, within 8 times that of naive (16-bit\n"
         "results: plus their own rounding).\n"
         "\n"
         "On ordinary rows of hundreds of keys the bound is about 1e-5.  A single element\n"
         "with a relative error of 1e-5 is therefore caught only where the bound is tight\n"
         "(a row that sees one key, or gives one nearly all of its weight), where so few\n"
         "elements are compared that it changes their RMS, or where repeats or thread\n"
         "counts disagree on it (unless the kernel declares that it varies).  Everywhere\n"
         "else it passes, and so does any error in rows that a large case does not\n"
         "sample.  If every element is off by 1e-5, f32 results fail by their RMS, unless\n"
         "naive's own error, which grows with the number of keys, is close to that.\n"},
    [COMMAND_EVAL] =
        {"eval", "compute one attention from a file to a file",
         "--kernel K --input IN[:PREFIX] --output OUT [--problem OPTIONS]",
         "IN is a safetensors file with tensors PREFIXq, PREFIXk, PREFIXv and, if any, mask,\n"
         "bias, sinks, slopes, kv_lens, cu_seqlens, cu_seqlens_kv, block_table, k_scale and\n"
         "v_scale (docs/eval.md).  What is there is used, and says all sizes; OPTIONS give\n"
         "the rest, as in mask=causal,scale=0.125; a size in them must match IN.  OUT gets o,\n"
         "and lse and weights where outputs asks for them.\n"},
    [COMMAND_EXPERIMENT] =
        {"experiment", "questions about attention, such as why 1/sqrt(d)", "NAME [PARAMETER]...",
         "Each experiment has parameters of its own: attnbench experiment NAME --help.\n"},
    [COMMAND_MACHINE] = {"machine", "topology, caches, ceilings", "[--json]", ""},
    [COMMAND_HELP] = {"help", "what columns, flags and states mean", "[TOPIC|COMMAND]", ""},
};

enum kind { FLAG, TEXT, PROBLEM, PLUGIN, SECONDS, COUNT, SEED, PLACE, MEMORY, BUSY };

static const struct option {
    const char *name, *value;
    size_t offset; /* of the field */
    const char *help;
    enum kind kind;
    unsigned commands;
} table[] = {
    {"suite", "NAME|FILE", offsetof(struct options, suite),
     "cases to use: built-in suites or files, comma separated; all", TEXT, SELECTS},
    {"problem", "P", 0, "a problem, as in b=1,hq=8,hkv=8,s=1024,d=64,mask=causal; repeatable",
     PROBLEM, SELECTS},
    {"problem", "OPTIONS", 0,
     "what the tensors do not say, as in mask=causal,outputs=o+lse,dtype=bf16", PROBLEM, IN(EVAL)},
    {"case", "NAME", offsetof(struct options, cases),
     "only these cases of the suites, comma separated", TEXT, SELECTS},
    {"kernel", "A,B", offsetof(struct options, kernel),
     "kernels (flash), variants (flash/avx2) or groups: textbook, ours, rivals, plugins, all "
     "(default)",
     TEXT, SELECTS},
    {"kernel", "K", offsetof(struct options, kernel), "one kernel (flash) or variant (flash/avx2)",
     TEXT, IN(EVAL)},
    {"plugin", "FILE", 0,
     "kernels from a shared object, or from a program that speaks docs/protocol.md; repeatable",
     PLUGIN, SELECTS | IN(EVAL) | IN(LIST)},
    {"blas", "L", offsetof(struct options, blas),
     "libraries that kernel gemm runs on, comma separated: openblas, blis, mkl; each is a row "
     "(default: the one this program is linked with)",
     TEXT, SELECTS},
    {"isa", "I", offsetof(struct options, isa),
     "instruction sets, comma separated; best (default: per kernel and problem, the variant that "
     "this host prefers); all",
     TEXT, SELECTS},
    {"isa", "I", offsetof(struct options, isa),
     "one instruction set; best (default: of those that compute the problem, the one that this "
     "host "
     "prefers)",
     TEXT, IN(EVAL)},
    {"threads", "N", offsetof(struct options, threads),
     "thread counts, comma separated; all = every core (default: 1,all)", TEXT, SELECTS},
    {"threads", "N", offsetof(struct options, threads), "one number of threads (default: 1)", TEXT,
     IN(EVAL)},
    {"placement", "WHERE", offsetof(struct options, placement),
     "cores (default), threads, numa or none", PLACE, SELECTS},
    {"memory", "WHERE", offsetof(struct options, memory),
     "first-touch (default: near the thread that uses it), interleave, or bind to the threads' "
     "nodes",
     MEMORY, IN(RUN)},
    {"huge-pages", NULL, offsetof(struct options, huge_pages),
     "ask for huge pages; results say how much lies on them", FLAG, IN(RUN)},
    {"cold", NULL, offsetof(struct options, cold), "rotate through more operands than caches hold",
     FLAG, IN(RUN)},
    {"seconds", "T", offsetof(struct options, seconds),
     "session length to aim for (default: enough for six launches a cell)", SECONDS, IN(RUN)},
    {"launches", "N", offsetof(struct options, launches),
     "at most so many launches a cell (below 6: no interval); without --seconds no time limit",
     COUNT, IN(RUN)},
    {"timeout", "T", offsetof(struct options, timeout_s),
     "give up a launch after this many seconds of its own, not counting those in which others had "
     "the CPUs (default: by the problem's size)",
     SECONDS, SELECTS | IN(EVAL)},
    {"seed", "N", offsetof(struct options, seed),
     "order of launches and shifts of operands (default: from the clock; recorded)", SEED, SELECTS},
    {"if-busy", "WHAT", offsetof(struct options, if_busy),
     "where another session measures on this machine: wait (default) or go-on", BUSY, IN(RUN)},
    {"input", "FILE[:P]", offsetof(struct options, input),
     "safetensors with Pq, Pk and Pv, as in gpt.safetensors:layer0.", TEXT, IN(EVAL)},
    {"output", "FILE", offsetof(struct options, output),
     "results as JSON Lines; - for standard output", TEXT, SELECTS},
    {"output", "FILE", offsetof(struct options, output), "safetensors to write", TEXT, IN(EVAL)},
    {"resume", "FILE", offsetof(struct options, resume),
     "continue an interrupted session, with its own options unless given again", TEXT, SELECTS},
    {"json", NULL, offsetof(struct options, json), "JSON instead of text", FLAG,
     IN(LIST) | IN(MACHINE)},
    {"matrix", NULL, offsetof(struct options, matrix),
     "kernels by features: which masks, caches, types and outputs each has", FLAG, IN(LIST)},
    {"help", NULL, offsetof(struct options, help), "this page", FLAG, ~0u},
};

#define TABLE_SIZE (sizeof table / sizeof *table)

void options_init(struct options *options)
{
    *options = (struct options){.placement = PLACEMENT_CORES};
}

bool options_command(const char *name, enum command *command)
{
    for (int i = 0; i < COMMAND_COUNT; i++)
        if (strcmp(commands[i].name, name) == 0) {
            *command = (enum command)i;
            return true;
        }
    return false;
}

const char *options_command_name(enum command command)
{
    return commands[command].name;
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
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if (table[i].commands & 1u << command && strlen(table[i].name) == length &&
            strncmp(table[i].name, name, length) == 0)
            return &table[i];
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
                 commands[command].name, meant, argument);
        return;
    }
    const char *name = argument + (strncmp(argument, "--", 2) == 0 ? 2 : 0);
    struct scan_choice choice = {.given = piece_from(name, name + strcspn(name, "="))};
    char advice[SCAN_ADVICE], quoted[SCAN_QUOTED];
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if (table[i].commands & 1u << command)
            scan_offer(&choice, table[i].name);
    snprintf(message, size, "%s has no option %s; ", commands[command].name,
             scan_quote(piece_from(argument, argument + strcspn(argument, "=")), quoted));
    const size_t used = strlen(message);
    if (choice.nearest)
        snprintf(message + used, size - used, "did you mean --%s?", choice.nearest);
    else
        snprintf(message + used, size - used, "%s", scan_advice(&choice, "it has", advice));
}

/* One argument, and the next where that is its value; returns how many were used, 0 where wrong. */
static int take(struct options *options, int argc, const char *const *argv, char *message,
                size_t size)
{
    const char *name = strncmp(argv[0], "--", 2) == 0 ? argv[0] + 2 : "";
    const size_t length = strcspn(name, "=");
    const struct option *option = find(options->command, name, length);
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
        if ((used = take(options, argc - i, argv + i, message, message_size)) == 0)
            return false;
    return true;
}

/* ---- help ------------------------------------------------------------------------------------ */

void options_print_commands(FILE *out)
{
    fprintf(out, "usage: attnbench COMMAND [OPTION]...\n\n");
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].summary);
    fprintf(out, "\nattnbench COMMAND --help tells more, attnbench help explains the tables;\n"
                 "attnbench --version names the build.\n");
}

void options_print_help(FILE *out, enum command command)
{
    fprintf(out, "usage: attnbench %s %s\n\n%s.\n%s%s\n", commands[command].name,
            commands[command].usage, commands[command].summary, *commands[command].more ? "\n" : "",
            commands[command].more);
    for (size_t i = 0; i < TABLE_SIZE; i++)
        if (table[i].commands & 1u << command) {
            char left[40], line[400];
            snprintf(left, sizeof left, "--%s%s%s", table[i].name, table[i].value ? " " : "",
                     table[i].value ? table[i].value : "");
            snprintf(line, sizeof line, "  %-19s %s", left, table[i].help);
            table_wrap(out, line, HELP_WIDTH, sizeof "  --placement WHERE   " - 1);
        }
}
