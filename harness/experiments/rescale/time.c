/*
 * time: a kernel on the same keys in different orders.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "experiments/shared/kernel_call.h"
#include "rescale.h"
#include "base/number.h"
#include "base/random.h"
#include "base/stats.h"

enum { QUERIES = 64, DIM = 64, STREAM = 11000 };

/* The others are compared with the last. */
static const char *const orders[] = {"ascending", "normal", "descending"};
#define ORDERS 3

/* Every query is the first unit vector, so that the first dimension of a key is its logit. */
static bool open_order(struct kernel_call *call, const char *kernel, const char *order, size_t keys,
                       uint64_t seed, struct experiment_work *work)
{
    struct attn_problem problem;
    const size_t size = sizeof work->message;
    attn_problem_init(&problem);
    problem.q_len = QUERIES;
    problem.kv_len = keys;
    problem.qk_dim = problem.v_dim = DIM;
    problem.scale = 1;
    const struct attn_kernel *found = kernel_call_find(kernel, &problem, work->message, size);
    float *x = malloc(keys * sizeof *x), row[DIM];
    bool right = x && found && kernel_call_open(call, found, &problem, 1, work->message, size);
    if (!x)
        snprintf(work->message, size, "out of memory");
    if (right) {
        rescale_draw(order, x, keys, random_key(seed, STREAM));
        for (size_t i = 0; i < QUERIES; i++)
            tensors_set(&call->set.tensors.q, 0, 0, i, 0, 1);
        for (size_t j = 0; j < keys; j++) {
            random_normal(row, DIM, random_key(seed, STREAM + 1), j * DIM);
            tensors_store(&call->set.tensors.v, 0, 0, j, 0, row, DIM);
            row[0] = x[j];
            tensors_store(&call->set.tensors.k, 0, 0, j, 0, row, DIM);
        }
    }
    free(x);
    return right;
}

static double time_of(struct kernel_call *call)
{
    const double start = clock_now();
    kernel_call_run(call);
    return clock_now() - start;
}

/* Seconds of each order in turns, `rounds` of them, into times[order]. */
static void measure(struct kernel_call *calls, size_t rounds, double *times[ORDERS])
{
    for (size_t o = 0; o < ORDERS; o++) /* warms caches, pages and clocks */
        time_of(&calls[o]);
    for (size_t r = 0; r < rounds; r++)
        for (size_t turn = 0; turn < ORDERS; turn++) {
            const size_t o = (turn + r) % ORDERS;
            times[o][r] = time_of(&calls[o]);
        }
}

static json_t *row_of(const json_t *s, const struct kernel_call *call, const char *order,
                      const double *base, const double *times, size_t rounds)
{
    const struct stats_ratio ratio = stats_paired_ratio(base, times, rounds);
    const double interval[] = {ratio.lo, ratio.hi};
    return experiment_row(
        json_pack("{s:s, s:s, s:s, s:s, s:O, s:I, s:O}", "part", "time", "kernel",
                  call->plan.kernel->name, "isa", attn_isa_name(call->plan.kernel->isa), "input",
                  order, "s", json_object_get(s, "s"), "rounds", (json_int_t)rounds, "seed",
                  json_object_get(s, "seed")),
        json_pack("{s:o, s:o, s:o}", "median_s", number_json(stats_median_of(times, rounds)),
                  "ratio", number_json(ratio.ratio), "ci95",
                  ratio.interval ? experiment_numbers(interval, 2) : json_null()));
}

json_t *rescale_time(const json_t *s, struct experiment_work *work)
{
    const size_t rounds = (size_t)json_integer_value(json_object_get(s, "rounds"));
    const size_t keys = (size_t)json_integer_value(json_object_get(s, "s"));
    const uint64_t seed = (uint64_t)json_integer_value(json_object_get(s, "seed"));
    struct kernel_call calls[ORDERS];
    double *times[ORDERS], *memory = calloc(ORDERS * rounds, sizeof *memory);
    json_t *rows = NULL;
    size_t opened = 0;
    if (!memory) {
        snprintf(work->message, sizeof work->message, "out of memory");
        return NULL;
    }
    for (size_t o = 0; o < ORDERS; o++)
        times[o] = memory + o * rounds;
    while (opened < ORDERS && open_order(&calls[opened], experiment_text(s, "kernel"),
                                         orders[opened], keys, seed, work))
        opened++;
    if (opened == ORDERS) {
        measure(calls, rounds, times);
        rows = json_array();
        for (size_t o = 0; o < ORDERS; o++)
            json_array_append_new(
                rows, row_of(s, &calls[o], orders[o], times[ORDERS - 1], times[o], rounds));
    }
    while (opened > 0)
        kernel_call_close(&calls[--opened]);
    free(memory);
    return rows;
}
