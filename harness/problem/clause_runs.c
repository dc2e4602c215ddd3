/*
 * clause_runs: parses and prints sequences one by one, as serving engines describe batches.
 */
#include "clause.h"

#include <string.h>

#include "base/message.h"
#include "lengths.h"

/* Most bytes of a list, so that a text with all other clauses fits into PARSE_TEXT. */
#define LIST_BYTES 320
#define TOO_LONG "makes a text of more than 320 bytes"

#define MOST_LENGTH ((uint64_t)1 << 40)
#define MOST_COUNT ((uint64_t)1 << 20)

bool clause_runs_add(struct input *input, size_t count, size_t q, size_t kv, const char **why)
{
    char text[PARSE_TEXT];
    struct input_run *last = input->run_count ? &input->runs[input->run_count - 1] : NULL;
    if (last && last->q == q && last->kv == kv) {
        last->count += count;
        return true;
    }
    *why = "has too many sequences of different lengths";
    if (input->run_count == INPUT_RUNS)
        return false;
    input->runs[input->run_count++] = (struct input_run){count, q, kv};
    clause_runs_print(input, text);
    *why = TOO_LONG;
    return strlen(text) <= LIST_BYTES;
}

/* Parses [N]qQ[sS]. */
static bool read_run(struct piece text, struct input *input, const char **why)
{
    bool queries, keys;
    uint64_t count = 1, q, kv;
    const struct piece number = piece_split(&text, "q", &queries);
    const struct piece q_text = piece_split(&text, "s", &keys);
    *why = "has no queries";
    if (!queries || (number.length && !scan_length(number, MOST_COUNT, &count, why)) ||
        !scan_length(q_text, MOST_LENGTH, &q, why) ||
        (keys && !scan_length(text, MOST_LENGTH, &kv, why)))
        return false;
    kv = keys ? kv : q;
    *why = "has more queries than keys, which include those of the queries";
    return q <= kv && clause_runs_add(input, count, q, kv, why);
}

bool clause_runs_read(struct piece value, bool batch, struct input *input, const char **why)
{
    input->run_count = 0;
    *why = TOO_LONG;
    if (value.length > LIST_BYTES)
        return false;
    for (bool more = true; more;) {
        const struct piece item = piece_split(&value, ",", &more);
        uint64_t kv;
        if (batch ? !read_run(item, input, why)
                  : !scan_length(item, MOST_LENGTH, &kv, why) ||
                        !clause_runs_add(input, 1, 0, kv, why))
            return false;
    }
    return true;
}

/* Appends a length, "16k", or without a unit if that is not shorter. */
static void add_length(char text[PARSE_TEXT], const char *before, size_t n)
{
    const bool m = n >> 20 && n % (1 << 20) == 0, k = n >> 10 && n % (1 << 10) == 0;
    message_add(text, PARSE_TEXT, "%s%zu%s", before,
                m   ? n >> 20
                : k ? n >> 10
                    : n,
                m   ? "M"
                : k ? "k"
                    : "");
}

void clause_runs_print(const struct input *input, char text[PARSE_TEXT])
{
    *text = 0;
    for (size_t i = 0; i < input->run_count; i++) {
        const struct input_run *run = &input->runs[i];
        for (size_t n = 0; !run->q && n < run->count; n++)
            message_add(text, PARSE_TEXT, "%s%zu", *text ? "," : "", run->kv);
        if (!run->q)
            continue;
        message_add(text, PARSE_TEXT, "%s", *text ? "," : "");
        if (run->count > 1)
            message_add(text, PARSE_TEXT, "%zu", run->count);
        add_length(text, "q", run->q);
        if (run->kv != run->q)
            add_length(text, "s", run->kv);
    }
}

const char *clause_runs_misfit(const struct input *input, const struct attn_problem *p)
{
    const bool any_q = lengths_vary_q(p), any_kv = lengths_vary_kv(p);
    size_t sequences = 0;
    const char *why = NULL;
    for (size_t i = 0; i < input->run_count && !why; i++) {
        const struct input_run *run = &input->runs[i];
        sequences += run->count;
        why = run->q > p->q_len                        ? "has a sequence of more than sq queries"
              : run->kv > p->kv_len                    ? "has a sequence of more than skv keys"
              : run->q && run->q != p->q_len && !any_q ? "has other numbers of queries than sq, "
                                                         "which needs packed=1"
              : run->kv != p->kv_len && !any_kv        ? "needs ragged=1, or packed=1 without pages"
                                                       : NULL;
    }
    if (!why && input->run_count && sequences != p->batch)
        why = "does not have b sequences";
    return why;
}

static struct input_lengths spread(const struct input *input, bool queries)
{
    struct input_lengths l = {true, SIZE_MAX, 0, 0};
    size_t sequences = 0;
    double sum = 0;
    for (size_t i = 0; i < input->run_count; i++) {
        const size_t n = queries ? input->runs[i].q : input->runs[i].kv;
        l.lo = n < l.lo ? n : l.lo;
        l.hi = n > l.hi ? n : l.hi;
        sum += (double)n * (double)input->runs[i].count;
        sequences += input->runs[i].count;
    }
    l.mean = (size_t)(sum / (double)sequences);
    return l;
}

void clause_runs_spread(struct input *input)
{
    if (!input->run_count)
        return;
    input->lens = spread(input, false);
    if (input->runs[0].q)
        input->qlens = spread(input, true);
    input->run_count = 0;
}
