/*
 * noting_kernel: a kernel that notes its calls and lasts as long as it is told, planned and with sets.
 *
 * Included after cmocka.h, with _GNU_SOURCE.
 */
#pragma once

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/bench.h"
#include "base/clock.h"

enum { SETS = 3, NOTES = 1 << 16 };

/* What the kernel under test has seen, call by call. */
static struct {
    const void *q[NOTES];
    bool poisoned[NOTES];
    size_t calls;
    double spin_s; /* each call lasts at least as long */
    size_t faults; /* each call touches so many new pages */
} seen;

static inline float *output(const struct attn_tensors *t)
{
    return t->o.data;
}

static inline void execute(const struct attn_plan *plan, const struct attn_tensors *t)
{
    (void)plan;
    const double start = clock_now();
    if (seen.calls < NOTES) {
        seen.q[seen.calls] = t->q.data;
        seen.poisoned[seen.calls] = isnan(output(t)[0]);
    }
    seen.calls++;
    output(t)[0] = (float)seen.calls;
    if (seen.faults > 0) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        char *pages = mmap(NULL, seen.faults * page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(pages, seen.faults * page, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < seen.faults; i++)
            pages[i * page] = 1;
        munmap(pages, seen.faults * page);
    }
    while (clock_now() - start < seen.spin_s)
        ;
}

static const struct attn_kernel kernel = {
    .size = sizeof kernel,
    .name = "noting",
    .isa = ATTN_ISA_BASELINE,
    .caps.size = sizeof kernel.caps,
    .caps.dtypes = 1u << ATTN_F32,
    .caps.outputs = ATTN_OUTPUT_O,
    .caps.forward = true,
    .execute = execute,
};

struct fixture {
    struct attn_plan plan;
    struct tensor_set sets[SETS];
};

static inline int set_up(void **state)
{
    static struct fixture fixture;
    static const struct tensors_layout layout = {.guard = TENSORS_TIMING};
    struct attn_problem problem;
    const char *why;
    char message[256];
    attn_problem_init(&problem);
    problem.qk_dim = problem.v_dim = 16;
    if (!attn_plan_init(&fixture.plan, &kernel, &problem, 1, NULL, 0, &why))
        return 1;
    for (int i = 0; i < SETS; i++)
        if (!tensors_alloc(&fixture.sets[i], &problem, &layout, MESSAGE(message)))
            return 1;
    memset(&seen, 0, sizeof seen);
    *state = &fixture;
    return 0;
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;
    for (int i = 0; i < SETS; i++)
        tensors_free(&f->sets[i]);
    return 0;
}
