/*
 * scaling: time over the length of the sequence, over threads and over the batch.
 *
 * Steps are cells of the harness, measured as `attnbench run` measures: there is no clock here.
 */
#include "scaling.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiments/experiment.h"
#include "experiments/list.h"
#include "experiments/measured.h"

#define MOST_TEAMS SESSION_MAX_THREAD_COUNTS

static const struct parameter parameters[] = {
    {"s", "LIST", "64..4096", "128..1024", "queries, and keys that they see", PARAMETER_COUNTS, 1,
     1 << 20, NULL},
    {"batches", "LIST", "1..8", "1..4", "numbers of sequences", PARAMETER_COUNTS, 1, 4096, NULL},
    {"at", "N", "1024", "512", "S of the sweeps over threads and batch", PARAMETER_COUNT, 1,
     1 << 20, NULL},
    {"heads", "N", "4", NULL, "heads of each sequence", PARAMETER_COUNT, 1, 1024, NULL},
    {"d", "N", "64", NULL, "dimension of a head", PARAMETER_COUNT, 1, 4096, NULL},
    {"kernels", "LIST", "flash,gemm", "flash", "kernels, as for attnbench run", PARAMETER_TEXT, 0,
     0, NULL},
    {"launches", "N", "12", "6", "launches of each cell at most; no interval below 6",
     PARAMETER_COUNT, 1, 1000, NULL},
    MEASURED_CHECK,
    {0},
};

/* Thread counts from 1 to `most`, all of them or as many as fit evenly by ratio, as a comma list. */
static void teams_up_to(double most, char *text, size_t size)
{
    long last = 0;
    size_t n = 0;
    for (int i = 0; i < MOST_TEAMS; i++) {
        const long team = most <= MOST_TEAMS ? i + 1 : lround(pow(most, i / (MOST_TEAMS - 1.0)));
        if (team > last && (double)team <= most && n < size)
            n += (size_t)snprintf(text + n, size - n, "%s%ld", last ? "," : "", team);
        last = team;
    }
}

/* One case of a sweep. */
static json_t *step_of(const json_t *asked, const char *part, json_int_t batch, json_int_t s,
                       const char *teams)
{
    char problem[160];
    const json_int_t heads = json_integer_value(json_object_get(asked, "heads"));
    const json_int_t d = json_integer_value(json_object_get(asked, "d"));
    const json_int_t seed = json_integer_value(json_object_get(asked, "seed"));
    snprintf(problem, sizeof problem,
             "b=%" JSON_INTEGER_FORMAT ",h=%" JSON_INTEGER_FORMAT ",s=%" JSON_INTEGER_FORMAT
             ",d=%" JSON_INTEGER_FORMAT " input=normal:%" JSON_INTEGER_FORMAT,
             batch, heads, s, d, seed);
    return json_pack("{s:s, s:I, s:I, s:I, s:I, s:s, s:O, s:s, s:O, s:I, s:O}", "part", part, "s",
                     s, "batch", batch, "heads", heads, "d", d, "problem", problem, "kernels",
                     json_object_get(asked, "kernels"), "teams", teams, "launches",
                     json_object_get(asked, "launches"), "seed", seed, "check",
                     json_object_get(asked, "check"));
}

static bool accepts(const json_t *asked, char *message, size_t message_size)
{
    return measured_kernels(experiment_text(asked, "kernels"), message, message_size);
}

static void plan(const json_t *asked, json_t *steps)
{
    const json_t *value;
    size_t i;
    char teams[160], all[32];
    const json_int_t at = json_integer_value(json_object_get(asked, "at"));
    const double most = experiment_number(asked, "threads");
    teams_up_to(most, teams, sizeof teams);
    snprintf(all, sizeof all, "%.0f", most);
    json_array_foreach (json_object_get(asked, "s"), i, value)
        json_array_append_new(steps, step_of(asked, "length", 1, json_integer_value(value), "1"));
    json_array_append_new(steps, step_of(asked, "threads", 1, at, teams));
    json_array_foreach (json_object_get(asked, "batches"), i, value)
        json_array_append_new(steps, step_of(asked, "batch", json_integer_value(value), at, all));
}

const struct experiment experiment_scaling = {
    .name = "scaling",
    .question = "How does time grow with the sequence, with threads and with the batch?",
    .method =
        "Cells of attnbench run: checked, then launched in shuffled rounds, a process each time;\n"
        "medians of launch medians with exact 95 % intervals.  Over S on one thread and over the\n"
        "batch on all: exponents by least squares of logarithms, intervals from Student's t.  "
        "Over\n"
        "threads (1 to --threads): speed-up as the median ratio of launches of the same round, "
        "with\n"
        "its exact interval, and efficiency, speed-up per thread.  Amdahl's law, 1 / (a + (1 - a) "
        "/ n),\n"
        "is fitted from 4 thread counts on, the universal scalability law, n / (1 + a (n - 1) +\n"
        "b n (n - 1)), from 6 on: fewer leave no degrees of freedom for an interval.",
    .source =
        "Amdahl 1967, doi:10.1145/1465482.1465560; Gunther 2007, Guerrilla Capacity Planning,\n"
        "chapter 4",
    .parameters = parameters,
    .accepts = accepts,
    .plan = plan,
    .report = scaling_report,
};
