/*
 * ceilings_memory: rates of reading and copying memory.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "ceilings.h"
#include "probe.h"
#include "rate.h"

/* A probe, and the memory that threads read or copy with it. */
struct job {
    const struct probe *probe;
    char *half[2];                  /* the two streams: target and source */
    size_t bytes;                   /* of each */
    const struct ceilings_kv *sets; /* pairs of streams to read, one after the other */
    size_t count;
    double (*read)(const void *a, const void *b, size_t n, uint32_t *sink);
    double (*copy)(void *to, const void *from, size_t n);
};

#define BLOCK ((size_t)1024) /* bytes; the probes take multiples of it */

/* A thread's share of n bytes, in whole blocks, and its offset. */
static size_t share(size_t n, int thread, int threads, size_t *from)
{
    const size_t blocks = n / BLOCK, t = (size_t)thread, all = (size_t)threads;
    *from = blocks * t / all * BLOCK;
    return blocks * (t + 1) / all * BLOCK - *from;
}

/* Each thread reads the same part of both streams, one set after the other. */
static double run_read(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    double work = 0;
    for (size_t i = 0; i < amount * job->count; i++) {
        const struct ceilings_kv *set = &job->sets[i % job->count];
        size_t from;
        const size_t n = share(set->bytes, thread, threads, &from);
        uint32_t sink;
        work += job->read((const char *)set->k + from, (const char *)set->v + from, n, &sink);
        rate_consume(sink);
    }
    return work;
}

static double run_copy(const void *context, size_t amount, int thread, int threads)
{
    const struct job *job = context;
    size_t from;
    const size_t n = share(job->bytes, thread, threads, &from);
    double work = 0;
    for (size_t pass = 0; pass < amount; pass++) {
        work += job->copy(job->half[0] + from, job->half[1] + from, n);
        rate_consume(job->half[0][from]);
    }
    return work;
}

/* Bytes of half a footprint, so that each thread has a block of each half. */
static size_t half_footprint(size_t bytes, int threads)
{
    const size_t unit = BLOCK * (size_t)threads;
    return bytes / 2 < unit ? unit : bytes / 2 / unit * unit;
}

/* Memory for the largest footprint so far, kept until the process ends: touching a page for the first time
 * can cost 10 us.  Each thread touches its own share first, on huge pages if possible. */
static char *room(size_t bytes, int threads)
{
    static char *memory;
    static size_t size;
    enum { GUARD = 1 << 16 }; /* bytes; prefetches run past the end */
    if (size >= bytes)
        return memory;
    if (memory)
        munmap(memory, size + GUARD);
    size = 0;
    memory = mmap(NULL, bytes + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        memory = NULL;
        return NULL;
    }
    size = bytes;
    machine_huge_pages(memory, bytes);
#pragma omp parallel num_threads(threads)
    {
        size_t from;
        const size_t n = share(bytes / 2, omp_get_thread_num(), omp_get_num_threads(), &from);
        memset(memory + from, 1, n);
        memset(memory + bytes / 2 + from, 2, n);
    }
    return memory;
}

static bool find_room(struct job *job, size_t bytes, int threads)
{
    job->bytes = half_footprint(bytes, threads);
    job->half[0] = room(2 * job->bytes, threads);
    job->half[1] = job->half[0] + job->bytes;
    return job->half[0] != NULL;
}

static double read_rate(const struct job *job, int threads, double seconds)
{
    struct job plain = *job, ahead = *job, touched = *job;
    const void *const ways[] = {&plain, &ahead, &touched};
    plain.read = job->probe->read;
    ahead.read = job->probe->read_ahead;
    touched.read = job->probe->read_touched;
    return rate_together(run_read, ways, 3, threads, seconds) * 1e-9;
}

double ceilings_read(size_t bytes, int threads, double seconds)
{
    struct job job = {.probe = ceilings_widest(), .count = 1};
    if (!find_room(&job, bytes, threads))
        return 0;
    const struct ceilings_kv halves = {job.half[0], job.half[1], job.bytes};
    job.sets = &halves;
    return read_rate(&job, threads, seconds);
}

double ceilings_read_operands(const struct ceilings_kv *sets, size_t count, int threads,
                              double seconds)
{
    struct job job = {.probe = ceilings_widest(), .sets = sets, .count = count};
    for (size_t i = 0; i < count; i++)
        if (sets[i].bytes / (size_t)threads < BLOCK)
            return 0;
    return count ? read_rate(&job, threads, seconds) : 0;
}

double ceilings_read_once(const void *k, const void *v, size_t bytes)
{
    uint32_t sink;
    if (bytes < BLOCK)
        return NAN;
    const double start = clock_now();
    ceilings_widest()->read(k, v, bytes / BLOCK * BLOCK, &sink);
    rate_consume(sink);
    return clock_now() - start;
}

double ceilings_copy(size_t bytes, int threads, double seconds)
{
    struct job job = {.probe = ceilings_widest()};
    if (!find_room(&job, bytes, threads))
        return 0;
    struct job stream = job;
    const void *const ways[] = {&job, &stream};
    job.copy = job.probe->copy;
    stream.copy = job.probe->stream;
    return rate_together(run_copy, ways, 2, threads, seconds) * 1e-9;
}

size_t ceilings_footprint(const struct machine *machine, size_t bytes)
{
    static const size_t unknown = (size_t)64 << 20; /* if the cache size is unknown */
    const size_t cache = machine_last_level_bytes(machine);
    const size_t enough = 4 * (cache > 0 ? cache : unknown);
    return bytes < enough ? bytes : enough;
}
