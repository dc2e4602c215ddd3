/*
 * tested_kernel: which variant a test program is to test; for the programs that run once per
 * variant of the registry (attnbench_kernel_test in CMakeLists.txt).  Include behind cmocka.h.
 */
#ifndef TESTS_TESTED_KERNEL_H
#define TESTS_TESTED_KERNEL_H

#include <stdio.h>
#include <string.h>

#include "judged_problem.h"

#define TESTED_SKIPPED 77 /* exit status, ctest's SKIP_RETURN_CODE */

static const struct attn_kernel *tested;

/* The variant named "kernel/isa".  Anything but 0 is the status to exit with. */
static inline int tested_choose(int argc, char **argv)
{
    size_t count;
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
    const char *why;
    if (!attn_load(tested, &why)) {
        printf("skipped: %s\n", why);
        return TESTED_SKIPPED;
    }
    return 0;
}

/* A problem in f32 becomes one in a type of 16 bits where the variant has those alone. */
static inline void tested_type(struct attn_problem *problem)
{
    const unsigned types = tested->caps.dtypes;
    if (problem->dtype != ATTN_F32 || types & 1u << ATTN_F32)
        return;
    if (problem->kv_dtype == problem->dtype)
        problem->kv_dtype = types & 1u << ATTN_BF16 ? ATTN_BF16 : ATTN_F16;
    problem->dtype = types & 1u << ATTN_BF16 ? ATTN_BF16 : ATTN_F16;
}

/* Operands of a problem in text form; rows padded, a guard page behind. */
static inline struct judged_problem *tested_open(const char *text)
{
    const struct tensors_layout layout = {.guard = TENSORS_GUARD_BACK, .row_padding = 3};
    struct attn_problem problem;
    struct parse_error error;
    if (!parse_problem(text, &problem, &error))
        fail_msg("%s: %s", text, error.message);
    tested_type(&problem);
    return judged_open(&problem, &layout);
}

static size_t tested_ran; /* problems of the running test that the kernel supports */

/* A test's setup. */
static inline int tested_start(void **state)
{
    (void)state;
    tested_ran = 0;
    return 0;
}

static inline bool tested_compare(struct judged_problem *t, int threads)
{
    if (!judged_run(t, tested, threads))
        return false;
    tested_ran++;
    judged_compare(t, tested);
    return true;
}

/* A test's last line: what ran nothing has shown nothing. */
static inline void tested_skip_unless_ran(void)
{
    if (tested_ran == 0) {
        print_message("%s supports none of these\n", tested->name);
        skip();
    }
}

#endif
