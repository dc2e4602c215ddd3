/*
 * honest: does nothing wrong; the others change one of its steps, and call its other ones.
 */
#include "honest_steps.h"

WRONG_OPTION_CALL(honest, "does nothing wrong")
{
    each_row(plan, tensors, honest_row);
}
