/*
 * exits: ends the process as if all were well.
 */
#include "wrong.h"

WRONG_CALL(exits, "ends the process as if all were well")
{
    (void)plan, (void)tensors;
    exit(0);
}
