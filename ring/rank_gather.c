/*
 * rank_gather: gathers reports, CPUs, links and ceilings.
 */
#include "rank_gather.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "system/ceilings.h"
#include "system/task.h"

#define CPUS 1024 /* of a rank */
#define NAP_NS 100000

/* Ping-pong: round trips, bytes of the larger message, and the most links measured. */
#define TRIPS 50
#define LARGE_TRIPS 3
#define LARGE ((size_t)4 << 20)
#define LINKS 16

/* ---- reports --------------------------------------------------------------------------------- */

bool rank_all_right(const struct ring_ranks *ranks, const struct rank_report *mine, json_t *answer)
{
    const int count = ranks->count;
    double wrong = !mine->right;
    struct rank_report *reports = calloc((size_t)count, sizeof *reports);
    if (!reports)
        ring_abort(3);
    ring_gather(mine, sizeof *mine, reports);
    for (int r = count; ranks->rank == 0 && r-- > 0;)
        if (!reports[r].right) {
            char text[RANK_WHY + 32];
            snprintf(text, sizeof text, "rank %d: %s", r, reports[r].why);
            json_object_set_new(answer, "state",
                                json_string(reports[r].unsupported ? "unsupported" : "failed"));
            json_object_set_new(answer, "why", json_string(text));
        }
    free(reports);
    ring_largest(&wrong, 1);
    return wrong == 0;
}

/* ---- hosts and CPUs -------------------------------------------------------------------------- */

struct place {
    char host[64];
    int cpus[CPUS], count;
};

static int hosts = 1;

int rank_hosts(void)
{
    return hosts;
}

/* The number of different hosts. */
static int count_hosts(const struct place *all, int count)
{
    int different = 0;
    for (int r = 0; r < count; r++) {
        int same = 0;
        while (strcmp(all[same].host, all[r].host) != 0)
            same++;
        different += same == r;
    }
    return different;
}

void rank_say_places(const struct ring_ranks *ranks, const int *bound, int threads, json_t *answer)
{
    const int count = ranks->count;
    static struct place mine;
    struct place *all = calloc((size_t)count, sizeof *all);
    json_t *cpus = json_array();
    char library[RING_NAME];
    if (!all)
        ring_abort(3);
    gethostname(mine.host, sizeof mine.host - 1);
    mine.count = bound ? threads : (int)task_cpus_own(mine.cpus, CPUS);
    for (int t = 0; bound && t < threads && t < CPUS; t++)
        mine.cpus[t] = bound[t];
    ring_gather(&mine, sizeof mine, all);
    int here = 0;
    for (int r = 0; ranks->rank == 0 && r < count; r++) {
        if (strcmp(all[r].host, mine.host) != 0)
            continue;
        here++;
        for (int t = 0; t < all[r].count && t < CPUS; t++)
            json_array_append_new(cpus, json_integer(all[r].cpus[t]));
    }
    if (ranks->rank == 0)
        hosts = count_hosts(all, count);
    ring_library(library);
    json_object_set_new(answer, "threads", json_integer(here * threads));
    json_object_set_new(answer, "cpus", cpus);
    json_object_set_new(answer, "library", json_string(library));
    free(all);
}

/* ---- links ----------------------------------------------------------------------------------- */

/* Half of the shortest of `trips` round trips of `bytes` bytes between two ranks, in seconds; 0 on other
 * ranks. */
static double trip(const struct ring_ranks *ranks, char *memory, size_t bytes, int trips, int to,
                   int from)
{
    double least = INFINITY;
    const int rank = ranks->rank;
    for (int n = 0; n < trips && (rank == to || rank == from); n++) {
        const double start = clock_now();
        if (rank == from) {
            ring_send(memory, bytes, to);
            ring_receive(memory, bytes, to);
        } else {
            ring_receive(memory, bytes, from);
            ring_send(memory, bytes, from);
        }
        least = fmin(least, (clock_now() - start) / 2);
    }
    return rank == to || rank == from ? least : 0;
}

void rank_link(const struct ring_ranks *ranks, double *latency_s, double *gbytes_per_s)
{
    const int count = ranks->count, links = count < LINKS ? count : LINKS;
    char *memory = calloc(1, LARGE);
    double slowest[2] = {0}; /* seconds of an empty message, and of each further byte */
    if (!memory)
        ring_abort(3);
    for (int from = 0; count > 1 && from < links; from++) {
        const int to = (from + 1) % count;
        const double small = trip(ranks, memory, 1, TRIPS, to, from);
        const double large = trip(ranks, memory, LARGE, LARGE_TRIPS, to, from);
        const double each[2] = {small, (large - small) / LARGE};
        for (int i = 0; i < 2; i++)
            slowest[i] = fmax(slowest[i], each[i]);
        ring_barrier();
    }
    free(memory);
    ring_largest(slowest, 2);
    *latency_s = slowest[0];
    *gbytes_per_s = slowest[1] > 0 ? 1e-9 / slowest[1] : 0;
}

/* ---- ceilings -------------------------------------------------------------------------------- */

/* Whether this rank has its own cores.  Ranks that share cores would be measured in turn, each as if it were
 * alone, so one without its own cores sleeps while others measure. */
static bool has_cores(const struct ring_ranks *ranks, const struct machine *machine, int threads,
                      double seconds)
{
    const bool has = ranks->local == 0 || (ranks->local + 1) * threads <= machine_cores(machine);
    const double until = clock_now() + 2 * seconds;
    while (!has && clock_now() < until)
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    return has;
}

void rank_ceilings(const struct ring_ranks *ranks, const struct machine *machine, int threads,
                   const json_t *request, json_t *answer)
{
    enum attn_isa isa = ATTN_ISA_BASELINE;
    enum attn_dtype compute = ATTN_F32, dtype = ATTN_F32;
    const double seconds = json_number_value(json_object_get(request, "seconds"));
    const double bytes = json_number_value(json_object_get(request, "bytes"));
    attn_isa_parse(json_string_value(json_object_get(request, "isa")), &isa);
    attn_dtype_parse(json_string_value(json_object_get(request, "compute")), &compute);
    attn_dtype_parse(json_string_value(json_object_get(request, "dtype")), &dtype);
    double rates[3] = {0};
    ring_barrier();
    if (has_cores(ranks, machine, threads, bytes > 0 ? 3 * seconds : seconds)) {
        rates[0] = ceilings_fma(isa, compute, threads, seconds);
        if (bytes > 0) {
            const size_t share = (size_t)(bytes / ranks->count);
            rates[1] = ceilings_fma_host(dtype, threads, seconds);
            rates[2] = ceilings_read(ceilings_footprint(machine, share), threads, seconds);
        }
    }
    ring_sum(rates, 3);
    json_object_set_new(answer, "fma_gflops", json_real(rates[0]));
    json_object_set_new(answer, "fma_host_gflops", json_real(rates[1]));
    json_object_set_new(answer, "read_gbytes_per_s", json_real(rates[2]));
}
