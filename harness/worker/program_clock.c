/*
 * program_clock: timed requests to a program, and the share of round trips and copies in their time.
 */
#include "program_clock.h"

#include <math.h>

#include "base/clock.h"
#include "base/stats.h"
#include "system/task_cpus.h"

/* Length of a sample: TRIP_SHARE round trips, COPY_SHARE copies of its results, but at most LONGEST_S for
 * these. */
#define TRIPS 5 /* round trips measured before samples */
#define TRIP_SHARE 100
#define COPY_SHARE 20
#define LONGEST_S 0.25

/* The audit of the program's clock. */
#define BUSY_SHARE 0.05 /* CPUs count as busy if threads wait for them for more of the time */
#define LIES_S 0.25     /* wall time after which a clock may be called absurd */
#define AGAIN 3         /* further audits of AGAIN_S each before a clock is refused */
#define AGAIN_S 0.5
#define LEAST_S 1e-9 /* of a call, a few cycles; less means that none was made */
#define SINGLES 3 /* single calls on other sets' operands; one if it takes longer than LONGEST_S */
#define PAIRS 3   /* pairs of a request and one with more calls */
#define FEWER 4   /* pairs with a FEWERth of the calls follow those that do not grow, */
#define SHORTEST_S 0.01 /* unless a request takes less */
#define DIFFERS 2       /* times as long may a call take in these */
#define LOOKED_S 2      /* single calls or pairs go on for so long until the clock agrees */
#define BUSY_S 10       /* and single calls for so much longer while the CPUs are busy */
#define SINGLE_ROWS 16  /* rows checked of each single call */

/* Seconds that threads were ready to run without getting a CPU: this thread, the program's first one, and all
 * others, as the program may have started some, like mpiexec. */
static double waited_s(const struct program_clock *clock)
{
    const double talking = task_waited_s(0) + task_waited_s(process_pid(clock->copy->process));
    return talking + task_all_waited_s();
}

static size_t slot_of(const struct program_clock *clock, size_t set)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a session has two sets at least */
    return (set + clock->turned) % clock->count;
}

void program_clock_renew(struct program_clock *clock, size_t first, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a session has two sets at least */
        const size_t set = (first + n) % clock->count;
        program_copy_give(clock->copy, slot_of(clock, set), &clock->sets[set].tensors);
    }
    program_copy_measure(clock->worker, clock->copy, 0, 0);
}

static void copy_operands(struct program_clock *clock)
{
    program_clock_renew(clock, 0, clock->count);
}

/* Copies the results of `count` sets, from `first` on, out of the file; returns the seconds that it took. */
static double copy_results(struct program_clock *clock, size_t first, size_t count)
{
    const double start = clock_now();
    for (size_t i = 0; i < count; i++) {
        const size_t set = (first + i) % clock->count;
        exchange_read(clock->copy->file, slot_of(clock, set), &clock->sets[set].tensors);
    }
    return clock_now() - start;
}

void program_clock_open(struct program_clock *clock, struct worker *worker,
                        const struct attn_plan *plan, struct tensor_set *sets, size_t count)
{
    double trips[TRIPS];
    *clock = (struct program_clock){.worker = worker, .plan = plan, .sets = sets, .count = count};
    clock->copy = program_copy_bind(worker, &plan->problem, NULL, plan->threads);
    copy_operands(clock);
    for (int i = 0; i < TRIPS; i++)
        trips[i] = program_copy_measure(worker, clock->copy, 0, 0).wall_s;
    stats_sort(trips, TRIPS);
    clock->trip_s = stats_median(trips, TRIPS);
    clock->least_trip_s = trips[0];
    clock->waited_s = waited_s(clock);
    process_stop(clock->copy->process);
}

double program_clock_sample(const struct program_clock *clock)
{
    const struct attn_problem *p = &clock->plan->problem;
    const double elements = (double)p->batch * (double)p->q_heads * (double)p->q_len *
                            (double)(p->v_dim + 1) * (double)clock->count;
    const double copy_s = elements * 1e-9; /* 2 to 4 bytes per ns, and NaN written back */
    return fmin(fmax(TRIP_SHARE * clock->trip_s, COPY_SHARE * copy_s), LONGEST_S);
}

/* Times a request without calls, then one with calls, then the copying of its results, for the audit. */
static struct program_time measure(struct program_clock *clock, size_t first, size_t calls)
{
    struct audit *audit = &clock->audit;
    const size_t used = calls < clock->count ? calls : clock->count;
    const double trip_s = program_copy_measure(clock->worker, clock->copy, 0, 0).wall_s;
    const struct program_time time =
        program_copy_measure(clock->worker, clock->copy, calls, slot_of(clock, first));
    process_stop(clock->copy->process);
    audit->copy_s += copy_results(clock, first, used);
    audit->trips_s += trip_s;
    clock->least_trip_s = fmin(clock->least_trip_s, trip_s);
    audit->wall_s += time.wall_s;
    audit->program_s += time.program_s;
    clock->requests++;
    return time;
}

/* Whether the CPUs were busy during the last wall_s seconds, at whose beginning waited_s() was `waited`. */
static bool is_busy(const struct program_clock *clock, double waited, double wall_s)
{
    return waited_s(clock) - waited > BUSY_SHARE * wall_s;
}

/* Whether more requests are worth making until they agree with the clock, after those since `start`. */
static bool has_patience(const struct program_clock *clock, double start, double waited)
{
    const double passed = clock_now() - start;
    return passed < LOOKED_S || (passed < LOOKED_S + BUSY_S && is_busy(clock, waited, passed));
}

/* How many calls to make per request: on a busy machine so many that interruptions between the program's
 * clock and its answer, of some ms, are a small part. */
static size_t calls_when_busy(const struct program_clock *clock, size_t calls)
{
    const double a_request = clock->audit.wall_s / (double)clock->requests;
    const bool busy = is_busy(clock, clock->waited_s, clock->audit.wall_s);
    return busy && a_request < LONGEST_S ? (size_t)((double)calls * LONGEST_S / a_request) : calls;
}

/* Audits a clock that does not agree again, and longer, before it is refused. */
static void judge(struct program_clock *clock, size_t calls)
{
    char why[256];
    size_t set = 0;
    for (int n = 0; !audit_holds(&clock->audit, why, sizeof why); n++) {
        if (n == AGAIN)
            worker_abandon(clock->worker, CELL_IMPLAUSIBLE, "%s", why);
        const size_t longer = calls_when_busy(clock, calls);
        clock->audit = (struct audit){0};
        clock->requests = 0;
        clock->waited_s = waited_s(clock);
        for (; clock->audit.wall_s < AGAIN_S; set = (set + longer) % clock->count)
            measure(clock, set, longer);
    }
}

/* Whether a clock is so wrong that samples need not go on. */
static bool is_absurd(const struct program_clock *clock)
{
    return clock->requests > 3 && clock->audit.wall_s > LIES_S &&
           clock->audit.program_s < clock->audit.wall_s / 10;
}

double program_clock_run(void *context, size_t first, size_t calls)
{
    struct program_clock *clock = context;
    const struct program_time time = measure(clock, first, calls);
    if (time.program_s < LEAST_S * (double)calls || is_absurd(clock))
        worker_abandon(clock->worker, CELL_IMPLAUSIBLE,
                       "the program says %.3g s for %zu calls, around which %.3g s have passed",
                       time.program_s, calls, time.wall_s);
    return time.program_s;
}

/* Our time of a single call, after sets have exchanged their slots, and *copy_s, the time to copy its
 * results; checks the results. */
static double single(struct program_clock *clock, size_t set, struct check_result *checked,
                     double *copy_s)
{
    struct worker *worker = clock->worker;
    const struct attn_problem *p = &clock->plan->problem;
    clock->turned++;
    copy_operands(clock);
    tensors_poison(&clock->sets[set], p);
    *copy_s = clock->audit.copy_s;
    const struct program_time time = measure(clock, set, 1);
    *copy_s = clock->audit.copy_s - *copy_s;
    if (!check_rows(worker->kernel, p, &clock->sets[set].tensors, SINGLE_ROWS,
                    worker->request.seed + clock->turned, checked))
        worker_abandon(worker, checked->unfinished ? CELL_SKIPPED : CELL_FAILED,
                       "in a timed call on new operands: %s", checked->why);
    return time.wall_s;
}

/* Whether AUDIT_MORE times as many calls take longer, by the shortest of some pairs of requests: on a busy
 * machine of all within LOOKED_S, even after some that agree; *few_s: the shorter request's time. */
static bool time_grows(struct program_clock *clock, size_t calls, double *few_s, char *why,
                       size_t why_size)
{
    const double start = clock_now(), waited = waited_s(clock);
    double many_s = *few_s = INFINITY, passed = 0;
    bool grows = false;
    for (int n = 0; n < PAIRS || (passed < LOOKED_S && (!grows || is_busy(clock, waited, passed)));
         n++) {
        *few_s = fmin(*few_s, measure(clock, 0, calls).program_s);
        many_s = fmin(many_s, measure(clock, 0, AUDIT_MORE * calls).program_s);
        grows = audit_grows(*few_s, many_s, why, why_size);
        passed = clock_now() - start;
    }
    return grows;
}

/* Verifies that all calls of a request are made, by the growth of the time with their number: there are more
 * calls than sets, so that results are overwritten and some calls could be left out.  Interruptions may have
 * lengthened every request, so those that do not grow are followed by shorter ones, which more often have
 * none.  A program that leaves calls out of long requests alone says less a call for these, per_call_s. */
static void judge_growth(struct program_clock *clock, size_t calls, double per_call_s)
{
    char why[256];
    double few_s;
    const size_t asked = calls;
    for (; !time_grows(clock, calls, &few_s, why, sizeof why); calls /= FEWER)
        if (few_s < SHORTEST_S || calls / FEWER <= clock->count)
            worker_abandon(clock->worker, CELL_IMPLAUSIBLE, "%s", why);
    if (calls < asked && few_s > DIFFERS * per_call_s * (double)calls)
        worker_abandon(clock->worker, CELL_IMPLAUSIBLE,
                       "the program says %.3g s a call for %zu calls, but %.3g s for %zu",
                       per_call_s, asked, few_s / (double)calls, calls);
}

void program_clock_judge(struct program_clock *clock, size_t calls, double per_call_s,
                         struct check_result *checked)
{
    char why[256] = "";
    double least = INFINITY, least_copy = INFINITY, copy_s;
    bool agrees = false;
    judge(clock, calls);
    if (calls > clock->count)
        judge_growth(clock, calls, per_call_s);
    program_copy_stays(clock->worker, clock->copy);
    const double start = clock_now(), waited = waited_s(clock);
    for (size_t n = 0; n < SINGLES || (!agrees && has_patience(clock, start, waited)); n++) {
        least = fmin(least, single(clock, n % clock->count, checked, &copy_s));
        least_copy = fmin(least_copy, copy_s);
        agrees =
            audit_agrees(per_call_s, least - clock->least_trip_s - 3 * least_copy, why, sizeof why);
        if (agrees && least > LONGEST_S)
            break;
    }
    if (!agrees)
        worker_abandon(clock->worker, CELL_IMPLAUSIBLE, "%s", why);
}
