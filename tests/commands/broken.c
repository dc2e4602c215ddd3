/*
 * broken: one kernel per way to go down, each of which may cost its own cell and nothing else.
 */
#define _GNU_SOURCE
#include "broken.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "system/fault.h"

/* What a working kernel would have done. */
static void compute(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    attn_find("naive", ATTN_ISA_BASELINE)->execute(plan, tensors);
}

static size_t scratch(const struct attn_problem *problem, int threads)
{
    return attn_workspace_size(attn_find("naive", ATTN_ISA_BASELINE), problem, threads);
}

static void crash(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    raise(SIGSEGV);
}

static void give_up(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    raise(SIGABRT);
}

static void hang(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    for (;;)
        pause();
}

static void leave(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    (void)plan, (void)tensors;
    _exit(0);
}

/* Prints something like a result where results go. */
static void chatter(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    static bool printed;
    if (!printed)
        printf("{\"type\":\"cell\",\"nonsense\":true}\n\x1b[2J\n");
    printed = true;
    (void)fflush(stdout);
    compute(plan, tensors);
}

/* Whether samples are being taken, and not checks. */
static bool sampled(void)
{
    char stage[16];
    fault_told(stage, sizeof stage);
    return strcmp(stage, "sampling") == 0;
}

/* Right, until samples are taken. */
static void crash_later(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    compute(plan, tensors);
    if (sampled())
        raise(SIGFPE);
}

/* Zeros, which every reference tells from attention. */
static void answer_zero(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                memset(attn_row(&tensors->o, b, h, i), 0, p->v_dim * sizeof(float));
}

/* What it computed while samples were taken, with the first row of V, for the operands at an address: of
 * one head, as a test asks for.  Of columns of V that are negated since then, those of O are. */
static void remember(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    enum { PLACES = 64, COLUMNS = 64 };
    static struct {
        const void *q;
        float v[COLUMNS], *o;
    } memory[PLACES];
    const struct attn_problem *p = &plan->problem;
    const size_t columns = p->v_dim, n = p->q_len * columns;
    const float *v = tensors->v.data;
    float *o = tensors->o.data, sign[COLUMNS];
    size_t place = 0;
    while (place < PLACES && memory[place].q && memory[place].q != tensors->q.data)
        place++;
    if (!sampled() || place == PLACES || columns != COLUMNS) {
        compute(plan, tensors);
    } else if (!memory[place].q) {
        compute(plan, tensors);
        memory[place].q = tensors->q.data;
        memory[place].o = malloc(n * sizeof *o);
        memcpy(memory[place].o, o, n * sizeof *o);
        memcpy(memory[place].v, v, sizeof memory[place].v);
    } else {
        for (size_t d = 0; d < COLUMNS; d++)
            sign[d] = v[d] == memory[place].v[d] ? 1 : -1;
        for (size_t at = 0; at < n; at++)
            o[at] = sign[at % COLUMNS] * memory[place].o[at];
    }
}

static size_t everything(const struct attn_problem *problem, int threads)
{
    (void)problem, (void)threads;
    return (size_t)1 << 60;
}

/* One element too many. */
static void overrun(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const struct attn_problem *p = &plan->problem;
    compute(plan, tensors);
    float *last = attn_row(&tensors->o, p->batch - 1, p->q_heads - 1, p->q_len - 1);
    ((volatile float *)last)[p->v_dim] = 0;
}

/* Whether the file ATTNBENCH_TEST_HOLD is there, and the results file that it names in its first line
 * has the text of its second one. */
static bool held(void)
{
    const char *name = getenv("ATTNBENCH_TEST_HOLD");
    char path[1024] = "", text[64] = "", line[8192];
    FILE *hold = name ? fopen(name, "r") : NULL;
    if (!hold || !fgets(path, sizeof path, hold) || !fgets(text, sizeof text, hold))
        *path = 0;
    if (hold)
        fclose(hold);
    path[strcspn(path, "\n")] = text[strcspn(text, "\n")] = 0;
    FILE *results = *path ? fopen(path, "r") : NULL;
    bool found = false;
    while (results && !found && fgets(line, sizeof line, results))
        found = strstr(line, text);
    if (results)
        fclose(results);
    return found;
}

/* Slower than its arithmetic, so that a session takes a while: as long as a test wants. */
static void dawdle(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    while (held())
        usleep(5000);
    const double until = clock_now() + 0.005;
    compute(plan, tensors);
    while (clock_now() < until)
        usleep(100); /* tests run beside it */
}

#define BROKEN(id, function, scratch_size)          \
    static const struct attn_kernel broken_##id = { \
        .size = sizeof(struct attn_kernel),         \
        .name = "broken_" #id,                      \
        .summary = "for tests",                     \
        .source = "tests/commands/broken.c",        \
        .isa = ATTN_ISA_BASELINE,                   \
        .caps = {.size = sizeof(struct attn_caps),  \
                 .dtypes = 1u << ATTN_F32,          \
                 .outputs = ATTN_OUTPUT_O,          \
                 .forward = true},                  \
        .workspace_size = scratch_size,             \
        .execute = function,                        \
    }

BROKEN(crash, crash, scratch);
BROKEN(abort, give_up, scratch);
BROKEN(hang, hang, scratch);
BROKEN(exit, leave, scratch);
BROKEN(chatty, chatter, scratch);
BROKEN(late, crash_later, scratch);
BROKEN(zero, answer_zero, scratch);
BROKEN(cheat, remember, scratch);
BROKEN(hungry, compute, everything);
BROKEN(overrun, overrun, scratch);
BROKEN(slow, dawdle, scratch);

const struct attn_kernel *const broken_kernels[] = {
    &broken_crash, &broken_abort, &broken_hang,   &broken_exit, &broken_chatty,  &broken_late,
    &broken_zero,  &broken_cheat, &broken_hungry, &broken_slow, &broken_overrun,
};
const size_t broken_count = sizeof broken_kernels / sizeof *broken_kernels;
