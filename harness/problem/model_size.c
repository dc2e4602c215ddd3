/*
 * model_size: makes problems of a model's layers from sizes, and prints sizes.
 */
#include "model_size.h"

#include <stdio.h>
#include <string.h>

#include "clause.h"

/* ---- a batch --------------------------------------------------------------------------------- */

/* Extremes and sums over all sequences; in `lens:` lists there are as many queries as keys. */
struct extent {
    size_t sequences, most_q, most_kv, queries, keys;
    bool decodes, passes, one_q, one_kv,
        themselves; /* every sequence: one query; several; the same; q = kv */
};

static struct extent extent_of(const struct input *in)
{
    struct extent e = {0, 0, 0, 0, 0, true, true, true, true, true};
    for (size_t i = 0; i < in->run_count; i++) {
        const size_t kv = in->runs[i].kv, q = in->runs[i].q ? in->runs[i].q : kv;
        e.one_q &= !i || q == e.most_q;
        e.one_kv &= !i || kv == e.most_kv;
        e.decodes &= q == 1;
        e.passes &= q > 1;
        e.themselves &= q == kv;
        e.most_q = q > e.most_q ? q : e.most_q;
        e.most_kv = kv > e.most_kv ? kv : e.most_kv;
        e.sequences += in->runs[i].count;
        e.queries += in->runs[i].count * q;
        e.keys += in->runs[i].count * kv;
    }
    return e;
}

bool model_size_read(struct piece text, struct model_size *size, struct message message)
{
    const char *colon = memchr(text.at, ':', text.length), *why = "is not pageN";
    const bool list = colon && piece_is(piece_from(text.at, colon), "lens");
    const char *const end = text.at + text.length;
    char quoted[SCAN_QUOTED];
    struct piece page = piece_from(colon ? colon + 1 : end, end);
    uint64_t keys = 0;
    *size = (struct model_size){.runs.seed = 1};
    if (trace_is(text))
        return trace_read(text, &size->runs, message);
    if (colon && !list) {
        struct piece number = page;
        const bool form = piece_skip(&number, "page") && number.length;
        if (!form || !scan_length(number, 1 << 20, &keys, &why))
            return refuse(message, "--batch %s: %s", scan_quote(page, quoted), why);
        text = piece_from(text.at, colon);
    }
    size->page_size = keys;
    return clause_runs_read(list ? page : text, !list, &size->runs, &why) ||
           refuse(message,
                  "--batch %s %s; expected " CLAUSE_RUNS_FORM
                  ", lens:A,B,..., prompts:FILE or replies:FILE",
                  scan_quote(text, quoted), why);
}

static const char *batch_case(const struct model_size *size, const struct model_kind *kind,
                              struct problem_case *c)
{
    const struct extent e = extent_of(&size->runs);
    struct attn_problem *p = &c->problem;
    const bool dense_kv = e.one_kv || kind->fixed_keys;
    if (kind->chunk && e.most_kv > kind->chunk)
        return "has a sequence that is longer than the chunks that its layers see";
    p->batch = e.sequences;
    p->q_len = e.most_q;
    p->kv_len = kind->fixed_keys ? p->kv_len : e.most_kv;
    if (!e.one_q)
        p->options |= ATTN_OPTION_PACKED;
    if (size->page_size) {
        p->options |= ATTN_OPTION_PAGED;
        p->page_size = size->page_size;
    }
    if (!dense_kv && (e.one_q || !e.themselves || size->page_size))
        p->options |= ATTN_OPTION_RAGGED;
    if (!e.one_q || !dense_kv)
        c->input = size->runs;
    if (kind->role != MODEL_ENCODER && e.most_q > 1)
        p->mask |= ATTN_MASK_CAUSAL;
    return clause_runs_misfit(&c->input, p);
}

/* ---- a pass, a token ------------------------------------------------------------------------- */

/* Drops a window that hides nothing, so that layers which compute the same are one case. */
static void drop_window(struct attn_problem *p)
{
    const ptrdiff_t all = (ptrdiff_t)(p->kv_len - 1);
    const bool ahead = p->window_right < 0 || p->window_right >= all ||
                       p->mask & ATTN_MASK_CAUSAL || p->q_len == 1;
    if (p->options & ATTN_OPTION_WINDOW && p->window_left >= all && ahead)
        parse_change("window=-1", p);
}

static const char *even_case(const struct model_size *size, const struct model_kind *kind,
                             struct attn_problem *p)
{
    const size_t chunk = kind->chunk && kind->chunk < size->length ? kind->chunk : 0;
    p->batch = size->batch;
    p->q_len = size->prefill ? size->length : 1;
    p->kv_len = kind->fixed_keys ? kind->problem.kv_len : size->length;
    if (chunk && size->prefill && size->length % chunk)
        return "is no multiple of the chunks that its layers see";
    if (chunk && size->prefill) { /* each chunk is like a sequence */
        if (__builtin_mul_overflow(p->batch, size->length / chunk, &p->batch))
            return "makes too many sequences";
        p->q_len = p->kv_len = chunk;
    } else if (chunk) {
        p->kv_len = (size->length - 1) % chunk + 1;
    }
    if (size->prefill && kind->role != MODEL_ENCODER)
        p->mask |= ATTN_MASK_CAUSAL;
    return NULL;
}

bool model_size_has(const struct model_size *size, const struct model_kind *kind)
{
    const struct extent e = extent_of(&size->runs);
    const bool passes = size->runs.run_count ? e.passes : size->prefill;
    const bool decodes = size->runs.run_count ? e.decodes : !size->prefill;
    return kind->role == MODEL_DECODER ||
           (passes && (kind->role == MODEL_ENCODER || kind->role == MODEL_PREFILL)) ||
           (decodes && kind->role == MODEL_DECODE);
}

const char *model_size_case(const struct model_size *size, const struct model_kind *kind,
                            struct problem_case *c)
{
    *c = (struct problem_case){.problem = kind->problem, .input.seed = 1};
    const char *why =
        size->runs.run_count ? batch_case(size, kind, c) : even_case(size, kind, &c->problem);
    if (why)
        return why;
    drop_window(&c->problem);
    return attn_problem_valid(&c->problem, &why) ? NULL : why;
}

/* ---- words ----------------------------------------------------------------------------------- */

void model_size_name(const struct model_size *size, size_t most, char text[MODEL_SIZE_NAME])
{
    const struct extent e = extent_of(&size->runs);
    char list[PARSE_TEXT] = "", page[32] = "";
    clause_runs_print(&size->runs, list);
    for (char *at = list; *at; at++)
        if (*at == ',')
            *at = '-';
    if (size->page_size)
        snprintf(page, sizeof page, "-page%zu", size->page_size);
    if (!size->runs.run_count)
        snprintf(text, MODEL_SIZE_NAME, "%s-%zu", size->prefill ? "prefill" : "decode",
                 size->length);
    else if (strlen(list) + strlen(page) <= most)
        snprintf(text, MODEL_SIZE_NAME, "%.32s%s", list, page);
    else
        snprintf(text, MODEL_SIZE_NAME, "b%zu-q%zu-s%zu%s", e.sequences, e.queries, e.keys, page);
    if (!size->runs.run_count && size->batch > 1)
        message_add(text, MODEL_SIZE_NAME, "-b%zu", size->batch);
}

void model_size_say(const struct model_size *size, char *text, size_t text_size)
{
    const struct extent e = extent_of(&size->runs);
    if (size->runs.run_count)
        snprintf(text, text_size, "a batch of %zu tokens of %zu sequences, %zu keys", e.queries,
                 e.sequences, e.keys);
    else if (size->prefill && size->batch > 1)
        snprintf(text, text_size, "a pass over %zu x %zu tokens", size->batch, size->length);
    else if (size->prefill)
        snprintf(text, text_size, "a pass over %zu tokens", size->length);
    else if (size->batch > 1)
        snprintf(text, text_size, "a token of each of %zu sequences on %zu keys", size->batch,
                 size->length);
    else
        snprintf(text, text_size, "one token on %zu keys", size->length);
}
