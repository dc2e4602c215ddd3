/*
 * program_clock: timed requests to a program, and the share of round trips and copies in their time.
 */
#include "program_clock.h"

#include <math.h>

#include "base/clock.h"
#include "base/stats.h"
#include "bench/audit.h"
#include "check/timed.h"
#include "system/task.h"

/* Static, as a worker measures one kernel. */
static struct measurement {
    struct worker *worker;
    const struct attn_plan *plan;
    struct program_copy *copy;
    struct tensor_set *sets;
    size_t count;
    size_t turned;       /* set s lies in slot (s + turned) % count of the file */
    double trip_s;       /* median of TRIPS round trips */
    double least_trip_s; /* shortest round trip so far */
    size_t requests;     /* with calls, so far; the first ones may include one-off work */
    struct audit audit;
    double waited_s; /* seconds of waiting for a CPU before the audit began */
} self;

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
#define FEWER 4 /* where the time does not grow with the calls, a quarter of them is tried next, */
#define SHORTEST_S 0.01 /* but none if a request took less than this */
#define DIFFERS 2       /* in these a call may take so many times as long */
#define LOOKED_S 2 /* seconds in which single calls or pairs are repeated until the clock agrees */
#define BUSY_S 10  /* more seconds for single calls while the CPUs are busy */
#define SINGLE_ROWS 16 /* rows checked of each single call */

/* Seconds that threads were ready to run without getting a CPU: this thread, the program's first one, and all
 * others, as the program may have started some, like mpiexec. */
static double waited_s(void)
{
    const double talking = task_waited_s(0) + task_waited_s(process_pid(self.copy->process));
    return talking + task_all_waited_s();
}

static size_t slot_of(size_t set)
{
    /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a session has two sets at least */
    return (set + self.turned) % self.count;
}

void program_clock_renew(size_t first, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        /* NOLINTNEXTLINE(clang-analyzer-core.DivideZero): a session has two sets at least */
        const size_t set = (first + n) % self.count;
        program_copy_give(self.copy, slot_of(set), &self.sets[set].tensors);
    }
    program_copy_measure(self.worker, self.copy, 0, 0);
}

/* Copies the results of `count` sets, from `first` on, out of the file; returns the seconds that it took. */
static double copy_results(size_t first, size_t count)
{
    const double start = clock_now();
    for (size_t i = 0; i < count; i++) {
        const size_t set = (first + i) % self.count;
        exchange_read(self.copy->file, slot_of(set), &self.sets[set].tensors);
    }
    return clock_now() - start;
}

void program_clock_begin(struct worker *worker, const struct attn_plan *plan,
                         struct tensor_set *sets, size_t count)
{
    double trips[TRIPS];
    self = (struct measurement){.worker = worker, .plan = plan, .sets = sets, .count = count};
    self.copy = program_copy_bind(worker, &plan->problem, NULL, plan->threads);
    program_clock_renew(0, count);
    for (int i = 0; i < TRIPS; i++)
        trips[i] = program_copy_measure(worker, self.copy, 0, 0).wall_s;
    stats_sort(trips, TRIPS);
    self.trip_s = stats_median(trips, TRIPS);
    self.least_trip_s = trips[0];
    self.waited_s = waited_s();
    process_stop(self.copy->process);
}

struct program_copy *program_clock_copy(void)
{
    return self.copy;
}

double program_clock_least_sample_s(void)
{
    const struct attn_problem *p = &self.plan->problem;
    const double elements = (double)p->batch * (double)p->q_heads * (double)p->q_len *
                            (double)(p->v_dim + 1) * (double)self.count;
    const double copy_s = elements * 1e-9; /* 2 to 4 bytes per ns, and NaN written back */
    return fmin(fmax(TRIP_SHARE * self.trip_s, COPY_SHARE * copy_s), LONGEST_S);
}

/* Times a request without calls, then one with calls, then the copying of its results, for the audit. */
static struct program_time measure(size_t first, size_t calls)
{
    struct audit *audit = &self.audit;
    const size_t used = calls < self.count ? calls : self.count;
    const double trip_s = program_copy_measure(self.worker, self.copy, 0, 0).wall_s;
    const struct program_time time =
        program_copy_measure(self.worker, self.copy, calls, slot_of(first));
    process_stop(self.copy->process);
    audit->copy_s += copy_results(first, used);
    audit->trips_s += trip_s;
    self.least_trip_s = fmin(self.least_trip_s, trip_s);
    audit->wall_s += time.wall_s;
    audit->program_s += time.program_s;
    self.requests++;
    return time;
}

/* Whether the CPUs were busy during the last wall_s seconds, at whose beginning waited_s() was `waited`. */
static bool is_busy(double waited, double wall_s)
{
    return waited_s() - waited > BUSY_SHARE * wall_s;
}

/* Whether more requests are worth making until they agree with the clock, after those since `start`. */
static bool has_patience(double start, double waited)
{
    const double passed = clock_now() - start;
    return passed < LOOKED_S || (passed < LOOKED_S + BUSY_S && is_busy(waited, passed));
}

/* How many calls to make per request: on a busy machine so many that interruptions between the program's
 * clock and its answer, of some ms, are a small part. */
static size_t calls_when_busy(size_t calls)
{
    const double a_request = self.audit.wall_s / (double)self.requests;
    const bool busy = is_busy(self.waited_s, self.audit.wall_s);
    return busy && a_request < LONGEST_S ? (size_t)((double)calls * LONGEST_S / a_request) : calls;
}

/* Audits a clock that does not agree again, and longer, before it is refused. */
static void judge(size_t calls)
{
    char why[256];
    size_t set = 0;
    for (int n = 0; !audit_holds(&self.audit, MESSAGE(why)); n++) {
        if (n == AGAIN)
            worker_abandon(self.worker, CELL_IMPLAUSIBLE, "%s", why);
        const size_t longer = calls_when_busy(calls);
        self.audit = (struct audit){0};
        self.requests = 0;
        self.waited_s = waited_s();
        for (; self.audit.wall_s < AGAIN_S; set = (set + longer) % self.count)
            measure(set, longer);
    }
}

/* Whether a clock is so wrong that samples need not go on. */
static bool is_absurd(void)
{
    return self.requests > 3 && self.audit.wall_s > LIES_S &&
           self.audit.program_s < self.audit.wall_s / 10;
}

double program_clock_timed(void *context, size_t first, size_t calls)
{
    (void)context;
    const struct program_time time = measure(first, calls);
    if (time.program_s < LEAST_S * (double)calls || is_absurd())
        worker_abandon(self.worker, CELL_IMPLAUSIBLE,
                       "the program says %.3g s for %zu calls, around which %.3g s have passed",
                       time.program_s, calls, time.wall_s);
    return time.program_s;
}

void program_clock_call(size_t set)
{
    program_clock_timed(NULL, set, 1);
}

/* Our time of a single call, after sets have exchanged their slots, and *copy_s, the time to copy its
 * results; checks the results. */
static double single(size_t set, struct check_result *checked, double *copy_s)
{
    struct worker *worker = self.worker;
    const struct attn_problem *p = &self.plan->problem;
    self.turned++;
    program_clock_renew(0, self.count);
    tensors_poison(&self.sets[set], p);
    *copy_s = self.audit.copy_s;
    const struct program_time time = measure(set, 1);
    *copy_s = self.audit.copy_s - *copy_s;
    if (!timed_rows(worker->kernel, p, &self.sets[set].tensors, SINGLE_ROWS,
                    worker->request.seed + self.turned, checked))
        worker_abandon(worker, checked->unfinished ? CELL_SKIPPED : CELL_FAILED,
                       "in a timed call on new operands: %s", checked->why);
    return time.wall_s;
}

/* Whether AUDIT_MORE times as many calls take longer, by the shortest of some pairs of requests.  On a busy
 * machine pairs go on for LOOKED_S, even if some have shown it.  *few_s: the time of the fewer calls. */
static bool time_grows(size_t calls, double *few_s, struct message why)
{
    const double start = clock_now(), waited = waited_s();
    double many_s = *few_s = INFINITY, passed = 0;
    bool grows = false;
    for (int n = 0; n < PAIRS || (passed < LOOKED_S && (!grows || is_busy(waited, passed))); n++) {
        *few_s = fmin(*few_s, measure(0, calls).program_s);
        many_s = fmin(many_s, measure(0, AUDIT_MORE * calls).program_s);
        grows = audit_grows(*few_s, many_s, why);
        passed = clock_now() - start;
    }
    return grows;
}

/* Verifies that a request makes all its calls: its time must grow with their number.  No result shows it, as a
 * request with more calls than sets overwrites results.  Interruptions may hide the growth, so shorter
 * requests, which have fewer of them, are tried next.  A program that leaves calls out of long requests alone
 * shows it by a shorter time of a call there, per_call_s. */
static void judge_growth(size_t calls, double per_call_s)
{
    char why[256];
    double few_s;
    const size_t asked = calls;
    for (; !time_grows(calls, &few_s, MESSAGE(why)); calls /= FEWER)
        if (few_s < SHORTEST_S || calls / FEWER <= self.count)
            worker_abandon(self.worker, CELL_IMPLAUSIBLE, "%s", why);
    if (calls < asked && few_s > DIFFERS * per_call_s * (double)calls)
        worker_abandon(self.worker, CELL_IMPLAUSIBLE,
                       "the program says %.3g s a call for %zu calls, but %.3g s for %zu",
                       per_call_s, asked, few_s / (double)calls, calls);
}

void program_clock_judge(size_t calls, double per_call_s, struct check_result *checked)
{
    char why[256] = "";
    double least = INFINITY, least_copy = INFINITY, copy_s;
    bool agrees = false;
    judge(calls);
    if (calls > self.count)
        judge_growth(calls, per_call_s);
    program_copy_stays(self.worker, self.copy);
    const double start = clock_now(), waited = waited_s();
    for (size_t n = 0; n < SINGLES || (!agrees && has_patience(start, waited)); n++) {
        least = fmin(least, single(n % self.count, checked, &copy_s));
        least_copy = fmin(least_copy, copy_s);
        agrees = audit_agrees(per_call_s, least - self.least_trip_s - 3 * least_copy, MESSAGE(why));
        if (agrees && least > LONGEST_S)
            break;
    }
    if (!agrees)
        worker_abandon(self.worker, CELL_IMPLAUSIBLE, "%s", why);
}
