/*
 * report_settings: compares new with base, cell by cell, by the medians of launches of the same rounds.
 */
#include "report_settings.h"

#include <math.h>
#include <stdio.h>

#include "fields.h"
#include "report_rows.h"

/* The smallest change that counts: THRESHOLD of scripts/attntools/compare/comparison.py. */
#define COUNTS 0.02

#define MANY 20    /* from so many verdicts on, chance is mentioned */
#define LEVEL 0.95 /* of their intervals */

const char *report_settings_verdict(enum verdict verdict)
{
    static const char *const names[] = {[VERDICT_SLOWER] = "SLOWER",
                                        [VERDICT_UNCLEAR] = "UNCLEAR",
                                        [VERDICT_FASTER] = "FASTER",
                                        [VERDICT_SAME] = "SAME"};
    return names[verdict];
}

enum verdict report_settings_judge(double ratio, double lo, double hi, struct message why)
{
    const double limit = 1 + COUNTS;
    enum verdict verdict = VERDICT_UNCLEAR;
    if (!(lo <= hi)) {
        message_print(why, "too few launches for an interval");
    } else if (lo > 1 && ratio > limit) {
        verdict = VERDICT_SLOWER;
        message_print(why, "at least %.1f %% more time", 100 * (lo - 1));
    } else if (hi < 1 && ratio < 1 / limit) {
        verdict = VERDICT_FASTER;
        message_print(why, "at least %.1f %% less time", 100 * (1 - hi));
    } else if (lo >= 1 / limit && hi <= limit) {
        verdict = VERDICT_SAME;
        message_print(why, "no difference of %.3g %%", 100 * COUNTS);
    } else if (lo > 1 || hi < 1) {
        message_print(why, "differs, but may be less than %.3g %%", 100 * COUNTS);
    } else {
        message_print(why, "the interval holds both no change and a change that counts");
    }
    return verdict;
}

const struct cell *report_settings_other(const struct cell *cells, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (cells[i].setting.name != cells[0].setting.name)
            return &cells[i];
    return NULL;
}

/* The cell under the other setting; NULL unless both have a time. */
static const struct cell *partner_of(const struct cell *cells, size_t count,
                                     const struct cell *base)
{
    for (size_t i = (size_t)(base - cells) + 1; i < count; i++)
        if (cell_is_partner(&cells[i], base) && report_row_has_time(&cells[i]) &&
            report_row_has_time(base))
            return &cells[i];
    return NULL;
}

/* "new (--placement threads) against base (--placement cores)" */
static void name_both(const struct cell *base, const struct cell *new, char *text, size_t size)
{
    char of_base[SETTING_TEXT], of_new[SETTING_TEXT];
    setting_text(&base->setting, of_base);
    setting_text(&new->setting, of_new);
    snprintf(text, size, "new (%s) against base (%s)", of_new, of_base);
}

void report_settings(const struct cell *cells, size_t count)
{
    char text[2 * SETTING_TEXT + 64], why[128];
    bool titled = false;
    for (size_t i = 0; i < count; i++) {
        const struct cell *new = partner_of(cells, count, &cells[i]);
        if (!new)
            continue;
        if (!titled) {
            name_both(&cells[i], new, text, sizeof text);
            report_wrapped(4,
                           "  %s, by the ratios of their launches round by round, not by the two "
                           "medians above:",
                           text);
            titled = true;
        }
        const struct stats_ratio ratio = report_row_ratio(&cells[i], new);
        const enum verdict verdict =
            report_settings_judge(ratio.ratio, ratio.lo, ratio.hi, MESSAGE(why));
        snprintf(text, sizeof text, "%s/%s on %d thread%s: %+.1f %%", cells[i].kernel_name,
                 attn_isa_name(cells[i].isa), cells[i].threads, cells[i].threads == 1 ? "" : "s",
                 100 * (ratio.ratio - 1));
        if (ratio.interval)
            message_add(text, sizeof text, " (%+.1f .. %+.1f %%)", 100 * (ratio.lo - 1),
                        100 * (ratio.hi - 1));
        report_wrapped(6, "    %s, %s: %s", text, report_settings_verdict(verdict), why);
    }
}

void report_settings_verdicts(const struct cell *cells, size_t count)
{
    char text[2 * SETTING_TEXT + 256], why[128];
    const struct cell *other = report_settings_other(cells, count);
    size_t counts[VERDICT_COUNT] = {0}, all = 0;
    for (size_t i = 0; i < count; i++) {
        const struct cell *new = partner_of(cells, count, &cells[i]);
        if (!new)
            continue;
        const struct stats_ratio ratio = report_row_ratio(&cells[i], new);
        counts[report_settings_judge(ratio.ratio, ratio.lo, ratio.hi, MESSAGE(why))]++;
        all++;
    }
    if (!all)
        return;
    name_both(&cells[0], other, text, sizeof text);
    message_add(text, sizeof text, ", %zu cell%s:", all, all == 1 ? "" : "s");
    for (int v = 0; v < VERDICT_COUNT; v++)
        message_add(text, sizeof text, "%s %zu %s", v ? "," : "", counts[v],
                    report_settings_verdict((enum verdict)v));
    if (all >= MANY)
        message_add(text, sizeof text, "; by chance alone %.0f intervals would exclude 0",
                    (1 - LEVEL) * (double)all);
    report_wrapped(4, "%s", text);
}
