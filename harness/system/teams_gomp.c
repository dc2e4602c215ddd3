/*
 * teams_gomp: interposes libgomp's entry points, which GCC's code calls.
 *
 * The dynamic linker finds the program's definitions first, also for shared libraries; each one calls the
 * runtime's, the next in the search order.  A region's body is called by `listen`, which times each thread;
 * waits at barriers inside are subtracted.
 */
#include <dlfcn.h>
#include <omp.h>
#include <stdatomic.h>

#include "base/clock.h"
#include "teams.h"

/* libgomp's ABI, as GCC's libgomp_g.h declares it. */
typedef void body(void *data);
void GOMP_parallel(body *fn, void *data, unsigned threads, unsigned flags);
void GOMP_barrier(void);
void GOMP_loop_end(void);

/* Its entry points for parallel loops, GOMP_parallel_loop_SCHEDULE. */
#define LOOPS(F)                          \
    F(DYNAMIC, dynamic)                   \
    F(GUIDED, guided)                     \
    F(FREE_DYNAMIC, nonmonotonic_dynamic) \
    F(FREE_GUIDED, nonmonotonic_guided)

#define ENTRY(entry, schedule) entry,
enum entry { PARALLEL, LOOPS(ENTRY) BARRIER, LOOP_END, ENTRIES };
#undef ENTRY

/* The runtime's definition of an entry point. */
static void *next(enum entry entry)
{
    static const char *const names[ENTRIES] = {[PARALLEL] = "GOMP_parallel",
                                               [BARRIER] = "GOMP_barrier",
                                               [LOOP_END] = "GOMP_loop_end",
#define NAME(entry, schedule) [entry] = "GOMP_parallel_loop_" #schedule,
                                               LOOPS(NAME)
#undef NAME
    };
    static void *_Atomic found[ENTRIES];
    void *function = atomic_load_explicit(&found[entry], memory_order_relaxed);
    if (!function) {
        function = dlsym(RTLD_NEXT, names[entry]);
        atomic_store_explicit(&found[entry], function, memory_order_relaxed);
        teams_heard();
    }
    return function;
}

/* A region's body and its argument. */
struct listened {
    body *fn;
    void *data;
};

static void listen(void *data)
{
    const struct listened *to = data;
    const double start = clock_now();
    to->fn(to->data);
    teams_worked(omp_get_thread_num(), clock_now() - start);
}

/* Whether a region that begins here is recorded: an inner one counts as work of its thread. */
static bool outermost(void)
{
    return teams_recording() && omp_get_level() == 0;
}

void GOMP_parallel(body *fn, void *data, unsigned threads, unsigned flags)
{
    void (*const parallel)(body *, void *, unsigned, unsigned) = next(PARALLEL);
    if (!outermost()) {
        parallel(fn, data, threads, flags);
        return;
    }
    struct listened to = {fn, data};
    const double start = clock_now();
    parallel(listen, &to, threads, flags);
    teams_region(clock_now() - start);
}

/* Common to the entry points of parallel loops. */
static void parallel_loop(enum entry entry, struct listened to, unsigned threads,
                          const long loop[4], unsigned flags)
{
    void (*const parallel)(body *, void *, unsigned, long, long, long, long, unsigned) =
        next(entry);
    if (!outermost()) {
        parallel(to.fn, to.data, threads, loop[0], loop[1], loop[2], loop[3], flags);
        return;
    }
    const double start = clock_now();
    parallel(listen, &to, threads, loop[0], loop[1], loop[2], loop[3], flags);
    teams_region(clock_now() - start);
}

#define LOOP(entry, schedule)                                                              \
    void GOMP_parallel_loop_##schedule(body *fn, void *data, unsigned threads, long start, \
                                       long end, long step, long chunk, unsigned flags);   \
    void GOMP_parallel_loop_##schedule(body *fn, void *data, unsigned threads, long start, \
                                       long end, long step, long chunk, unsigned flags)    \
    {                                                                                      \
        parallel_loop(entry, (struct listened){fn, data}, threads,                         \
                      (const long[4]){start, end, step, chunk}, flags);                    \
    }
LOOPS(LOOP)
#undef LOOP

/* Waits at a barrier inside a region, and subtracts the time from the thread's work. */
static void wait_at(enum entry entry)
{
    void (*const wait)(void) = next(entry);
    const bool listening = teams_recording() && omp_get_level() == 1;
    const double start = listening ? clock_now() : 0;
    wait();
    if (listening)
        teams_worked(omp_get_thread_num(), start - clock_now());
}

void GOMP_barrier(void)
{
    wait_at(BARRIER);
}

void GOMP_loop_end(void)
{
    wait_at(LOOP_END);
}
