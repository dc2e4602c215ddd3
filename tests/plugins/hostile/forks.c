/*
 * forks: starts processes for ever, each in a session of its own.
 *
 * Where that is not refused, it is content with a hundred of them that wait: enough to be found.
 */
#include <unistd.h>

#include "wrong.h"

WRONG_CALL(forks, "starts processes for ever")
{
    (void)plan, (void)tensors;
    for (int started = 0;;) {
        const pid_t child = started < 100 ? fork() : pause();
        started += child > 0;
        if (child == 0) {
            setsid();
            for (;;)
                pause();
        }
    }
}
