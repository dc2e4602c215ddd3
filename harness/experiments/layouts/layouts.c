/*
 * layouts: how far the time of a kernel moves with where its code, stack and environment lie.
 *
 * Two builds differ in where their code lies, too.  What that alone does to a time is no gain of
 * the code's.
 */
#include "layouts.h"

#include <stdio.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/list.h"
#include "experiments/measured.h"
#include "system/addresses.h"

static const struct parameter parameters[] = {
    {"kernels", "LIST", "flash,split_kv,tiled", "flash", "the kernels to move", PARAMETER_WORDS, 0,
     0, layouts_kernel_names},
    {"factors", "LIST", "stack,environment,code", NULL,
     "what is moved, beside repeats of one layout", PARAMETER_WORDS, 0, 0,
     layouts_factor_names + LAYOUTS_STACK},
    {"heads", "N", "4", NULL, "heads of the sequence", PARAMETER_COUNT, 1, 1024, NULL},
    {"sq", "N", "256", NULL, "queries", PARAMETER_COUNT, 1, 1 << 20, NULL},
    {"skv", "N", "1024", NULL, "keys", PARAMETER_COUNT, 1, 1 << 20, NULL},
    {"d", "N", "64", NULL, "dimension of a head", PARAMETER_COUNT, 1, 1024, NULL},
    {"launches", "N", "12", "6", "launches of each layout", PARAMETER_COUNT, 1, LAYOUTS_ROUNDS,
     NULL},
    MEASURED_CHECK,
    {0},
};

static bool asks_for(const json_t *asked, enum layouts_factor factor)
{
    const json_t *word;
    size_t i;
    json_array_foreach (json_object_get(asked, "factors"), i, word)
        if (strcmp(json_string_value(word), layouts_factor_names[factor]) == 0)
            return true;
    return factor == LAYOUTS_AGAIN;
}

/* The layouts of a kernel that are asked for, as a comma list. */
static void layouts_of(const json_t *asked, const char *kernel, char *text, size_t size)
{
    const struct attn_kernel *const *kernels;
    const size_t count = layouts_kernels(&kernels);
    size_t n = 0;
    for (size_t i = 0; i < count && n < size; i++) {
        const struct layout *layout = layouts_find(kernels[i]->name);
        if (strcmp(layout->kernel, kernel) == 0 && asks_for(asked, layout->factor))
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? "," : "", layout->name);
    }
}

static void plan(const json_t *asked, json_t *steps)
{
    char text[1024], problem[128];
    const json_t *kernel;
    size_t i;
    const json_t *launches = json_object_get(asked, "launches");
    const json_t *seed = json_object_get(asked, "seed");
    snprintf(problem, sizeof problem, "h=%.0f,sq=%.0f,skv=%.0f,d=%.0f input=normal:%.0f",
             experiment_number(asked, "heads"), experiment_number(asked, "sq"),
             experiment_number(asked, "skv"), experiment_number(asked, "d"),
             experiment_number(asked, "seed"));
    json_array_foreach (json_object_get(asked, "kernels"), i, kernel) {
        layouts_of(asked, json_string_value(kernel), text, sizeof text);
        json_array_append_new(steps, json_pack("{s:O, s:s, s:s, s:s, s:s, s:O, s:b, s:O, s:O}",
                                               "of", kernel, "addresses",
                                               addresses_are_drawn() ? "drawn" : "fixed", "problem",
                                               problem, "kernels", text, "teams", "1", "launches",
                                               launches, "all_launches", 1, "seed", seed, "check",
                                               json_object_get(asked, "check")));
    }
}

const struct experiment experiment_layouts = {
    .name = "layouts",
    .question = "How far does a kernel's time move with where its code and its stack lie?",
    .method =
        "The same object code as cells of attnbench run on one thread, checked, then launched in\n"
        "shuffled rounds, a process each time: as it is, six times over; its calls 16 to 3504 "
        "bytes\n"
        "further down the stack; with as much more in the environment, which moves the stack, "
        "too;\n"
        "and linked behind as much padding, as another link order would place it.  The spread is\n"
        "that between the farthest two of six layouts, with a 95 % interval by bootstrap over\n"
        "rounds; by chance: how often launches shuffled anew within their rounds spread by so "
        "much\n"
        "more than the repeats.  Linux draws the addresses of each process anew; under setarch -R\n"
        "they are fixed, and a layout is the same in all its launches.",
    .source = "Mytkowicz et al. 2009, doi:10.1145/1508244.1508275; Curtsinger and Berger 2013,\n"
              "Stabilizer, doi:10.1145/2451116.2451141",
    .parameters = parameters,
    .ready = layouts_built,
    .environment = layouts_environment,
    .plan = plan,
    .report = layouts_report,
};
