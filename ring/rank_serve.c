/*
 * rank_serve: executes requests, one after the other, by all ranks together.
 */
#include "rank_serve.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/message.h"
#include "problem/parse.h"
#include "rank_gather.h"
#include "rank_part.h"
#include "system/machine.h"

#define SPIN_S 0.002 /* a rank without a request for so long sleeps between polls */
#define NAP_NS 100000
#define ALONE 3 /* repeats of a call's messages without its computation */

static struct {
    struct ring_ranks ranks;
    struct machine *machine; /* NULL: no problem yet */
    bool bind;
    int threads; /* of each rank */
    FILE *answers;
    struct rank_part part;
    bool prepared;
    double workspace_bytes;                     /* of all ranks */
    double exchange_s, latency_s, gbytes_per_s; /* NaN: not measured yet */
} self;

/* ---- threads --------------------------------------------------------------------------------- */

/* Divides the requested threads evenly among the ranks on rank 0's host; a rank elsewhere has as many as
 * each. */
static bool share_threads(const json_t *request, struct rank_report *mine)
{
    const int threads = (int)json_integer_value(json_object_get(request, "threads"));
    double locals = self.ranks.rank == 0 ? self.ranks.locals : 0;
    ring_largest(&locals, 1);
    self.threads = threads / (int)locals;
    if (self.threads >= 1 && self.threads * (int)locals == threads)
        return true;
    mine->unsupported = true;
    return refuse(MESSAGE(mine->why), "%d thread%s cannot be shared evenly by %d rank%s", threads,
                  threads > 1 ? "s" : "", (int)locals, locals > 1 ? "s" : "");
}

/* Binds this rank's threads to neighbouring CPUs, on as many cores as possible. */
static bool bind_threads(struct rank_report *mine)
{
    const int all = self.ranks.locals * self.threads;
    const enum placement placement =
        machine_room(self.machine, PLACEMENT_CORES) >= all ? PLACEMENT_CORES : PLACEMENT_THREADS;
    char host[64] = "";
    if (!self.bind || self.threads == 1 || machine_room(self.machine, placement) >= all)
        return !self.bind || machine_bind_share(self.machine, placement, self.ranks.local,
                                                self.threads, MESSAGE(mine->why));
    gethostname(host, sizeof host - 1);
    mine->unsupported = true;
    return refuse(MESSAGE(mine->why), "%s has too few cores for its %d ranks of %d threads", host,
                  self.ranks.locals, self.threads);
}

static bool settle(const json_t *request, json_t *answer)
{
    struct rank_report mine = {.right = false};
    mine.right = share_threads(request, &mine) &&
                 (self.machine = machine_open(NULL, MESSAGE(mine.why))) && bind_threads(&mine);
    if (rank_all_right(&self.ranks, &mine, answer))
        return true;
    if (self.machine)
        machine_close(self.machine);
    self.machine = NULL;
    return false;
}

/* ---- problems -------------------------------------------------------------------------------- */

static bool open_part(const json_t *request, struct rank_report *mine)
{
    struct parse_error error;
    const char *text = json_string_value(json_object_get(request, "problem"));
    const char *isa = json_string_value(json_object_get(request, "isa"));
    static struct attn_problem problem;
    struct ring_setting setting = {
        .problem = &problem,
        .threads = self.threads,
        .rank = self.ranks.rank,
        .ranks = self.ranks.count,
        .clock = clock_now,
    };
    if (text && parse_problem(text, &problem, &error) && isa && attn_isa_parse(isa, &setting.isa) &&
        attn_isa_available(setting.isa))
        return rank_part_open(&self.part, request, &setting, mine);
    return refuse(MESSAGE(mine->why), "this host does not compute %s in %s", text ? text : "that",
                  isa ? isa : "any instruction set");
}

static void release(const json_t *request, json_t *answer)
{
    (void)request, (void)answer;
    if (self.prepared)
        rank_part_close(&self.part);
    self.prepared = false;
}

static void prepare(const json_t *request, json_t *answer)
{
    struct rank_report mine = {.right = false};
    release(request, answer);
    if (!self.machine && !settle(request, answer))
        return;
    mine.right = open_part(request, &mine);
    self.workspace_bytes = (double)(mine.right ? ring_bytes(self.part.ring) : 0);
    self.exchange_s = self.latency_s = self.gbytes_per_s = NAN;
    self.prepared = rank_all_right(&self.ranks, &mine, answer);
    if (!self.prepared)
        rank_part_close(&self.part);
    ring_sum(&self.workspace_bytes, 1);
    rank_say_places(&self.ranks, self.bind ? machine_bound(self.machine) : NULL, self.threads,
                    answer);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void load_changed(const json_t *request)
{
    if (json_is_true(json_object_get(request, "changed")))
        for (size_t s = 0; s < self.part.sets; s++)
            rank_part_load(&self.part, s);
}

static void execute(const json_t *request, json_t *answer)
{
    const size_t set = (size_t)json_integer_value(json_object_get(request, "set"));
    struct ring_times times = {0};
    (void)answer;
    const struct ring_operands operands = rank_part_operands(&self.part, set);
    load_changed(request);
    rank_part_poison(&self.part, set);
    ring_execute(self.part.ring, &operands, &times);
    rank_part_store(&self.part, set);
}

/* A call of a loop. */
typedef void call(struct ring *ring, const struct ring_operands *operands,
                  struct ring_times *times);

/* Seconds of `calls` calls, each from a barrier on, so that the slowest rank determines its time. */
static double loop(call *run, size_t first, size_t calls, struct ring_times *times)
{
    ring_barrier();
    const double start = clock_now();
    for (size_t n = 0; n < calls; n++) {
        const struct ring_operands operands =
            rank_part_operands(&self.part, (first + n) % self.part.sets);
        run(self.part.ring, &operands, times);
        ring_barrier();
    }
    return calls ? clock_now() - start : 0;
}

/* Measures the messages of a call without its computation, the fastest of some repeats, and the slowest
 * link. */
static void exchange_alone(void)
{
    self.exchange_s = INFINITY;
    self.latency_s = INFINITY;
    self.gbytes_per_s = 0;
    for (int n = 0; n < ALONE; n++) {
        struct ring_times times = {0};
        double latency_s, gbytes_per_s;
        self.exchange_s = fmin(self.exchange_s, loop(ring_exchange, 0, 1, &times));
        rank_link(&self.ranks, &latency_s, &gbytes_per_s);
        self.latency_s = fmin(self.latency_s, latency_s);
        self.gbytes_per_s = fmax(self.gbytes_per_s, gbytes_per_s);
    }
}

/* "extra" of the answer: times and bytes sent per call. */
static void say_extra(const struct ring_times *times, double calls, json_t *answer)
{
    struct machine_usage usage;
    machine_usage(self.machine, &usage);
    double sums[] = {times->sent_bytes, times->computing_s, times->waiting_s,
                     (double)usage.peak_rss_bytes};
    double slowest_s = times->computing_s;
    ring_sum(sums, sizeof sums / sizeof *sums);
    ring_largest(&slowest_s, 1);
    const double count = self.ranks.count, waiting_s = sums[2] / count / calls;
    json_t *extra =
        json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "ranks", count, "hosts",
                  (double)rank_hosts(), "sent_bytes", sums[0] / calls, "computing_s",
                  sums[1] / count / calls, "slowest_computing_s", slowest_s / calls, "waiting_s",
                  waiting_s, "workspace_bytes", self.workspace_bytes, "peak_bytes", sums[3]);
    if (isfinite(self.exchange_s)) {
        const double overlap = fmin(fmax(1 - waiting_s / self.exchange_s, 0), 1);
        json_object_update_new(extra,
                               json_pack("{s:f, s:f, s:f, s:f}", "exchange_s", self.exchange_s,
                                         "overlap", overlap, "latency_s", self.latency_s,
                                         "link_gbytes_per_s", self.gbytes_per_s));
    }
    json_object_set_new(answer, "extra", extra);
}

static void measure(const json_t *request, json_t *answer)
{
    const size_t first = (size_t)json_integer_value(json_object_get(request, "first"));
    const size_t calls = (size_t)json_integer_value(json_object_get(request, "calls"));
    const size_t sets = self.part.sets, used = calls < sets ? calls : sets;
    struct ring_times times = {0};
    load_changed(request);
    if (!calls && isnan(self.exchange_s) && self.ranks.count > 1)
        exchange_alone(); /* once, before timing */
    for (size_t i = 0; i < used; i++)
        rank_part_poison(&self.part, (first + i) % sets);
    const double seconds = loop(ring_execute, first, calls, &times);
    json_object_set_new(answer, "seconds", json_real(seconds));
    if (calls)
        say_extra(&times, (double)calls, answer);
    for (size_t i = 0; i < used; i++)
        rank_part_store(&self.part, (first + i) % sets);
}

/* Measures ceilings.  A request with bytes comes after the samples, which moved threads would make worthless,
 * so bindings are verified then. */
static void ceilings(const json_t *request, json_t *answer)
{
    struct rank_report mine = {.right = true};
    if (self.bind && json_number_value(json_object_get(request, "bytes")) > 0)
        mine.right = machine_binding_holds(self.machine, self.threads);
    snprintf(mine.why, sizeof mine.why, "a thread is not on the CPU that it was bound to");
    if (rank_all_right(&self.ranks, &mine, answer))
        rank_ceilings(&self.ranks, self.machine, self.threads, request, answer);
}

/* ---- requests -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*act)(const json_t *request, json_t *answer);
    bool needs_problem;
} actions[] = {
    {"prepare", prepare, false}, {"execute", execute, true},   {"measure", measure, true},
    {"release", release, false}, {"ceilings", ceilings, true},
};

/* Executes a request, by all ranks together. */
static json_t *act(const char *line)
{
    json_error_t error;
    json_t *request = json_loads(line, 0, &error);
    json_t *answer = json_pack("{s:i, s:s, s:n}", "protocol", 1, "state", "ok", "why");
    const char *name = json_string_value(json_object_get(request, "action"));
    bool known = false;
    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0 && (self.prepared || !actions[i].needs_problem)) {
            actions[i].act(request, answer);
            known = true;
        }
    if (!known) {
        json_object_set_new(answer, "state", json_string("failed"));
        json_object_set_new(answer, "why", json_string("no such request, or none before it"));
    }
    json_decref(request);
    return answer;
}

/* Writes the answer, on rank 0. */
static bool say(json_t *answer)
{
    bool written = true;
    if (self.ranks.rank == 0)
        written = json_dumpf(answer, self.answers, JSON_COMPACT) == 0 &&
                  fputc('\n', self.answers) != EOF && fflush(self.answers) == 0;
    json_decref(answer);
    return written;
}

/* Waits for the next request, rank 0 on standard input, others from rank 0; "": there are no more. */
static void listen(char line[RING_LINE])
{
    if (self.ranks.rank == 0) {
        if (!fgets(line, RING_LINE, stdin))
            *line = 0;
        ring_tell(line, self.ranks.count);
        return;
    }
    const double start = clock_now();
    while (!ring_hear(line))
        if (clock_now() - start > SPIN_S)
            nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

/* Keeps standard output for answers, and redirects the output of libraries to standard error. */
static bool open_answers(void)
{
    const int fd = dup(STDOUT_FILENO);
    self.answers = fd >= 0 ? fdopen(fd, "w") : NULL;
    return self.answers && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

int rank_serve(bool bound)
{
    static char line[RING_LINE];
    bool going = true;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with mpiexec's daemon, its parent */
    self.bind = bound;
    if (!open_answers() || !ring_start(&self.ranks))
        return 3;
    while (going) {
        listen(line);
        if (!*line)
            break;
        going = say(act(line));
    }
    if (!going)
        ring_abort(3);
    release(NULL, NULL);
    if (self.machine)
        machine_close(self.machine);
    ring_end();
    return 0;
}
