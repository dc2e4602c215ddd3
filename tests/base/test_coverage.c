/*
 * coverage: how often the 95 % interval of a cell holds the true median, by simulation, with the
 * stop rule in force.  ATTNBENCH_DRAWS=100000 simulates so many cells of each kind, if they are more.
 *
 * A session draws launch medians from a distribution whose median is known, one after the other,
 * until the rule says stop; its interval then holds the true median or not.  Exact order
 * statistics cover 95 to 98.4 % at any fixed number of launches; a rule that looks at the interval
 * and stops when it is short favours intervals that are short by luck.  Seeds are fixed, so these
 * tests have one outcome; with 12000 sessions a coverage of 95 % is known to 0.2 points.
 */
#include "testing.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/stats.h"
#include "base/stats_dependence.h"
#include "base/stop.h"

enum { SESSIONS = 12000, CAP = 24 };

/* As WIDENED in results/launches.c. */
#define FLAGGED 3.0

/* ---- noise --------------------------------------------------------------------------------- */

struct stream {
    uint64_t key, at;
};

/* In (0, 1), never 0 or 1. */
static double uniform(struct stream *s)
{
    return ((double)(random_bits(s->key, s->at++) >> 11) + 0.5) * 0x1p-53;
}

static double normal(struct stream *s)
{
    const double r = sqrt(-2 * log(uniform(s)));
    return r * cos(6.283185307179586 * uniform(s));
}

/* Skewed: most launches near the best time, a tail of slow ones. */
static double exponential(struct stream *s)
{
    return -log(uniform(s));
}

/* Heavy tail: Pareto with exponent 2, whose variance is infinite. */
static double pareto(struct stream *s)
{
    return 1 / sqrt(uniform(s)) - 1;
}

/* Heavy tails on both sides: Student's t with 2 degrees of freedom. */
static double student(struct stream *s)
{
    const double a = 2 * uniform(s) - 1;
    return a * sqrt(2 / (1 - a * a));
}

/* Two modes, ten standard deviations apart; the slower one takes 4 or 1 of 10 launches. */
static double two_modes(struct stream *s, double share)
{
    return 3 * (uniform(s) < share) + 0.3 * normal(s);
}

static double bimodal_40(struct stream *s)
{
    return two_modes(s, 0.4);
}

static double bimodal_10(struct stream *s)
{
    return two_modes(s, 0.1);
}

/* Medians: in closed form, or of the mixture by bisection of its distribution function, computed
 * apart from this program [scipy 1.17: brentq on 0.6 Phi(x/0.3) + 0.4 Phi((x-3)/0.3) - 1/2, and
 * with 0.9 and 0.1]. */
static const struct noise {
    const char *name;
    double (*draw)(struct stream *s);
    double median;
} noises[] = {
    {"normal", normal, 0},
    {"exponential", exponential, 0.6931471805599453},
    {"pareto", pareto, 0.41421356237309515},
    {"student", student, 0},
    {"bimodal 40 %", bimodal_40, 0.29022646983051026},
    {"bimodal 10 %", bimodal_10, 0.041913089664558645},
};

/* Relative sizes of noise: from cells that stop at the first look to cells that never get there. */
static const double scales[] = {0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05};

/* ---- sessions ------------------------------------------------------------------------------ */

/* Launches of a cell: `memory` is the share of the last launch's level that stays, `lasting` the part of
 * the noise that is level, the rest is drawn anew for every launch. */
struct cell {
    const struct noise *noise;
    double scale; /* of the noise, relative to a time of 1 */
    double memory, lasting;
};

/* A cell of a session, while it is launched. */
struct series {
    double medians[CAP], level, dependence;
    size_t n;
    bool done;
};

enum { CELLS_MOST = 16 };

struct session {
    struct cell cell; /* all its cells are like this one */
    size_t cells, cap;
};

/* What became of the cells of many sessions. */
struct found {
    size_t cells, launches;
    size_t covered, plain; /* by the interval, and by one that takes launches as independent */
    size_t flagged;        /* more than FLAGGED times as wide as that */
    double widened;        /* sum of the factors */
};

static void launch(const struct cell *cell, struct stream *s, struct series *of)
{
    const double kept = of->n ? cell->memory : 0;
    of->level = kept * of->level + sqrt(1 - kept * kept) * cell->noise->draw(s);
    double deviation = sqrt(cell->lasting) * of->level;
    if (cell->lasting < 1)
        deviation += sqrt(1 - cell->lasting) * cell->noise->draw(s);
    of->medians[of->n++] = 1 + cell->scale * deviation;
}

/* As dependence_of() in session/rounds.c. */
static struct stats_dependence dependence_of(const struct series *series, size_t cells,
                                             size_t which)
{
    struct stats_dependence own = {0}, all = {0};
    stats_dependence_add(&own, series[which].medians, series[which].n);
    for (size_t i = 0; i < cells; i++)
        stats_dependence_add(&all, series[i].medians, series[i].n);
    return stats_dependence_taken(own, all);
}

static void judge(const struct session *session, struct series *of, struct found *found)
{
    double lo, hi, plain_lo, plain_hi;
    const double truth = 1 + session->cell.scale * session->cell.noise->median;
    found->cells++;
    found->launches += of->n;
    stats_sort(of->medians, of->n);
    assert_true(stats_median_ci95(of->medians, of->n, &plain_lo, &plain_hi));
    assert_true(stats_dependent_ci95(of->medians, of->n, of->dependence, &lo, &hi));
    found->covered += lo <= truth && truth <= hi;
    found->plain += plain_lo <= truth && truth <= plain_hi;
    found->widened += stats_dependence_widens(of->n, of->dependence);
    found->flagged += stats_dependence_widens(of->n, of->dependence) > FLAGGED;
}

/* Rounds until no cell is left. */
static void run(const struct session *session, struct stream *s, struct found *found)
{
    struct series series[CELLS_MOST] = {0};
    for (size_t left = session->cells; left > 0;) {
        for (size_t i = 0; i < session->cells; i++)
            if (!series[i].done)
                launch(&session->cell, s, &series[i]);
        for (size_t i = 0; i < session->cells; i++) {
            struct series *of = &series[i];
            if (of->done || (of->n % 6 && of->n < session->cap)) /* the rule does not look */
                continue;
            const struct stats_dependence known = dependence_of(series, session->cells, i);
            of->dependence = stats_dependence_of(&known);
            of->done = stop_decide(of->medians, of->n, session->cap, &known) != STOP_NOT;
            left -= of->done;
        }
    }
    for (size_t i = 0; i < session->cells; i++)
        judge(session, &series[i], found);
}

/* How many cells: SESSIONS, or more where the environment asks for them. */
static size_t wanted(void)
{
    const char *text = getenv("ATTNBENCH_DRAWS");
    const size_t asked = text ? strtoul(text, NULL, 10) : 0;
    return asked > SESSIONS ? asked : SESSIONS;
}

static struct found found_in(const struct session *session, uint64_t key)
{
    struct found found = {0};
    for (uint64_t i = 0; found.cells < wanted(); i++) {
        struct stream s = {random_key(key, i), 0};
        run(session, &s, &found);
    }
    return found;
}

static double share(size_t some, const struct found *found)
{
    return (double)some / (double)found->cells;
}

TEST(intervals_cover_under_any_noise)
{
    double least = 1, most = 0, widened = 0, flagged = 0;
    for (size_t i = 0; i < sizeof noises / sizeof *noises; i++)
        for (size_t j = 0; j < sizeof scales / sizeof *scales; j++) {
            const struct session session = {{&noises[i], scales[j], 0, 1}, CELLS_MOST, CAP};
            const struct found found = found_in(&session, 1000 * i + j);
            const double coverage = share(found.covered, &found);
            if (!(coverage >= 0.945 && coverage <= 0.995))
                fail_msg("%s noise of %g: coverage %.4f", noises[i].name, scales[j], coverage);
            least = fmin(least, coverage);
            most = fmax(most, coverage);
            widened = fmax(widened, found.widened / (double)found.cells);
            flagged = fmax(flagged, share(found.flagged, &found));
        }
    print_message("coverage %.4f to %.4f; up to %.1f %% wider, up to %.1f %% flagged\n", least,
                  most, 100 * (widened - 1), 100 * flagged);
}

/*
 * Launches that remember the one before know less than as many independent ones.  The interval grows
 * by what the launches show of it, of one cell alone and of the cells of a session together, whether
 * the rule ends them or the time.  The last of the memories is what recorded sessions resemble: a quarter
 * of the noise is a level that lasts.
 */
TEST(intervals_cover_launches_with_memory)
{
    static const struct {
        size_t cells, cap;
    } sessions[] = {{1, 24}, {4, 24}, {16, 24}, {16, 6}, {6, 9}};
    static const struct {
        double memory, lasting;
    } memories[] = {{0, 1}, {0.3, 1}, {0.6, 1}, {0.9, 1}, {0.9, 0.22}};
    static const double noise[] = {0.002, 0.01};
    enum { KINDS = sizeof memories / sizeof *memories };
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions * KINDS * 2; i++) {
        const size_t of = i / (2 * KINDS), m = i / 2 % KINDS;
        const struct session session = {
            {&noises[0], noise[i % 2], memories[m].memory, memories[m].lasting},
            sessions[of].cells,
            sessions[of].cap};
        const struct found found = found_in(&session, 77 + i);
        const double coverage = share(found.covered, &found), plain = share(found.plain, &found);
        const double widened = found.widened / (double)found.cells;
        const double flagged = share(found.flagged, &found);
        print_message(
            "%2zu cells, at most %2zu launches, noise of %.3f, autocorrelation %.1f of %.2f: "
            "coverage %.3f (as independent %.3f), %.2f times as wide, flagged %.3f\n",
            session.cells, session.cap, session.cell.scale, session.cell.memory,
            session.cell.lasting, coverage, plain, widened, flagged);
        assert_true(coverage >= 0.92);
        if (session.cell.memory > 0)
            assert_true(plain < 0.95 && plain < coverage - 0.02);
        else
            assert_true(widened < 2 && flagged < 0.06);
        if (session.cell.memory == 0.9 && session.cell.lasting == 1)
            assert_true(flagged > 0.9);
    }
}

/* ---- recorded sessions ----------------------------------------------------------------------- */

enum { RECORDED_CELLS = 6, RECORDED_SESSIONS = 28, RECORDED_LAUNCHES = 12 };

struct recorded {
    double medians[RECORDED_LAUNCHES];
    size_t n;
};

/* The launch medians of equal sessions, cells of each in one order. */
static void read_sessions(const char *name, struct recorded of[RECORDED_SESSIONS][RECORDED_CELLS])
{
    char path[4096], *line = NULL, *kernels[RECORDED_CELLS] = {0};
    size_t size = 0, session = 0, cells = 0;
    snprintf(path, sizeof path, "%s/%s", TEST_DATA "/../../results/trust", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (getline(&line, &size, file) > 0) {
        json_t *row = json_loads(line, 0, NULL), *medians, *median;
        const char *kernel = "";
        long long threads = 0;
        char both[64];
        size_t i, c = 0;
        assert_non_null(row);
        session += !strcmp(json_string_value(json_object_get(row, "type")), "session");
        if (!json_unpack(row, "{s:s, s:I, s:{s:o}}", "kernel", &kernel, "threads", &threads, "time",
                         "launch_medians_s", &medians)) {
            snprintf(both, sizeof both, "%s %lld", kernel, threads);
            while (c < cells && strcmp(kernels[c], both) != 0)
                c++;
            if (c == cells)
                kernels[cells++] = strdup(both);
            assert_true(cells <= RECORDED_CELLS && session >= 1 && session <= RECORDED_SESSIONS);
            struct recorded *to = &of[session - 1][c];
            assert_true(json_array_size(medians) <= RECORDED_LAUNCHES);
            json_array_foreach (medians, i, median)
                to->medians[to->n++] = json_real_value(median);
        }
        json_decref(row);
    }
    for (size_t c = 0; c < cells; c++)
        free(kernels[c]);
    free(line);
    fclose(file);
}

/* The median over all sessions. */
static double truth_of(struct recorded of[RECORDED_SESSIONS][RECORDED_CELLS], size_t cell)
{
    double all[RECORDED_SESSIONS * RECORDED_LAUNCHES];
    size_t n = 0;
    for (size_t i = 0; i < RECORDED_SESSIONS; i++)
        for (size_t j = 0; j < of[i][cell].n; j++)
            all[n++] = of[i][cell].medians[j];
    return stats_median_of(all, n);
}

/* Counts the intervals of a recorded session, that their cells' medians over all sessions lie in. */
static void judge_recorded(const struct recorded of[RECORDED_CELLS], const double *truths,
                           struct found *found)
{
    struct stats_dependence all = {0};
    for (size_t c = 0; c < RECORDED_CELLS; c++)
        stats_dependence_add(&all, of[c].medians, of[c].n);
    for (size_t c = 0; c < RECORDED_CELLS; c++) {
        double lo, hi, x[RECORDED_LAUNCHES];
        memcpy(x, of[c].medians, sizeof x);
        stats_sort(x, of[c].n);
        const double dependence = stats_dependence_of(&all);
        const double widened = stats_dependence_widens(of[c].n, dependence);
        assert_true(stats_dependent_ci95(x, of[c].n, dependence, &lo, &hi));
        found->cells++;
        found->covered += lo <= truths[c] && truths[c] <= hi;
        assert_true(stats_median_ci95(x, of[c].n, &lo, &hi));
        found->plain += lo <= truths[c] && truths[c] <= hi;
        found->widened += widened;
        found->flagged += widened > FLAGGED;
    }
}

/* Equal sessions of 8 s, one right after the other: does an interval of one hold the median of all? */
TEST(intervals_cover_recorded_launches)
{
    static const char *const files[] = {"equal-sessions.jsonl", "equal-sessions-zen4.jsonl"};
    for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
        struct recorded of[RECORDED_SESSIONS][RECORDED_CELLS] = {0};
        double truths[RECORDED_CELLS];
        struct found found = {0};
        read_sessions(files[f], of);
        for (size_t c = 0; c < RECORDED_CELLS; c++)
            truths[c] = truth_of(of, c);
        for (size_t i = 0; i < RECORDED_SESSIONS; i++)
            judge_recorded(of[i], truths, &found);
        print_message("%s: %zu of %zu (as independent %zu), %.2f times as wide, flagged %.3f\n",
                      files[f], found.covered, found.cells, found.plain,
                      found.widened / (double)found.cells, share(found.flagged, &found));
        assert_int_equal(found.cells, RECORDED_SESSIONS * RECORDED_CELLS);
        assert_true(share(found.covered, &found) >= 0.92);
    }
}

/* At a fixed number of launches the simulated coverage is the exact one. */
TEST(fixed_numbers_cover_as_computed)
{
    for (size_t n = STATS_CI_MIN; n <= CAP; n++) {
        size_t lo, hi, covered = 0;
        double exact;
        assert_true(stats_median_ranks(n, &lo, &hi, &exact));
        for (uint64_t i = 0; i < SESSIONS; i++) {
            struct stream s = {random_key(n, i), 0};
            double x[CAP];
            for (size_t l = 0; l < n; l++)
                x[l] = exponential(&s);
            stats_sort(x, n);
            covered += x[lo] <= noises[1].median && noises[1].median <= x[hi];
        }
        const double simulated = (double)covered / SESSIONS;
        if (fabs(simulated - exact) > 0.008) /* 4 standard errors of 0.002 */
            fail_msg("n = %zu: simulated %.4f, exact %.4f", n, simulated, exact);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intervals_cover_under_any_noise),
        cmocka_unit_test(intervals_cover_launches_with_memory),
        cmocka_unit_test(intervals_cover_recorded_launches),
        cmocka_unit_test(fixed_numbers_cover_as_computed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
