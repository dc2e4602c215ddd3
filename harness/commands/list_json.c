/*
 * list_json: what this build has, as JSON: kernels, suites and their cases, models, experiments.
 */
#include "commands.h"

#include "isa.h"
#include "problem/capabilities.h"
#include "problem/cases.h"
#include "problem/catalogue.h"
#include "problem/models.h"
#include "session/libraries.h"

static json_t *variant_json(const struct attn_kernel *kernel)
{
    const char *needs =
        attn_isa_available(kernel->isa) ? libraries_missing(kernel) : attn_isa_needs(kernel->isa);
    const struct guest *guest = catalogue_guest(kernel);
    const char *digest = guest && *guest->digest ? guest->digest : NULL;
    json_t *caps = capabilities_json(&kernel->caps);
    json_t *variant = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:O, s:b, s:b, s:b, s:s?, s:s?}", "name", kernel->name, "isa",
        attn_isa_name(kernel->isa), "group", catalogue_group_of(kernel->name), "summary",
        kernel->summary, "source", kernel->source, "dtypes", json_object_get(caps, "dtypes"),
        "parallel", (int)kernel->caps.parallel, "bitwise_repeatable", (int)!kernel->caps.varies,
        "available", (int)!needs, "needs", needs, "plugin", digest);
    json_decref(caps);
    json_object_update_new(variant, matrix_json(kernel));
    return variant;
}

unsigned list_built_isas(void)
{
    const struct attn_kernel *kernel;
    unsigned built = 0;
    for (size_t i = 0; (kernel = catalogue_at(i)); i++)
        built |= 1u << kernel->isa;
    return built;
}

json_t *list_preference(void)
{
    const enum attn_isa *order = attn_isa_preference();
    const unsigned built = list_built_isas();
    json_t *names = json_array();
    for (size_t i = 0; i < ATTN_ISA_COUNT; i++)
        if (built & 1u << order[i] && attn_isa_available(order[i]))
            json_array_append_new(names, json_string(attn_isa_name(order[i])));
    return names;
}

json_t *list_cases_json(const struct case_list *list)
{
    char problem[PARSE_TEXT], input[PARSE_TEXT];
    json_t *cases = json_array();
    for (size_t i = 0; i < list->count; i++) {
        parse_print_problem(&list->items[i].problem, problem);
        parse_print_input(&list->items[i].input, input);
        json_array_append_new(cases, json_pack("{s:s, s:s, s:s}", "name", list->items[i].name,
                                               "problem", problem, "input", input));
    }
    return cases;
}

static json_t *suite_json(const struct suite *suite)
{
    struct case_list list = {0};
    char message[256];
    cases_load(&list, suite->name, MESSAGE(message));
    json_t *cases = list_cases_json(&list);
    cases_free(&list);
    return json_pack("{s:s, s:s, s:o}", "name", suite->name, "summary", suite->summary, "cases",
                     cases);
}

json_t *list_json(void)
{
    json_t *kernels = json_array(), *suites = json_array();
    const struct attn_kernel *kernel;
    for (size_t i = 0; (kernel = catalogue_at(i)); i++)
        json_array_append_new(kernels, variant_json(kernel));
    for (const struct suite *suite = cases_builtin; suite->name; suite++)
        json_array_append_new(suites, suite_json(suite));
    json_t *experiments = json_array();
    const struct experiment *experiment;
    for (size_t i = 0; (experiment = experiment_at(i)); i++)
        json_array_append_new(experiments,
                              json_pack("{s:s, s:s, s:s, s:s}", "name", experiment->name,
                                        "question", experiment->question, "method",
                                        experiment->method, "source", experiment->source));
    json_t *models = json_array();
    char name[48];
    for (size_t i = 0; models_name(i, name); i++)
        json_array_append_new(models, json_string(name));
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "kernels", kernels, "isa_preference",
                     list_preference(), "suites", suites, "models", models, "experiments",
                     experiments);
}
