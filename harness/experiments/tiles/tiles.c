/*
 * tiles: the time of flash by how many keys and queries its blocks have.
 *
 * Each size is the same source compiled with other constants, a kernel that the harness checks and
 * times as any other; flash itself is timed beside them.
 */
#include "tiles.h"

#include <stdio.h>

#include "experiments/experiment.h"
#include "experiments/list.h"
#include "experiments/measured.h"

static const struct parameter parameters[] = {
    {"keys", "LIST", "32..256", "32,128,256", "Bc, keys of a block", PARAMETER_COUNTS, 32, 256,
     NULL},
    {"queries", "LIST", "32..256", "32,128", "Br, queries of a block", PARAMETER_COUNTS, 32, 256,
     NULL},
    {"d", "LIST", "64,128", "64", "dimension of a head", PARAMETER_COUNTS, 1, 1024, NULL},
    {"heads", "N", "4", NULL, "heads of the sequence", PARAMETER_COUNT, 1, 1024, NULL},
    {"sq", "N", "256", NULL, "queries", PARAMETER_COUNT, 1, 1 << 20, NULL},
    {"skv", "N", "2048", "512", "keys", PARAMETER_COUNT, 1, 1 << 20, NULL},
    {"launches", "N", "12", "6", "launches of each cell at most; no interval below 6",
     PARAMETER_COUNT, 1, 1000, NULL},
    MEASURED_CHECK,
    {0},
};

static bool asks_for(const json_t *asked, const char *list, unsigned value)
{
    const json_t *item;
    size_t i;
    json_array_foreach (json_object_get(asked, list), i, item)
        if (json_integer_value(item) == (json_int_t)value)
            return true;
    return false;
}

/* The sizes that are asked for and built, and flash itself, as a comma list; returns how many. */
static size_t sizes_of(const json_t *asked, char *text, size_t size)
{
    const struct attn_kernel *const *kernels;
    const size_t sizes = tiles_kernels(&kernels);
    size_t n = (size_t)snprintf(text, size, "flash/avx512"), count = 0;
    for (size_t i = 0; i < sizes; i++) {
        unsigned keys, queries;
        if (tiles_size(kernels[i]->name, &keys, &queries) && asks_for(asked, "keys", keys) &&
            asks_for(asked, "queries", queries) && n < size) {
            n += (size_t)snprintf(text + n, size - n, ",%s", kernels[i]->name);
            count++;
        }
    }
    return count;
}

static bool accepts(const json_t *asked, char *message, size_t message_size)
{
    char text[1024];
    const struct attn_kernel *const *kernels;
    const size_t sizes = tiles_kernels(&kernels);
    if (sizes_of(asked, text, sizeof text))
        return true;
    size_t n = (size_t)snprintf(message, message_size, "none of these sizes is in this build%s",
                                sizes ? "; it has" : ", whose compiler cannot target avx512");
    for (size_t i = 0; i < sizes && n < message_size; i++)
        n += (size_t)snprintf(message + n, message_size - n, "%s %s", i ? "," : "",
                              kernels[i]->name);
    return false;
}

static void plan(const json_t *asked, json_t *steps)
{
    char text[1024], problem[128];
    const json_t *d;
    size_t i;
    sizes_of(asked, text, sizeof text);
    json_array_foreach (json_object_get(asked, "d"), i, d) {
        const json_t *sq = json_object_get(asked, "sq"), *skv = json_object_get(asked, "skv");
        const json_t *seed = json_object_get(asked, "seed");
        const json_t *heads = json_object_get(asked, "heads");
        snprintf(problem, sizeof problem,
                 "h=%" JSON_INTEGER_FORMAT ",sq=%" JSON_INTEGER_FORMAT ",skv=%" JSON_INTEGER_FORMAT
                 ",d=%" JSON_INTEGER_FORMAT " input=normal:%" JSON_INTEGER_FORMAT,
                 json_integer_value(heads), json_integer_value(sq), json_integer_value(skv),
                 json_integer_value(d), json_integer_value(seed));
        json_array_append_new(
            steps, json_pack("{s:O, s:O, s:O, s:O, s:s, s:s, s:s, s:O, s:O, s:O}", "d", d, "heads",
                             heads, "sq", sq, "skv", skv, "problem", problem, "kernels", text,
                             "teams", "1", "launches", json_object_get(asked, "launches"), "seed",
                             seed, "check", json_object_get(asked, "check")));
    }
}

const struct experiment experiment_tiles = {
    .name = "tiles",
    .question = "How many queries and keys should the blocks of flash have?",
    .method =
        "flash compiled with each size, Br queries by Bc keys, and flash as it is: cells of\n"
        "attnbench run on one thread, checked, then launched in shuffled rounds, a process each\n"
        "time.  Percent of the multiply-add rate measured beside each launch, so that a change of\n"
        "clock cancels, and half the exact 95 % interval of the median time.  The sizes are of "
        "the\n"
        "avx512 variant, whose tiles have 32 queries.",
    .source = "Dao 2023, FlashAttention-2, arXiv:2307.08691, section 3.3",
    .parameters = parameters,
    .accepts = accepts,
    .ready = tiles_built,
    .plan = plan,
    .report = tiles_report,
};
