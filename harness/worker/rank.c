/*
 * rank: the program of one rank of kernel ring, which mpiexec starts so many times.
 *
 *     attnbench-rank PLACEMENT THREADS
 *
 * Rank 0 talks with the worker that has started them: requests come on its standard input, answers go to
 * its standard output, one line of JSON each.  It hands requests to the others, and all act together:
 *
 *   prepare   {"problem":TEXT, "isa":NAME, "threads":N, "file":[PID, FD, DEVICE, INODE, BYTES],
 *              "offsets":[[Q, K, V, O, LSE], ...]}  a set of operands each, bytes from the file's begin, null
 *             where absent
 *   execute   {"set":N}                 takes the operands from the file and puts the results there
 *   take      {}                        takes the operands of all sets
 *   measure   {"calls":N, "first":SET}  over the sets in rotation; then their results are in the file
 *   exchange  {"calls":N}               the messages of calls alone, and a ping-pong on each link
 *   ceilings  {"isa":NAME, "compute":TYPE, "dtype":TYPE, "seconds":S, "bytes":N}
 *   placed    {}                        whether each thread still is where it was bound to
 *
 * The first line that rank 0 writes says where the ranks are.  Ranks sleep while nothing is asked.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/progress.h"
#include "problem/parse.h"
#include "rank_part.h"
#include "rank_say.h"
#include "system/machine.h"

#define SPIN_S 0.002 /* a rank that hears nothing for so long begins to sleep between looks */
#define NAP_NS 100000
#define BATCH 256 /* calls whose times are compared at once */

static struct {
    struct ring_ranks ranks;
    struct machine *machine;
    enum placement placement;
    int threads; /* bound */
    FILE *answers;
    struct rank_part part;
    bool prepared;
} self;

/* ---- actions --------------------------------------------------------------------------------- */

/* Whether the ranks of this host have a core for each of their threads; how many there are is known here only,
 * as the user's MPI deals them out.  One thread each is always taken. */
static bool fits(json_t *answer)
{
    struct rank_report mine = {.right = true};
    const int room = machine_room(self.machine, self.placement), locals = self.ranks.locals;
    char host[64] = "";
    gethostname(host, sizeof host - 1);
    if (self.threads > 1 && locals * self.threads > room) {
        mine.right = false;
        snprintf(mine.why, sizeof mine.why, "%s has %d %s, too few for its %d rank%s of %d threads",
                 host, room, self.placement == PLACEMENT_THREADS ? "hardware threads" : "cores",
                 locals, locals > 1 ? "s" : "", self.threads);
    }
    if (rank_all_right(&self.ranks, &mine, answer))
        return true;
    json_object_set_new(answer, "state", json_string("unsupported"));
    return false;
}

static bool settle(json_t *answer)
{
    struct rank_report mine = {.right = false};
    self.machine = machine_open(NULL, mine.why, sizeof mine.why);
    mine.right = self.machine && machine_bind_share(self.machine, self.placement, self.ranks.local,
                                                    self.threads, mine.why, sizeof mine.why);
    if (!rank_all_right(&self.ranks, &mine, answer) || !fits(answer))
        return false;
    rank_say_places(&self.ranks, machine_bound(self.machine), self.threads, answer);
    return true;
}

static bool open_part(const json_t *request, char *why)
{
    struct parse_error error;
    const char *text = json_string_value(json_object_get(request, "problem"));
    const char *isa = json_string_value(json_object_get(request, "isa"));
    static struct attn_problem problem;
    struct ring_setting setting = {
        .problem = &problem,
        .threads = (int)json_integer_value(json_object_get(request, "threads")),
        .rank = self.ranks.rank,
        .ranks = self.ranks.count,
        .clock = clock_now,
    };
    if (text && parse_problem(text, &problem, &error) && isa && attn_isa_parse(isa, &setting.isa) &&
        attn_isa_available(setting.isa) && setting.threads >= 1)
        return rank_part_open(&self.part, request, &setting, why, RANK_WHY);
    snprintf(why, RANK_WHY, "this host does not compute %s in %s", text ? text : "that",
             isa ? isa : "any instruction set");
    return false;
}

static void prepare(const json_t *request, json_t *answer)
{
    struct rank_report mine = {.right = false};
    if (self.prepared)
        rank_part_close(&self.part);
    mine.right = open_part(request, mine.why);
    double bytes = (double)(mine.right ? ring_bytes(self.part.ring) : 0);
    self.prepared = true;
    if (!rank_all_right(&self.ranks, &mine, answer)) {
        rank_part_close(&self.part);
        self.prepared = false;
    }
    ring_sum(&bytes, 1);
    json_object_set_new(answer, "workspace_bytes", json_real(bytes));
}

static void take(const json_t *request, json_t *answer)
{
    (void)request, (void)answer;
    for (size_t s = 0; s < self.part.sets; s++)
        rank_part_take(&self.part, s);
}

static void execute(const json_t *request, json_t *answer)
{
    const size_t set = (size_t)json_integer_value(json_object_get(request, "set"));
    struct ring_times times = {0};
    (void)answer;
    const struct ring_operands operands = rank_part_operands(&self.part, set);
    rank_part_take(&self.part, set);
    rank_part_poison(&self.part, set);
    ring_execute(self.part.ring, &operands, &times);
    rank_part_give(&self.part, set);
}

/* What a loop of calls does. */
typedef void call(struct ring *ring, const struct ring_operands *operands,
                  struct ring_times *times);

/* Seconds of the calls, each as long as its slowest rank takes from one barrier on. */
static double loop(call *run, size_t first, size_t calls, struct ring_times *times)
{
    double seconds[BATCH], all = 0;
    for (size_t done = 0; done < calls;) {
        const size_t n = calls - done < BATCH ? calls - done : BATCH;
        for (size_t i = 0; i < n; i++) {
            const struct ring_operands operands =
                rank_part_operands(&self.part, (first + done + i) % self.part.sets);
            ring_barrier();
            const double start = clock_now();
            run(self.part.ring, &operands, times);
            seconds[i] = clock_now() - start;
        }
        ring_largest(seconds, n);
        for (size_t i = 0; i < n; i++)
            all += seconds[i];
        done += n;
    }
    return all;
}

static void say_loop(json_t *answer, double seconds, const struct ring_times *times)
{
    double sent = times->sent_bytes;
    ring_sum(&sent, 1);
    json_object_set_new(answer, "seconds", json_real(seconds));
    json_object_set_new(answer, "sent_bytes", json_real(sent));
    rank_say_each(&self.ranks, answer, "computing_s", times->computing_s);
    rank_say_each(&self.ranks, answer, "waiting_s", times->waiting_s);
}

static void measure(const json_t *request, json_t *answer)
{
    const size_t first = (size_t)json_integer_value(json_object_get(request, "first"));
    const size_t calls = (size_t)json_integer_value(json_object_get(request, "calls"));
    const size_t sets = self.part.sets, used = calls < sets ? calls : sets;
    struct ring_times times = {0};
    for (size_t i = 0; i < used; i++)
        rank_part_poison(&self.part, (first + i) % sets);
    const double seconds = loop(ring_execute, first, calls, &times);
    say_loop(answer, seconds, &times);
    for (size_t i = 0; i < used; i++)
        rank_part_give(&self.part, (first + i) % sets);
}

static void exchange(const json_t *request, json_t *answer)
{
    const size_t calls = (size_t)json_integer_value(json_object_get(request, "calls"));
    struct ring_times times = {0};
    const double seconds = loop(ring_exchange, 0, calls, &times);
    say_loop(answer, seconds, &times);
    rank_say_link(&self.ranks, answer);
}

static void ceilings(const json_t *request, json_t *answer)
{
    rank_ceilings(&self.ranks, self.machine, self.threads, request, answer);
}

static void placed(const json_t *request, json_t *answer)
{
    struct machine_usage usage;
    struct rank_report mine = {.right = machine_binding_holds(self.machine, self.threads)};
    (void)request;
    machine_usage(self.machine, &usage);
    double peak = (double)usage.peak_rss_bytes;
    ring_sum(&peak, 1);
    json_object_set_new(answer, "peak_rss_bytes", json_real(peak));
    snprintf(mine.why, sizeof mine.why, "a thread is not on the CPU that it was bound to");
    rank_all_right(&self.ranks, &mine, answer);
}

static const struct {
    const char *name;
    void (*act)(const json_t *request, json_t *answer);
    bool needs_problem;
} actions[] = {
    {"prepare", prepare, false}, {"execute", execute, true},   {"take", take, true},
    {"measure", measure, true},  {"exchange", exchange, true}, {"ceilings", ceilings, false},
    {"placed", placed, false},
};

/* By all ranks together; false: there is no such request. */
static bool act(const char *line, json_t *answer)
{
    json_error_t error;
    json_t *request = json_loads(line, 0, &error);
    const char *name = json_string_value(json_object_get(request, "action"));
    bool known = false;
    for (size_t i = 0; name && i < sizeof actions / sizeof *actions; i++)
        if (strcmp(actions[i].name, name) == 0 && (self.prepared || !actions[i].needs_problem)) {
            actions[i].act(request, answer);
            known = true;
        }
    json_decref(request);
    return known;
}

/* ---- requests -------------------------------------------------------------------------------- */

static json_t *blank(void)
{
    return json_pack("{s:s, s:n}", "state", "ok", "why");
}

/* Rank 0 alone writes it. */
static bool say(json_t *answer)
{
    bool written = true;
    if (self.ranks.rank == 0)
        written = json_dumpf(answer, self.answers, JSON_COMPACT) == 0 &&
                  fputc('\n', self.answers) != EOF && fflush(self.answers) == 0;
    json_decref(answer);
    return written;
}

/* The next request: of rank 0 from the worker, of others from rank 0.  "": there are no more. */
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

/* Standard output is for answers: what libraries print goes where errors go. */
static bool open_answers(void)
{
    const int fd = dup(STDOUT_FILENO);
    self.answers = fd >= 0 ? fdopen(fd, "w") : NULL;
    return self.answers && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0;
}

int main(int argc, char **argv)
{
    static char line[RING_LINE];
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* with the daemon that mpiexec has started it by */
    self.threads = argc == 3 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (self.threads < 1 || !machine_placement_parse(argv[1], &self.placement)) {
        progress_say("usage: attnbench-rank PLACEMENT THREADS; attnbench run --ranks starts it");
        return 2;
    }
    if (!open_answers() || !ring_start(&self.ranks))
        return 3;
    json_t *hello = blank();
    bool going = settle(hello);
    going = say(hello) && going;
    while (going) {
        listen(line);
        if (!*line)
            break;
        json_t *answer = blank();
        if (!act(line, answer)) {
            json_object_set_new(answer, "state", json_string("failed"));
            json_object_set_new(answer, "why", json_string("no such request"));
        }
        going = say(answer);
    }
    if (!going && *line)
        ring_abort(3);
    if (self.prepared)
        rank_part_close(&self.part);
    if (self.machine)
        machine_close(self.machine);
    ring_end();
    return 0;
}
