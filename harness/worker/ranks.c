/*
 * ranks: starting them, and what is said to rank 0.
 */
#include "ranks.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "bench/disturbance.h"
#include "launch_ceilings.h"
#include "problem/exchange.h"
#include "problem/select.h"
#include "ranks_start.h"

#define START_S 60.0 /* until rank 0 has said something */

#define ALONE 3 /* times that the messages of a call are exchanged alone */

/* A worker has one kernel, and its execute no place for a context. */
static struct {
    struct worker *worker;
    struct attn_kernel kernel;
    struct conversation *talk;
    struct exchange *file;
    char prepared[PARSE_TEXT + 32]; /* the problem and threads that the ranks are bound to */
    char library[128];
    json_t *places;
    double workspace_bytes;
    struct tensor_set *sets; /* of a measurement */
    size_t count;
    /* what its calls took, added up: of each rank where it is an array */
    double calls, seconds, sent_bytes;
    double *computing_s, *waiting_s;
} ranks;

/* ---- requests -------------------------------------------------------------------------------- */

/* The answer in a line; anything but "ok" ends the launch. */
static json_t *read_answer(const char *line)
{
    json_error_t error;
    enum cell_state state = CELL_CRASHED;
    json_t *answer = json_loads(line, 0, &error);
    const bool said = cell_state_parse(json_string_value(json_object_get(answer, "state")), &state);
    const char *why = json_string_value(json_object_get(answer, "why"));
    if (!answer || !said)
        worker_give_up(ranks.worker, CELL_CRASHED, "rank 0 answers %.60s, which is no answer",
                       line);
    if (state == CELL_OK)
        return answer;
    char text[320];
    snprintf(text, sizeof text, "%s", why ? why : "the ranks give no reason");
    json_decref(answer);
    worker_abandon(ranks.worker, state, "%s", text);
}

/* Asks, or with NULL only listens; the request is used up. */
static json_t *ask(json_t *request, double deadline_s)
{
    const struct protocol_request *r = &ranks.worker->request;
    char why[320];
    const char *line;
    char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
    json_decref(request);
    if (request && !text)
        worker_abandon(ranks.worker, CELL_SKIPPED, "out of memory");
    const enum conversation_end end =
        conversation_ask(ranks.talk, text, deadline_s, &line, why, sizeof why);
    free(text);
    if (end == CONVERSATION_ANSWERED)
        return read_answer(line);
    worker_give_up(ranks.worker, end == CONVERSATION_LATE ? CELL_TIMEOUT : CELL_CRASHED,
                   "mpiexec with %d rank%s%s%s %s", r->ranks, r->ranks > 1 ? "s" : "",
                   *r->hostfile ? " on the hosts of " : "", r->hostfile, why);
}

static double deadline(double calls)
{
    return worker_call_deadline(ranks.worker, calls);
}

/* ---- starting -------------------------------------------------------------------------------- */

static void take_places(void)
{
    json_t *hello = ask(NULL, START_S);
    const char *library = json_string_value(json_object_get(hello, "library"));
    snprintf(ranks.library, sizeof ranks.library, "%s", library ? library : "");
    ranks.places = json_incref(json_object_get(hello, "places"));
    json_decref(hello);
    if (json_array_size(ranks.places) != (size_t)ranks.worker->request.ranks)
        worker_give_up(ranks.worker, CELL_CRASHED, "mpiexec started %zu ranks, not %d",
                       json_array_size(ranks.places), ranks.worker->request.ranks);
}

static void start(void)
{
    char why[512];
    if (!ranks.file && !(ranks.file = exchange_open(why, sizeof why)))
        worker_abandon(ranks.worker, CELL_SKIPPED, "%s", why);
    if (!(ranks.talk = ranks_start(ranks.worker, why, sizeof why)))
        worker_abandon(ranks.worker, CELL_CRASHED, "%s", why);
    take_places();
}

/* ---- problems -------------------------------------------------------------------------------- */

static json_t *offset_of(const struct attn_tensor *t)
{
    return t->data ? json_integer((const char *)t->data - (const char *)exchange_begin(ranks.file))
                   : json_null();
}

static json_t *offsets_of(size_t sets)
{
    json_t *all = json_array();
    for (size_t s = 0; s < sets; s++) {
        struct attn_tensors t = {0};
        exchange_tensors(ranks.file, s, &t);
        json_array_append_new(all, json_pack("[o, o, o, o, o]", offset_of(&t.q), offset_of(&t.k),
                                             offset_of(&t.v), offset_of(&t.o), offset_of(&t.lse)));
    }
    return all;
}

static json_t *file_json(void)
{
    struct process_file file = {0};
    process_file_known(exchange_file(ranks.file), &file);
    return json_pack("[I, I, I, I, I]", (json_int_t)file.pid, (json_int_t)file.fd,
                     (json_int_t)file.device, (json_int_t)file.inode, (json_int_t)file.bytes);
}

/* Binds the ranks to a problem with so many sets of operands. */
static void bind(const struct attn_problem *problem, int threads, size_t sets)
{
    const struct protocol_request *r = &ranks.worker->request;
    const bool timed = r->action == PROTOCOL_MEASURE;
    struct tensors_shape shape = exchange_widest(problem);
    char text[PARSE_TEXT], bound[sizeof ranks.prepared], why[256];
    parse_print_problem(problem, text);
    snprintf(bound, sizeof bound, "%d %zu %s", threads, sets, text);
    if (!ranks.talk)
        start();
    if (strcmp(bound, ranks.prepared) == 0)
        return;
    *ranks.prepared = 0;
    if (!exchange_arrange(ranks.file, problem, &shape, sets, timed ? r->shift : 0, why, sizeof why))
        worker_abandon(ranks.worker, CELL_SKIPPED, "%s", why);
    json_t *request = json_pack("{s:s, s:s, s:s, s:i, s:o, s:o}", "action", "prepare", "problem",
                                text, "isa", attn_isa_name(ranks.kernel.isa), "threads", threads,
                                "file", file_json(), "offsets", offsets_of(sets));
    json_t *answer = ask(request, deadline(0));
    ranks.workspace_bytes = json_number_value(json_object_get(answer, "workspace_bytes"));
    json_decref(answer);
    memcpy(ranks.prepared, bound, sizeof bound);
}

/* ---- the kernel ------------------------------------------------------------------------------ */

static size_t sets_of(const struct protocol_request *r)
{
    return r->action == PROTOCOL_MEASURE ? r->sets : 1;
}

static void prepare(struct attn_plan *plan)
{
    bind(&plan->problem, plan->threads, sets_of(&ranks.worker->request));
}

static void execute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    bind(&plan->problem, plan->threads, sets_of(&ranks.worker->request));
    exchange_give(ranks.file, 0, tensors);
    json_decref(ask(json_pack("{s:s, s:i}", "action", "execute", "set", 0), deadline(1)));
    exchange_take(ranks.file, 0, tensors);
}

static bool describe(struct worker *worker, enum cell_state *state, char *why, size_t why_size)
{
    (void)worker;
    *state = CELL_UNAVAILABLE;
    return ranks_available(why, why_size);
}

static const struct attn_kernel *open_kernel(struct worker *worker, char *why, size_t why_size)
{
    const struct attn_kernel *kernel = catalogue_find(worker->request.kernel, worker->request.isa);
    if (!ranks_available(why, why_size))
        return NULL;
    ranks.worker = worker;
    ranks.kernel = *kernel;
    ranks.kernel.library = NULL; /* it is there, in the ranks */
    ranks.kernel.prepare = prepare;
    ranks.kernel.execute = execute;
    return &ranks.kernel;
}

static void close_kernel(void)
{
    conversation_close(ranks.talk);
    exchange_close(ranks.file);
    json_decref(ranks.places);
    free(ranks.computing_s);
    free(ranks.waiting_s);
    ranks.talk = NULL;
    ranks.file = NULL;
}

/* ---- the clock ------------------------------------------------------------------------------- */

/* The operands of some sets to where each rank takes its part from. */
static void renew(size_t first, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const size_t set = (first + n) % ranks.count;
        exchange_give(ranks.file, set, &ranks.sets[set].tensors);
    }
    json_decref(ask(json_pack("{s:s}", "action", "take"), deadline(1)));
}

static void begin(struct worker *worker, const struct attn_plan *plan, struct tensor_set *sets,
                  size_t count)
{
    const size_t n = (size_t)worker->request.ranks;
    ranks.sets = sets;
    ranks.count = count;
    ranks.computing_s = calloc(n, sizeof *ranks.computing_s);
    ranks.waiting_s = calloc(n, sizeof *ranks.waiting_s);
    if (!ranks.computing_s || !ranks.waiting_s)
        worker_abandon(worker, CELL_SKIPPED, "out of memory");
    bind(&plan->problem, plan->threads, count);
    renew(0, count);
}

static void add_up(double *sums, const json_t *each)
{
    for (int r = 0; r < ranks.worker->request.ranks; r++)
        sums[r] += json_number_value(json_array_get(each, (size_t)r));
}

static double timed(void *context, size_t first, size_t calls)
{
    const size_t used = calls < ranks.count ? calls : ranks.count;
    (void)context;
    json_t *answer = ask(json_pack("{s:s, s:I, s:I}", "action", "measure", "first",
                                   (json_int_t)first, "calls", (json_int_t)calls),
                         deadline((double)calls));
    const double seconds = json_number_value(json_object_get(answer, "seconds"));
    ranks.calls += (double)calls;
    ranks.seconds += seconds;
    ranks.sent_bytes += json_number_value(json_object_get(answer, "sent_bytes"));
    add_up(ranks.computing_s, json_object_get(answer, "computing_s"));
    add_up(ranks.waiting_s, json_object_get(answer, "waiting_s"));
    json_decref(answer);
    for (size_t i = 0; i < used; i++) {
        const size_t set = (first + i) % ranks.count;
        exchange_take(ranks.file, set, &ranks.sets[set].tensors);
    }
    return seconds;
}

static void call(size_t set)
{
    timed(NULL, set, 1);
}

static json_t *ask_ceilings(double seconds, double bytes)
{
    const struct attn_problem *p = &ranks.worker->request.c.problem;
    return ask(json_pack("{s:s, s:s, s:s, s:s, s:f, s:f}", "action", "ceilings", "isa",
                         attn_isa_name(ranks.kernel.isa), "compute",
                         attn_dtype_name(attn_compute(&ranks.kernel, p)), "dtype",
                         attn_dtype_name(p->dtype), "seconds", seconds, "bytes", bytes),
               deadline(0));
}

static double probe(void *context, double seconds)
{
    (void)context;
    json_t *answer = ask_ceilings(seconds, 0);
    const double rate = json_number_value(json_object_get(answer, "fma_gflops"));
    json_decref(answer);
    return rate;
}

static json_t *ceilings(const struct worker *worker, const struct tensor_set *sets,
                        const struct bench_disturbance *disturbance, double median_s)
{
    (void)median_s;
    const double fma_gflops =
        (disturbance->probe_before_gflops + disturbance->probe_after_gflops) / 2;
    const double bytes = sets->work.bytes * (double)worker->request.sets;
    worker_stage("measuring ceilings");
    json_t *answer = ask_ceilings(LAUNCH_CEILINGS_S, bytes);
    const double host = json_number_value(json_object_get(answer, "fma_host_gflops"));
    json_t *rates = json_pack("{s:o, s:o, s:O}", "fma_gflops", number_json(fma_gflops),
                              "fma_host_gflops", number_json(fmax(fma_gflops, host)),
                              "read_gbytes_per_s", json_object_get(answer, "read_gbytes_per_s"));
    json_decref(answer);
    return rates;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static json_t *per_call(const double *sums)
{
    json_t *each = json_array();
    for (int r = 0; r < ranks.worker->request.ranks; r++)
        json_array_append_new(each, number_json(sums[r] / ranks.calls));
    return each;
}

static double mean(const double *sums)
{
    double sum = 0;
    for (int r = 0; r < ranks.worker->request.ranks; r++)
        sum += sums[r];
    return sum / ranks.worker->request.ranks / ranks.calls;
}

/* Seconds that the messages of a call take without the computation, the fastest of some; and what a ping-pong
 * beside them says of the slowest link. */
static double alone(double *latency_s, double *link_gbytes_per_s)
{
    double least = INFINITY;
    *latency_s = *link_gbytes_per_s = NAN;
    for (int n = 0; n < ALONE; n++) {
        json_t *answer =
            ask(json_pack("{s:s, s:i}", "action", "exchange", "calls", 1), deadline(1));
        const double latency = number_at(answer, NULL, "latency_s");
        *latency_s = fmin(*latency_s, latency); /* the first is not NaN, and fmin() takes it */
        *link_gbytes_per_s = fmax(*link_gbytes_per_s, number_at(answer, NULL, "link_gbytes_per_s"));
        least = fmin(least, json_number_value(json_object_get(answer, "seconds")));
        json_decref(answer);
    }
    return least;
}

static double least_sample_s(void)
{
    return 0;
}

/* Nobody else knows when the slowest rank has finished. */
static void judge(size_t calls, double per_call_s, struct check_result *checked)
{
    (void)calls, (void)per_call_s, (void)checked;
}

static void note_preparation(struct worker *worker, double prepare_s)
{
    json_object_set_new(worker->answer, "prepare_s", number_json(prepare_s));
    json_object_set_new(worker->answer, "library",
                        *ranks.library ? json_string(ranks.library) : json_null());
}

/* Where ranks ran, what they sent and waited for: the object "ring" of results/schema.json. */
static json_t *ring_answer(void)
{
    const bool several = ranks.worker->request.ranks > 1;
    double latency_s = NAN, link = NAN;
    const double exchange_s = several ? alone(&latency_s, &link) : NAN,
                 waiting_s = mean(ranks.waiting_s);
    const double overlap = several ? fmin(fmax(1 - waiting_s / exchange_s, 0), 1) : NAN;
    return json_pack("{s:o, s:o, s:O, s:f, s:o, s:o, s:o, s:o, s:o}", "latency_s",
                     number_json(latency_s), "link_gbytes_per_s", number_json(link), "places",
                     ranks.places, "sent_bytes", ranks.sent_bytes / ranks.calls, "waiting_s",
                     number_json(waiting_s), "exchange_s", number_json(exchange_s), "overlap",
                     number_json(overlap), "rank_computing_s", per_call(ranks.computing_s),
                     "rank_waiting_s", per_call(ranks.waiting_s));
}

/* The memory is that of all ranks together.  A rank that has left its place ends the launch. */
static void note_samples(struct worker *worker)
{
    json_object_set_new(worker->answer, "ring", ring_answer());
    json_t *placed = ask(json_pack("{s:s}", "action", "placed"), deadline(0));
    const double peak = json_number_value(json_object_get(placed, "peak_rss_bytes"));
    json_decref(placed);
    json_object_set_new(worker->answer, "workspace_bytes",
                        json_integer((json_int_t)ranks.workspace_bytes));
    json_object_set_new(worker->answer, "peak_rss_bytes", json_integer((json_int_t)peak));
}

const struct backend ranks_backend = {
    .describe = describe,
    .open = open_kernel,
    .close = close_kernel,
    .refuses = select_refusal,
    .begin = begin,
    .call = call,
    .renew = renew,
    .timed = timed,
    .probe = probe,
    .least_sample_s = least_sample_s,
    .judge = judge,
    .note_preparation = note_preparation,
    .note_samples = note_samples,
    .ceilings = ceilings,
};
