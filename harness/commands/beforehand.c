/*
 * beforehand: estimates of a session's time and memory, printed before it measures.
 */
#include "commands.h"

#include <math.h>
#include <stdio.h>

#include "base/progress.h"
#include "base/message.h"
#include "base/stats.h"
#include "base/units.h"
#include "problem/operands_file.h"

#define LONG_S 60 /* sessions from this length on are announced */

/* "; 4 launches each, too few for intervals of their times"; nothing for a check. */
static void add_launches(const struct session *session, const struct session_needs *needs,
                         char text[BEFOREHAND_TEXT])
{
    const size_t asked = session->options->launches;
    const double left = needs->seconds - needs->checks_s;
    if (session->options->command == COMMAND_CHECK || !needs->cells)
        return;
    if (asked)
        message_add(text, BEFOREHAND_TEXT, "; %zu launch%s each", asked, asked == 1 ? "" : "es");
    if (asked && asked < STATS_CI_MIN)
        message_add(text, BEFOREHAND_TEXT, ", too few %s",
                    asked < STATS_RATIO_MIN ? "to rank them" : "for intervals of their times");
    else if (session->limited && rint(left) < rint(STATS_CI_MIN * needs->launches_s))
        message_add(text, BEFOREHAND_TEXT,
                    "; no time for %d launches of each: some get no interval", STATS_CI_MIN);
}

void beforehand_text(const struct session *session, const struct session_needs *needs,
                     char text[BEFOREHAND_TEXT])
{
    const size_t rest = session->cell_count - needs->cells;
    char bytes[UNITS_TEXT], span[UNITS_TEXT];
    units_span(needs->seconds, span);
    units_bytes(needs->memory_bytes, bytes);
    snprintf(text, BEFOREHAND_TEXT, "%zu cell%s of %zu case%s: about %s, %s of memory",
             needs->cells, needs->cells == 1 ? "" : "s", needs->cases, needs->cases == 1 ? "" : "s",
             span, bytes);
    if (rest)
        message_add(text, BEFOREHAND_TEXT, "; %zu more cannot run%s", rest,
                    session->options->resume ? " or are done" : "");
    add_launches(session, needs, text);
}

bool beforehand_files(const struct session *session, struct message message)
{
    for (size_t i = 0; i < session->cases.count; i++)
        if (!operands_file_opens(&session->cases.items[i].input, message))
            return false;
    return true;
}

void beforehand_tell(const struct session *session, const struct session_needs *needs)
{
    const double asked = session->options->seconds, least_s = needs->checks_s + needs->launches_s;
    char text[BEFOREHAND_TEXT], variants[48] = "";
    if (needs->checks)
        snprintf(variants, sizeof variants, " of %zu variant%s", needs->checks,
                 needs->checks == 1 ? "" : "s");
    if (asked > 0 && rint(least_s) > asked) /* compared as printed */
        progress_say("%g s asked; at least about %.0f s are needed: checks%s alone take about "
                     "%.0f s, one launch of each cell %.0f s",
                     asked, least_s, variants, needs->checks_s, needs->launches_s);
    if (needs->seconds < LONG_S)
        return;
    beforehand_text(session, needs, text);
    progress_say("%s", text);
}
