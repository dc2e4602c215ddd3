/*
 * linear: is a Linear layer faster than bare parameter matrices, and is it the same?
 *
 * In C all that differs between them is in which order the weight is stored and what it begins with.
 */
#include "linear.h"

#include <string.h>

#include "experiments/list.h"

/* d * d weights of 4 projections and of MT19937 in doubles stay below 1 GiB. */
#define WIDEST 8192

static const char *const parts[] = {"equal", "init", "time", NULL};
static const char *const inputs[] = {"normal", "uniform", NULL};

static const struct parameter parameters[] = {
    {"parts", "LIST", "equal,init,time", NULL, "which of the three parts", PARAMETER_WORDS, 0, 0,
     parts},
    {"d", "LIST", "3,16,128,1024,4096", "3,16,128,512", "d_in and d_out", PARAMETER_COUNTS, 1,
     WIDEST, NULL},
    {"inputs", "LIST", "normal,uniform", NULL, "distributions of tokens", PARAMETER_WORDS, 0, 0,
     inputs},
    {"tokens", "LIST", "1,16,256", "1,64", "tokens of a timed product", PARAMETER_COUNTS, 1, 65536,
     NULL},
    {"launches", "N", "6", NULL, "launches of each timed product; no interval below 6",
     PARAMETER_COUNT, 1, 1000, NULL},
    {0},
};

/* A step of a part for one d. */
static json_t *step_of(const json_t *asked, const char *part, json_t *d)
{
    return json_pack("{s:s, s:O, s:O}", "part", part, "d", d, "seed",
                     json_object_get(asked, "seed"));
}

/* Both kinds of a part, by the parameter `key`, for every d and input. */
static void plan_part(const json_t *asked, const char *part, const char *key,
                      const char *const kinds[2], json_t *steps)
{
    json_t *d, *input;
    size_t i, k;
    json_array_foreach (json_object_get(asked, "d"), i, d)
        json_array_foreach (json_object_get(asked, "inputs"), k, input)
            for (size_t kind = 0; kind < 2; kind++) {
                json_t *s = step_of(asked, part, d);
                json_object_set(s, "input", input);
                json_object_set_new(s, key, json_string(kinds[kind]));
                json_array_append_new(steps, s);
            }
}

/* A launch of every size after the other, so that what changes in between comes to all of them. */
static void plan_times(const json_t *asked, json_t *steps)
{
    const json_int_t launches = json_integer_value(json_object_get(asked, "launches"));
    json_t *d;
    size_t i;
    for (json_int_t launch = 1; launch <= launches; launch++)
        json_array_foreach (json_object_get(asked, "d"), i, d)
            json_array_append_new(steps, json_pack("{s:s, s:I, s:O, s:O, s:O, s:O}", "part", "time",
                                                   "launch", launch, "d_in", d, "d_out",
                                                   json_object_get(asked, "d"), "tokens",
                                                   json_object_get(asked, "tokens"), "seed",
                                                   json_object_get(asked, "seed")));
}

static json_t *plan(const json_t *asked, char *message, size_t message_size)
{
    static const char *const sums[] = {"rounded", "exact"}, *const init[] = {"rand", "linear"};
    const json_t *word;
    size_t i;
    json_t *steps = json_array();
    (void)message;
    (void)message_size;
    json_array_foreach (json_object_get(asked, "parts"), i, word) {
        const char *part = json_string_value(word);
        if (strcmp(part, "equal") == 0)
            plan_part(asked, part, "sums", sums, steps);
        else if (strcmp(part, "init") == 0)
            plan_part(asked, part, "init", init, steps);
        else
            plan_times(asked, steps);
    }
    return steps;
}

static json_t *compute(const json_t *s, struct experiment_work *work)
{
    const char *part = experiment_text(s, "part");
    return strcmp(part, "equal") == 0  ? linear_equal(s, work)
           : strcmp(part, "init") == 0 ? linear_init(s, work)
                                       : linear_time(s, work);
}

const struct experiment experiment_linear = {
    .name = "linear",
    .question = "Is a Linear layer faster than bare parameter matrices, and is it the same?",
    .method =
        "A bare matrix is stored (d_in, d_out), as torch.rand makes it, a Linear's weight (d_out, "
        "d_in);\n"
        "in C nothing else differs but what they begin with.  time: y = x w in both layouts on "
        "one\n"
        "thread, by sgemm of the CBLAS library and by plain C, each output a dot product (dot) or "
        "each\n"
        "row of w added to the output (axpy); in turns, a process for each launch; median ratio "
        "over\n"
        "launches and its exact 95 % interval.  equal: a whole layer with the same weights both "
        "ways,\n"
        "Q, K and V against what two orders of summation can differ by, and once more with "
        "numbers\n"
        "whose sums float32 holds exactly, where not a bit may differ.  init: attention scores "
        "behind\n"
        "the weights that each begins with, uniform in [0, 1) and in +-1/sqrt(d_in).",
    .source = "PyTorch 2: torch/nn/modules/linear.py; He et al. 2015, arXiv:1502.01852 "
              "(initialisation)",
    .parameters = parameters,
    .plan = plan,
    .compute = compute,
    .report = linear_report,
};
