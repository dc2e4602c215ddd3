/*
 * loops: never returns.
 */
#include "wrong.h"

WRONG_CALL(loops, "never returns")
{
    volatile bool on = true;
    (void)plan, (void)tensors;
    while (on)
        ;
}
