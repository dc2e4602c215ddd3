/*
 * distributed: time of kernel ring over ranks and over the length of the sequence, against a model.
 *
 * Steps are cells of the harness, measured as `attnbench run` measures: there is no clock here.
 */
#include "distributed.h"

#include <stdio.h>

#include "experiments/experiment.h"
#include "experiments/list.h"
#include "experiments/measured.h"

static const struct parameter parameters[] = {
    {"s", "LIST", "2048..8192", "1024", "queries, and keys that they see", PARAMETER_COUNTS, 1,
     1 << 24, NULL},
    {"ranks", "LIST", "1,2,4", "1,2", "numbers of ranks", PARAMETER_COUNTS, 1, 4096, NULL},
    {"heads", "N", "8", NULL, "heads of each sequence", PARAMETER_COUNT, 1, 1024, NULL},
    {"d", "N", "64", NULL, "dimension of a head", PARAMETER_COUNT, 1, 4096, NULL},
    {"network", "TEXT", "shared memory", NULL, "what connects the ranks, in words, for the results",
     PARAMETER_TEXT, 0, 0, NULL},
    {"hostfile", "FILE", "-", NULL, "hosts of the ranks, as for attnbench run; -: all here",
     PARAMETER_TEXT, 0, 0, NULL},
    {"launches", "N", "8", "6", "launches of each cell at most; no interval below 6",
     PARAMETER_COUNT, 1, 1000, NULL},
    MEASURED_CHECK,
    {0},
};

/* A list of counts as one text. */
static void list_text(const json_t *list, char *text, size_t size)
{
    const json_t *value;
    size_t i, n = 0;
    *text = 0;
    json_array_foreach (list, i, value)
        if (n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%" JSON_INTEGER_FORMAT, i ? "," : "",
                                  json_integer_value(value));
}

/* Cells of one kernel at one length. */
static json_t *step_of(const json_t *asked, json_int_t s, const char *kernel, const char *teams)
{
    char problem[160], ranks[160];
    snprintf(problem, sizeof problem,
             "h=%.0f,s=%" JSON_INTEGER_FORMAT ",d=%.0f,mask=causal input=normal:%.0f",
             experiment_number(asked, "heads"), s, experiment_number(asked, "d"),
             experiment_number(asked, "seed"));
    list_text(json_object_get(asked, "ranks"), ranks, sizeof ranks);
    json_t *step =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:s}", "part", "measured", "s", s, "problem", problem,
                  "kernels", kernel, "teams", teams, "numbers", ranks);
    return experiment_pick(step, asked, "heads d network hostfile launches seed check");
}

/* flash on one thread and on all, between the ranks of one thread each. */
static void plan(const json_t *asked, json_t *steps)
{
    const json_t *value;
    size_t i;
    json_array_foreach (json_object_get(asked, "s"), i, value) {
        json_array_append_new(steps, step_of(asked, json_integer_value(value), "flash", "1,all"));
        json_array_append_new(steps, step_of(asked, json_integer_value(value), "ring", "1"));
    }
}

const struct experiment experiment_distributed = {
    .name = "distributed",
    .question = "What does attention over several processes cost, and what would it on a cluster?",
    .method =
        "Cells of attnbench run: kernel ring in each number of ranks beside flash, checked, then\n"
        "launched in shuffled rounds.  A model: a rank computes its share of each step at the "
        "rate\n"
        "that flash has in the same session on as many threads, while the keys and values of a\n"
        "step are under way with the latency and bandwidth of a ping-pong in the same processes;\n"
        "the longer of the two counts.  The table shows its error on what was measured.  Then it\n"
        "predicts 8 to 1024 ranks, each a host like this one, for networks that it names.",
    .source = "Liu, Zaharia and Abbeel 2023, Ring Attention, arXiv:2310.01889",
    .parameters = parameters,
    .plan = plan,
    .report = distributed_report,
};
