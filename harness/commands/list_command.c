/*
 * list_command: what this build has, as text: kernels, their variants, suites, keys of a problem.
 */
#include "commands.h"

#include <stdio.h>
#include <string.h>

#include "problem/cases.h"
#include "problem/catalogue.h"
#include "problem/models.h"
#include "experiments/experiment.h"
#include "isa.h"
#include "base/message.h"
#include "base/progress.h"
#include "session/guests.h"
#include "session/libraries.h"
#include "results/report.h"
#include "results/report_rows.h"
#include "session/session.h"
#include "system/process.h"

#define MAX_NAMES 256
#define FORM 24 /* bytes of the column of a key's values */

static void print_kernel(const char *name, int width)
{
    char variants[400] = "";
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (catalogue_find(name, (enum attn_isa)isa)) {
            const bool available = attn_isa_available((enum attn_isa)isa);
            message_add(variants, sizeof variants, "%s%s%s", *variants ? ", " : "",
                        attn_isa_name((enum attn_isa)isa), available ? "" : " (unavailable)");
        }
    report_wrapped((size_t)width + 13, "  %-*s %-9s %s", width, name, catalogue_group_of(name),
                   variants);
    report_wrapped(6, "      %s", catalogue_named(name)->summary);
}

/* The variants that this host prefers, and the instruction sets of others that it lacks. */
static void print_host(void)
{
    const unsigned built = list_built_isas();
    json_t *preferred = list_preference();
    json_t *name;
    char names[400] = "";
    size_t i;
    json_array_foreach (preferred, i, name)
        message_add(names, sizeof names, "%s%s", i ? ", then " : "", json_string_value(name));
    report_wrapped(6, "  preferred on this host: %s", names);
    json_decref(preferred);
    if (built & 1u << ATTN_ISA_AVX512_2FMA)
        report_wrapped(
            6, "  avx512_2fma is avx512 ordered for two 512-bit multiply-add units (flash) "
               "and for prefetchers (split_kv) that Intel's processors are assumed to have; on "
               "Zen 4 flash takes 1.01 to 1.06 times as long with it, one head 0.98 to 1.00, one "
               "row of split_kv from memory up to 1.6");
    if (built & 1u << ATTN_ISA_AMX)
        report_wrapped(6, "  what amx leaves to other variants: attnbench list --matrix");
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
        if (built & 1u << isa && !attn_isa_available((enum attn_isa)isa))
            report_wrapped(6, "  %s is unavailable: this host lacks %s",
                           attn_isa_name((enum attn_isa)isa), attn_isa_needs((enum attn_isa)isa));
}

/* Kernels whose library is not installed. */
static void print_libraries(const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
            const struct attn_kernel *kernel = catalogue_find(names[i], (enum attn_isa)isa);
            const char *why = kernel ? libraries_missing(kernel) : NULL;
            if (!why)
                continue;
            report_wrapped(4, "  %s is unavailable: %s", names[i], why);
            break;
        }
}

void list_suites(void)
{
    char message[256];
    for (const struct suite *suite = cases_builtin; suite->name; suite++) {
        struct case_list list = {0};
        const bool loaded = cases_load(&list, suite->name, MESSAGE(message));
        report_wrapped(27, "  %-13s %3zu cases  %s", suite->name, loaded ? list.count : 0,
                       suite->summary);
        cases_free(&list);
    }
}

static void print_names_of_models(void)
{
    char names[4096] = "", name[48];
    for (size_t i = 0; models_name(i, name); i++)
        message_add(names, sizeof names, "%s%s", i ? ", " : "", name);
    report_wrapped(2, "  %s", names);
}

/* The problem of a kind of layer, without batch and lengths, which --model sets. */
static void list_kind(const struct model *model, const struct model_kind *kind)
{
    char name[96], problem[PARSE_TEXT], fixed[32] = "", chunk[32] = "";
    snprintf(name, sizeof name, "%s%s%s", model->name, *kind->name ? "." : "", kind->name);
    if (kind->role == MODEL_WITHOUT) {
        printf("%-27s %3zu  %-7s %s\n", name, kind->layers, models_role(kind->role), kind->what);
        return;
    }
    parse_print_problem(&kind->problem, problem);
    const char *heads = strstr(problem, "hq="), *lengths = strstr(problem, ",sq="),
               *rest = strstr(problem, ",d=");
    if (kind->fixed_keys)
        snprintf(fixed, sizeof fixed, ",skv=%zu", kind->problem.kv_len);
    if (kind->chunk)
        snprintf(chunk, sizeof chunk, ",chunk=%zu", kind->chunk);
    printf("%-27s %3zu  %-7s %.*s%s%s%s\n", name, kind->layers, models_role(kind->role),
           (int)(lengths - heads), heads, fixed, rest, chunk);
}

void list_models(void)
{
    char name[48], message[256];
    struct model model;
    for (size_t i = 0; models_name(i, name); i++)
        if (models_find(piece_of(name), &model, MESSAGE(message)))
            for (size_t k = 0; k < model.count; k++)
                list_kind(&model, &model.kinds[k]);
}

void list_keys(void)
{
    const struct parse_key_help *key;
    for (size_t i = 0; (key = parse_key_help(i)); i++) {
        const bool fits = strlen(key->form) <= FORM;
        if (!fits)
            report_wrapped(12, "  %-9s %s", key->name, key->form);
        report_wrapped(23 + FORM, "  %-9s %-*s %-9s %s", fits ? key->name : "", FORM,
                       fits ? key->form : "", key->standard, key->meaning);
    }
}

void list_experiments(FILE *out, size_t width)
{
    char line[256];
    const struct experiment *experiment;
    for (size_t i = 0; (experiment = experiment_at(i)); i++) {
        snprintf(line, sizeof line, "  %-16s %s", experiment->name, experiment->question);
        table_wrap(out, line, width, 19);
    }
}

static void print_text(void)
{
    const char *names[MAX_NAMES];
    const size_t count = catalogue_names(names, MAX_NAMES);
    int width = 12;
    for (size_t i = 0; i < count; i++)
        width = strlen(names[i]) > (size_t)width ? (int)strlen(names[i]) : width;
    printf("%-*s   %-9s variants\n", width, "kernels", "group");
    for (size_t i = 0; i < count; i++)
        print_kernel(names[i], width);
    print_host();
    print_libraries(names, count);
    printf("\ngroups\n");
    for (size_t i = 0; catalogue_groups[i].name; i++)
        report_wrapped(16, "  %-13s %s", catalogue_groups[i].name, catalogue_groups[i].summary);
    printf("\nsuites\n");
    list_suites();
    printf("\nmodels\n");
    print_names_of_models();
    printf("\nexperiments\n");
    list_experiments(stdout, report_output.width);
    printf("\nkeys of a problem, their values, their defaults\n");
    list_keys();
}

/* False: out of memory.  The end of the program notices text that could not be written. */
static bool print_whole(json_t *json)
{
    const bool printed = json_dumpf(json, stdout, JSON_INDENT(1)) == 0 || ferror(stdout);
    if (printed)
        putchar('\n');
    json_decref(json);
    return printed;
}

/* The cases of suites or suite files. */
static bool print_cases(const struct case_list *list, bool json)
{
    char problem[PARSE_TEXT], input[PARSE_TEXT];
    if (json)
        return print_whole(json_pack("{s:o}", "cases", list_cases_json(list)));
    for (size_t i = 0; i < list->count; i++) {
        parse_print_problem(&list->items[i].problem, problem);
        parse_print_input(&list->items[i].input, input);
        report_wrapped(4, "%s", list->items[i].name);
        report_wrapped(4, "    %s input=%s", problem, input);
    }
    return true;
}

static int list_cases(const struct options *options)
{
    struct case_list list = {0};
    char message[256] = "list takes --suite or --matrix, not both";
    const bool loaded = !options->matrix && cases_load(&list, options->suite, MESSAGE(message));
    const bool printed = loaded && print_cases(&list, options->json);
    cases_free(&list);
    if (!printed)
        progress_say("%s", loaded ? "out of memory" : message);
    return printed ? EXIT_AS_ASKED : loaded ? EXIT_ENVIRONMENT : EXIT_USAGE;
}

int list_command(const struct options *options)
{
    bool printed = true;
    report_open(false);
    if (options->suite) {
        process_end_with_reader();
        return list_cases(options);
    }
    char message[4096 + 256];
    const int loaded =
        guests_load(options->plugins, options->plugin_count, "rivals", 0, MESSAGE(message));
    if (loaded == EXIT_ENVIRONMENT)
        progress_say("%s", message);
    if (loaded != EXIT_AS_ASKED)
        return loaded;
    if (!libraries_ask())
        return EXIT_INTERRUPTED;
    process_end_with_reader();
    if (options->json)
        printed = print_whole(list_json());
    else if (options->matrix)
        matrix_print(stdout, report_output.width);
    else
        print_text();
    if (printed)
        return guests_code(false);
    progress_say("out of memory");
    return EXIT_ENVIRONMENT;
}
