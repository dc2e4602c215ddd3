/*
 * report_answer: a sentence about the fastest variant of a case, what bounds it, and which is next.
 */
#include "report_answer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/message.h"
#include "base/stats.h"
#include "base/units.h"
#include "bench/noise.h"
#include "fields.h"
#include "report_rows.h"

#define MOST_TIES 3 /* variants named */

/* ---- the sentence --------------------------------------------------------------------------- */

/* Decimals for two significant digits. */
static int decimals(double x)
{
    return x < 0.995 ? 2 : x < 9.95 ? 1 : 0;
}

static void add_limit(const struct report_answer *a, char *text, size_t size)
{
    const bool compute = strcmp(a->bound, "compute") == 0;
    if (*a->bound && isfinite(a->share))
        message_add(text, size, ": %.0f %% of what %s, %s bound", 100 * a->share,
                    compute ? "the multiply-adds allow" : "reading K and V allows", a->bound);
}

static void add_others(const struct report_answer *a, char *text, size_t size)
{
    if (!a->ranked)
        message_add(text, size, "; %d launch%s, too few to rank it", a->launches,
                    a->launches == 1 ? "" : "es");
    if (!a->ranked || !a->others)
        return;
    if (*a->next)
        message_add(text, size, "; %.*f x %s, the next", a->ratio < 9.995 ? 2 : 0, a->ratio,
                    a->next);
    if (*a->ties)
        message_add(text, size, "; tie with %s", a->ties);
    else if (a->uncompared < a->others)
        message_add(text, size, "; no tie");
    if (a->uncompared)
        message_add(text, size, "; %zu more with too few launches in the same rounds to tell",
                    a->uncompared);
}

void report_answer_text(const struct report_answer *a, char *text, size_t size)
{
    snprintf(text, size, "%s on %d thread%s, %s", a->variant, a->threads,
             a->threads == 1 ? "" : "s", a->time);
    if (isfinite(a->half))
        message_add(text, size, " +-%.*f %%", decimals(100 * a->half), 100 * a->half);
    add_limit(a, text, size);
    add_others(a, text, size);
    if (*a->choice)
        message_add(text, size, "; the library chooses %s, %.2f x as long%s", a->choice, a->regret,
                    !a->ranked       ? ", without an interval"
                    : a->choice_ties ? ", a tie"
                                     : "");
    if (*a->doubts)
        message_add(text, size, "; uncertain: %s", a->doubts);
}

/* ---- from rows ------------------------------------------------------------------------------ */

static void add_word(char *list, size_t size, const char *word)
{
    message_add(list, size, "%s%s", *list ? ", " : "", word);
}

static void add_doubts(const json_t *row, struct report_answer *a)
{
    size_t f;
    const json_t *flag;
    json_array_foreach (field_json(row, FIELD_FLAGS), f, flag)
        for (size_t w = 0; w < noise_word_count; w++)
            if (noise_words[w].disturbs &&
                strcmp(noise_words[w].word, json_string_value(flag)) == 0)
                add_word(a->doubts, sizeof a->doubts, noise_words[w].word);
}

/* The answer for the fastest cell, without its rivals. */
static struct report_answer answer_of(const struct cell *cell, bool ranked)
{
    const json_t *row = cell->row;
    struct report_answer a = {
        .threads = cell->threads, .ranked = ranked, .ratio = NAN, .regret = NAN};
    const double median = report_row_median(cell);
    cell_variant(cell, a.variant);
    units_seconds(median, a.time);
    a.launches = (int)field_of(row, FIELD_LAUNCHES);
    a.half = report_row_half_width(row) / median;
    snprintf(a.bound, sizeof a.bound, "%s", field_word(row, FIELD_BOUND_BY));
    a.share = report_row_share(row);
    add_doubts(row, &a);
    return a;
}

/* Adds the rivals, sorted by time. */
static void add_rivals(const struct cell *fastest, const struct cell *const *sorted, size_t count,
                       struct report_answer *a)
{
    size_t ties = 0;
    for (size_t i = 0; i < count; i++) {
        char variant[96];
        if (sorted[i] == fastest || !report_row_has_time(sorted[i]))
            continue;
        const struct stats_ratio ratio = report_row_ratio(fastest, sorted[i]);
        const bool tie = report_row_tie(ratio);
        cell_variant(sorted[i], variant);
        a->others++;
        if (!ratio.interval)
            a->uncompared++;
        else if (tie && ties++ < MOST_TIES)
            add_word(a->ties, sizeof a->ties, variant);
        else if (!tie && !*a->next) {
            memcpy(a->next, variant, sizeof variant);
            a->ratio = ratio.ratio;
        }
        const bool same_setting = sorted[i]->setting.name == fastest->setting.name;
        if (report_row_is_chosen(sorted[i]->row) && (ratio.interval || !a->ranked) &&
            same_setting) {
            memcpy(a->choice, variant, sizeof variant);
            a->regret = fmax(1, ratio.ratio); /* round by round, though its median is above */
            a->choice_ties = tie;
        }
    }
    if (ties > MOST_TIES)
        message_add(a->ties, sizeof a->ties, " and %zu more", ties - MOST_TIES);
}

void report_answers(const struct cell *cells, size_t count, const struct cell *const *sorted,
                    size_t n)
{
    for (size_t i = 0, end; i < n; i = end) {
        const struct cell *fastest = report_row_fastest(cells, count, sorted[i]);
        for (end = i + 1; end < n && report_row_rivals(sorted[i], sorted[end]); end++)
            ;
        if (!fastest)
            continue;
        char text[1024];
        struct report_answer answer =
            answer_of(fastest, report_row_is_ranked(cells, count, fastest));
        add_rivals(fastest, sorted + i, end - i, &answer);
        report_answer_text(&answer, text, sizeof text);
        report_wrapped(4, "  %s", text);
    }
}

/* ---- the library's choices ------------------------------------------------------------------ */

/* The worst choice: "flash/avx512, 1.07 x as long as split_kv/avx512 in decode-1k on 2 threads". */
static void name_worst(const struct cell *chosen, const struct cell *fastest, double regret,
                       char text[512])
{
    char of_choice[96], of_fastest[96];
    cell_variant(chosen, of_choice);
    cell_variant(fastest, of_fastest);
    snprintf(text, 512, "%s, %.2f x as long as %s in %s on %d thread%s", of_choice, regret,
             of_fastest, chosen->c->name, chosen->threads, chosen->threads == 1 ? "" : "s");
}

void report_answer_choices(const struct cell *cells, size_t count)
{
    double *regrets = alloc_zeroed(count + 1, sizeof *regrets), most = 1;
    size_t n = 0, ties = 0;
    char worst[512] = "";
    for (size_t i = 0; regrets && i < count; i++) {
        const struct cell *chosen, *fastest;
        if (!cells[i].row || !report_row_is_chosen(cells[i].row))
            continue;
        const struct stats_ratio regret =
            report_row_regret(cells, count, &cells[i], &chosen, &fastest);
        if (!regret.interval || !report_row_is_ranked(cells, count, fastest))
            continue;
        regrets[n++] = regret.ratio;
        ties += report_row_tie(regret);
        if (regret.ratio > most) {
            most = regret.ratio;
            name_worst(chosen, fastest, most, worst);
        }
    }
    if (n)
        report_wrapped(4,
                       "the library's choice is the fastest, or tied with it, in %zu of %zu; time "
                       "over the fastest's: median %.2f%s%s",
                       ties, n, stats_median_of(regrets, n), *worst ? ", worst " : "", worst);
    free(regrets);
}
