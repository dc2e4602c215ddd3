#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/timed.h"
#include "tested.h"

const struct attn_kernel *tested;
size_t tested_ran;

/* ---- the variant -------------------------------------------------------------------------------- */

int tested_choose(int argc, char **argv)
{
    size_t count;
    const char *why;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t i = 0; argc == 2 && i < count; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s/%s", kernels[i]->name, attn_isa_name(kernels[i]->isa));
        if (strcmp(name, argv[1]) == 0)
            tested = kernels[i];
    }
    if (!tested) {
        fprintf(stderr, "usage: %s KERNEL/ISA, a variant of this build\n", argv[0]);
        return 2;
    }
    if (!attn_isa_available(tested->isa)) {
        printf("skipped: this host lacks %s\n", attn_isa_name(tested->isa));
        return TESTED_SKIPPED;
    }
    if (!attn_load(tested, &why)) {
        printf("skipped: %s\n", why);
        return TESTED_SKIPPED;
    }
    return 0;
}

int tested_start(void **state)
{
    (void)state;
    tested_ran = 0;
    return 0;
}

void tested_skip_unless_ran(void)
{
    if (tested_ran == 0) {
        print_message("%s supports none of these\n", tested->name);
        skip();
    }
}

bool tested_is_fast(void)
{
    return strcmp(tested->name, "flash") == 0 || strcmp(tested->name, "split_kv") == 0;
}

void tested_type(struct attn_problem *problem)
{
    static const enum attn_dtype types[] = {ATTN_F32, ATTN_BF16, ATTN_F16};
    const unsigned has = tested->caps.dtypes;
    for (size_t n = 0; n < 3 && !(has & 1u << problem->dtype); n++)
        if (has & 1u << types[n]) {
            if (problem->kv_dtype == problem->dtype)
                problem->kv_dtype = types[n];
            problem->dtype = types[n];
        }
}

/* ---- operands ----------------------------------------------------------------------------------- */

struct operands operands_open(const struct attn_problem *problem, size_t row_padding)
{
    const struct tensors_layout layout = {.guard = TENSORS_GUARD_BACK, .row_padding = row_padding};
    const struct problem_case c = {.problem = *problem, .input.seed = 1};
    struct operands operands = {.problem = *problem};
    char message[256];
    if (!tensors_alloc(&operands.set, problem, &layout, MESSAGE(message)) ||
        !tensors_fill(&operands.set, &c, 0, MESSAGE(message)))
        fail_msg("%s", message);
    return operands;
}

struct operands operands_of(const char *text)
{
    struct attn_problem problem;
    struct parse_error error;
    if (!parse_problem(text, &problem, &error))
        fail_msg("%s: %s", text, error.message);
    if (tested)
        tested_type(&problem);
    return operands_open(&problem, 3);
}

void operands_close(struct operands *operands)
{
    tensors_free(&operands->set);
}

/* ---- a call ------------------------------------------------------------------------------------- */

#define CANARY 0x5a

/* A workspace of NaN, as nobody may count on zeros, between two canaries; NULL without memory. */
static unsigned char *lend(size_t bytes)
{
    const size_t align = ATTN_WORKSPACE_ALIGN, room = (bytes + 3 * align) / align * align;
    unsigned char *memory = aligned_alloc(align, room);
    assert_non_null(memory);
    memset(memory, CANARY, room);
    memset(memory + align, 0xff, bytes);
    return memory;
}

static void take_back(unsigned char *memory, size_t bytes)
{
    for (size_t i = 0; i < ATTN_WORKSPACE_ALIGN; i++)
        if (memory[i] != CANARY || memory[ATTN_WORKSPACE_ALIGN + bytes + i] != CANARY)
            fail_msg("memory around a workspace of %zu bytes was written", bytes);
    free(memory);
}

/* A plan in such a workspace; false where a library refuses. */
static bool open_plan(struct attn_plan *plan, const struct attn_kernel *kernel,
                      const struct attn_problem *p, int threads, unsigned char *lent, size_t bytes)
{
    const char *why;
    *plan = (struct attn_plan){.refusal = NULL};
    if (attn_plan_init(plan, kernel, p, threads, lent + ATTN_WORKSPACE_ALIGN, bytes, &why))
        return true;
    if (!plan->refusal)
        fail_msg("%s/%s: %s", kernel->name, attn_isa_name(kernel->isa), why);
    return false;
}

/* Calls the kernel, unless `tensors` is NULL. */
static bool call(const struct attn_kernel *kernel, const struct attn_problem *p,
                 const struct attn_tensors *tensors, int threads)
{
    struct attn_plan plan;
    const char *why;
    if (!p->outputs || !attn_supports(kernel, p, &why))
        return false;
    const size_t bytes = attn_workspace_size(kernel, p, threads);
    unsigned char *lent = lend(bytes);
    const bool ready = open_plan(&plan, kernel, p, threads, lent, bytes);
    if (ready && tensors)
        attn_execute(&plan, tensors);
    if (ready)
        attn_plan_destroy(&plan);
    take_back(lent, bytes);
    return ready;
}

bool tested_computes(const struct attn_kernel *kernel, const struct attn_problem *problem,
                     int threads)
{
    return call(kernel, problem, NULL, threads);
}

unsigned tested_call(const struct attn_kernel *kernel, const struct attn_problem *problem,
                     const struct attn_tensors *tensors, int threads)
{
    struct attn_problem p = *problem;
    struct attn_tensors t = *tensors;
    struct attn_tensor *const results[] = {&t.o, &t.lse, &t.weights};
    p.outputs &= kernel->caps.outputs;
    for (unsigned i = 0; i < 3; i++)
        if (!(p.outputs & 1u << i))
            results[i]->data = NULL;
    return call(kernel, &p, &t, threads) ? p.outputs : 0;
}

unsigned operands_call(struct operands *operands, const struct attn_kernel *kernel, int threads)
{
    tensors_poison(&operands->set, &operands->problem);
    return tested_call(kernel, &operands->problem, &operands->set.tensors, threads);
}

void tested_judge(const struct attn_kernel *kernel, const struct attn_problem *problem,
                  const struct attn_tensors *tensors, unsigned outputs)
{
    struct check_result result = {.ok = true};
    struct attn_problem p = *problem;
    char text[PARSE_TEXT];
    p.outputs = outputs;
    parse_print_problem(&p, text);
    if (!timed_rows(kernel, &p, tensors, SIZE_MAX, 0, &result))
        fail_msg("%s/%s: %s: %s", kernel->name, attn_isa_name(kernel->isa), result.why, text);
}
