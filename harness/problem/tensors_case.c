/*
 * tensors_case: one set of a case's operands in process memory.
 */
#include "tensors_view.h"

bool tensors_alloc_case(struct tensor_set *set, const struct problem_case *c,
                        const struct tensors_layout *layout, char *message, size_t message_size)
{
    struct tensors_shape shape;
    *set = (struct tensor_set){0};
    if (!tensors_shape_of(c, &shape, message, message_size) ||
        !tensors_alloc_shape(set, &c->problem, &shape, layout, message, message_size))
        return false;
    if (c->input.kind == INPUT_FILE)
        return true;
    if (!tensors_fill_others(set, c, 0, message, message_size)) {
        tensors_free(set);
        return false;
    }
    tensors_seal(set, &c->problem);
    return true;
}

bool tensors_alloc(struct tensor_set *set, const struct attn_problem *problem,
                   const struct tensors_layout *layout, char *message, size_t message_size)
{
    const struct problem_case c = {.problem = *problem, .input = {.kind = INPUT_NORMAL, .seed = 1}};
    return tensors_alloc_case(set, &c, layout, message, message_size);
}
