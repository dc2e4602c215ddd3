/*
 * distributed: time of kernel ring over ranks and over the length of the sequence, against a model.
 *
 * Steps are cells of the harness, measured as `attnbench run` measures: there is no clock here.
 */
#include "distributed.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "experiments/experiment.h"
#include "base/shell_words.h"
#include "experiments/list.h"
#include "experiments/measured.h"
#include "problem/catalogue.h"
#include "session/options.h"
#include "system/process.h"

static const struct option parameters[] = {
    {"s", "LIST", "2048..8192", "1024", "queries, and keys that they see", OPTION_COUNTS, 1,
     1 << 24, NULL},
    {"ranks", "LIST", "1,2,4", "1,2", "numbers of ranks", OPTION_COUNTS, 1, 4096, NULL},
    {"heads", "N", "8", NULL, "heads of each sequence", OPTION_COUNT, 1, 1024, NULL},
    {"d", "N", "64", NULL, "dimension of a head", OPTION_COUNT, 1, 4096, NULL},
    {"network", "TEXT", "shared memory", NULL, "what connects the ranks, in words, for the results",
     OPTION_TEXT, 0, 0, NULL},
    {"hostfile", "FILE", "-", NULL, "hosts of the ranks, as for attnbench run; -: all here",
     OPTION_TEXT, 0, 0, NULL},
    {"launches", "N", "8", "6", "launches of each cell at most; no interval below 6", OPTION_COUNT,
     1, 1000, NULL},
    MEASURED_CHECK,
    {0},
};

/* Hosts of a host file: a line each, comments with #; 1 where there is no such file, which mpiexec will say. */
static int hosts_of(const char *path)
{
    char line[512];
    int hosts = 0;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        const char *word = line + strspn(line, " \t\n");
        hosts += *word && *word != '#';
    }
    if (file)
        fclose(file);
    return hosts ? hosts : 1;
}

/* attnbench-ring for each number of ranks. */
static json_t *plugins(const json_t *asked)
{
    const char *hostfile = experiment_text(asked, "hostfile");
    const json_t *ranks;
    char program[4096];
    size_t i;
    json_t *texts = json_array();
    if (!process_beside("attnbench-ring", program, sizeof program))
        return texts;
    json_array_foreach (json_object_get(asked, "ranks"), i, ranks) {
        struct guest guest;
        char number[32], text[GUEST_TEXT];
        struct shell_words words = {.word = {"--ranks", number, "--hostfile", hostfile},
                                    .count = strcmp(hostfile, "-") == 0 ? 2 : 4};
        snprintf(number, sizeof number, "%" JSON_INTEGER_FORMAT, json_integer_value(ranks));
        memcpy(guest.path, program, sizeof program);
        if (shell_words_join(&words, 0, guest.arguments, sizeof guest.arguments))
            json_array_append_new(texts, json_string(guest_text(&guest, text)));
    }
    return texts;
}

/* Cells of one kernel at one length. */
static json_t *step_of(const json_t *asked, json_int_t s, const char *kernel, const char *teams,
                       json_int_t ranks)
{
    char problem[160];
    snprintf(problem, sizeof problem,
             "h=%.0f,s=%" JSON_INTEGER_FORMAT ",d=%.0f,mask=causal input=normal:%.0f",
             experiment_number(asked, "heads"), s, experiment_number(asked, "d"),
             experiment_number(asked, "seed"));
    json_t *step =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:I, s:b}", "part", "measured", "s", s, "problem",
                  problem, "kernels", kernel, "teams", teams, "ranks", ranks, "unbound", ranks > 1);
    return experiment_pick(step, asked, "heads d network launches seed check");
}

/* Ranks of one thread each: as many threads as there are ranks on this host. */
static json_t *ring_step(const json_t *asked, json_int_t s, json_int_t ranks)
{
    const int hosts = hosts_of(experiment_text(asked, "hostfile"));
    char kernel[32], here[32];
    snprintf(kernel, sizeof kernel, "ring_%" JSON_INTEGER_FORMAT, ranks);
    snprintf(here, sizeof here, "%" JSON_INTEGER_FORMAT, (ranks + hosts - 1) / hosts);
    return step_of(asked, s, kernel, here, ranks);
}

/* flash on one thread and on all, between the ranks of one thread each. */
static void plan(const json_t *asked, json_t *steps)
{
    const json_t *value, *ranks;
    size_t i, n;
    json_array_foreach (json_object_get(asked, "s"), i, value) {
        const json_int_t s = json_integer_value(value);
        json_array_append_new(steps, step_of(asked, s, "flash", "1,all", 1));
        json_array_foreach (json_object_get(asked, "ranks"), n, ranks)
            json_array_append_new(steps, ring_step(asked, s, json_integer_value(ranks)));
    }
}

static bool accepts(const json_t *asked, char *message, size_t message_size)
{
    if (json_array_size(json_object_get(asked, "ranks")) <= OPTIONS_MAX_PLUGINS)
        return true;
    snprintf(message, message_size, "ranks takes at most %d numbers", OPTIONS_MAX_PLUGINS);
    return false;
}

static bool ready(char *message, size_t message_size)
{
    char program[4096];
    if (process_beside("attnbench-ring", program, sizeof program) && access(program, X_OK) == 0)
        return true;
    snprintf(message, message_size,
             "attnbench-ring is not beside the program: install an MPI (Debian and Ubuntu: "
             "openmpi-bin libopenmpi-dev), then build again");
    return false;
}

const struct experiment experiment_distributed = {
    .name = "distributed",
    .question = "What does attention over several processes cost, and what would it on a cluster?",
    .method =
        "Cells of attnbench run: the kernels of attnbench-ring, one a number of ranks, beside "
        "flash, checked, then\n"
        "launched in shuffled rounds.  A model: a rank computes its share of each step at the "
        "rate\n"
        "that flash has in the same session on as many threads, while the keys and values of a\n"
        "step are under way with the latency and bandwidth of a ping-pong in the same processes;\n"
        "the longer of the two counts.  The table shows its error on what was measured.  Then it\n"
        "predicts 8 to 1024 ranks, each a host like this one, for networks that it names.",
    .source = "Liu, Zaharia and Abbeel 2023, Ring Attention, arXiv:2310.01889",
    .parameters = parameters,
    .accepts = accepts,
    .ready = ready,
    .plugins = plugins,
    .plan = plan,
    .report = distributed_report,
};
