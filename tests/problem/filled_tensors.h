/*
 * filled_tensors: a case from its texts, and its operands and results in memory.
 *
 * Included after cmocka.h.
 */
#pragma once

#include "problem/tensors.h"

static inline struct problem_case case_of(const char *problem, const char *input)
{
    struct problem_case c = {.name = "test"};
    struct parse_error error;
    if (!parse_problem(problem, &c.problem, &error) ||
        !parse_input_for(input, &c.problem, &c.input, &error))
        fail_msg("%s %s: %s", problem, input, error.message);
    return c;
}

static inline struct attn_problem problem_of(const char *text)
{
    return case_of(text, "normal:1").problem;
}

static inline struct tensor_set allocated(const struct attn_problem *problem,
                                          struct tensors_layout layout)
{
    struct tensor_set set;
    char message[256];
    if (!tensors_alloc(&set, problem, &layout, MESSAGE(message)))
        fail_msg("%s", message);
    return set;
}

static inline struct tensor_set filled(const struct problem_case *c, struct tensors_layout layout,
                                       uint64_t stream)
{
    struct tensor_set set;
    char message[256];
    if (!tensors_alloc_case(&set, c, &layout, MESSAGE(message)) ||
        !tensors_fill(&set, c, stream, MESSAGE(message)) ||
        !attn_tensors_valid(&c->problem, &set.tensors, message, sizeof message))
        fail_msg("%s", message);
    return set;
}

/* The case of these texts, and what it is filled with. */
static inline struct tensor_set made(const char *problem, const char *input, struct problem_case *c)
{
    *c = case_of(problem, input);
    return filled(c, (struct tensors_layout){0}, 0);
}
