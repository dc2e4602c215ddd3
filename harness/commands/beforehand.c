/*
 * beforehand: what is known of a session before anything is measured.
 */
#include "commands.h"

#include <math.h>
#include <stdio.h>

#include "base/progress.h"
#include "base/refuse.h"
#include "base/stats.h"
#include "base/units.h"

#define LONG_S 60 /* from here on a user may want to know, and to do something else meanwhile */

static const struct {
    double from_s, unit_s;
    int digits;
    const char *name;
} spans[] = {{7200, 3600, 1, "h"}, {120, 60, 0, "min"}, {-INFINITY, 1, 0, "s"}};

/* "; 4 launches each, too few to rank them", of a session that measures. */
static void add_launches(const struct session *session, const struct session_needs *needs,
                         char text[BEFOREHAND_TEXT])
{
    const size_t asked = session->options->launches;
    const struct session_least least = session_least(session);
    const double left = needs->seconds - least.checks_s;
    if (session->options->command == COMMAND_CHECK || !needs->cells)
        return;
    if (asked)
        message_add(text, BEFOREHAND_TEXT, "; %zu launch%s each", asked, asked == 1 ? "" : "es");
    if (asked && asked < STATS_CI_MIN)
        message_add(text, BEFOREHAND_TEXT, ", too few to rank them");
    else if (session->limited && rint(left) < rint(STATS_CI_MIN * least.launches_s))
        message_add(text, BEFOREHAND_TEXT, "; no time for %d launches of each: some get no rank",
                    STATS_CI_MIN);
}

void beforehand_text(const struct session *session, const struct session_needs *needs,
                     char text[BEFOREHAND_TEXT])
{
    const size_t rest = session->cell_count - needs->cells;
    char bytes[UNITS_TEXT];
    size_t u = 0;
    while (needs->seconds < spans[u].from_s)
        u++;
    units_bytes(needs->memory_bytes, bytes);
    snprintf(text, BEFOREHAND_TEXT, "%zu cell%s of %zu case%s: about %.*f %s, %s of memory",
             needs->cells, needs->cells == 1 ? "" : "s", needs->cases, needs->cases == 1 ? "" : "s",
             spans[u].digits, needs->seconds / spans[u].unit_s, spans[u].name, bytes);
    if (rest)
        message_add(text, BEFOREHAND_TEXT, "; %zu more cannot run%s", rest,
                    session->options->resume ? " or are done" : "");
    add_launches(session, needs, text);
}

void beforehand_tell(const struct session *session, const struct session_needs *needs)
{
    const struct session_least least = session_least(session);
    const double asked = session->options->seconds, least_s = least.checks_s + least.launches_s;
    char text[BEFOREHAND_TEXT], variants[48] = "";
    if (least.checks)
        snprintf(variants, sizeof variants, " of %zu variant%s", least.checks,
                 least.checks == 1 ? "" : "s");
    if (asked > 0 && rint(least_s) > asked) /* as it is printed */
        progress_say("%g s asked; at least about %.0f s are needed: checks%s alone take about "
                     "%.0f s, one launch of each cell %.0f s",
                     asked, least_s, variants, least.checks_s, least.launches_s);
    if (needs->seconds < LONG_S)
        return;
    beforehand_text(session, needs, text);
    progress_say("%s", text);
}
