/*
 * exits_at_once: ends the process without any handler of its end.
 */
#include <unistd.h>

#include "wrong.h"

WRONG_CALL(exits_at_once, "ends the process without any handler of its end")
{
    (void)plan, (void)tensors;
    _exit(3);
}
