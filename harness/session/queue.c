/*
 * queue: waits for the lock, and prints a message that it does.
 */
#include "queue.h"

#include <time.h>

#include "system/process.h"
#include "base/progress.h"

bool queue_enter(struct lock *lock, const char *command, enum if_busy if_busy, bool *alone)
{
    char owner[600];
    enum lock_state state;
    bool said = false;
    while ((state = lock_try(lock, lock_path(), command, owner, sizeof owner)) == LOCK_HELD &&
           if_busy == IF_BUSY_WAIT && !process_interrupted()) {
        if (!said)
            progress_say("%s is measuring on this machine: waiting (--if-busy go-on measures "
                         "beside it)",
                         owner);
        said = true;
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
    *alone = state == LOCK_TAKEN;
    if (state == LOCK_UNUSABLE)
        progress_say("cannot tell whether other sessions measure on this machine: %s", owner);
    if (state == LOCK_HELD && if_busy == IF_BUSY_GO_ON)
        progress_say("%s is measuring on this machine too: expect noise", owner);
    return !process_interrupted();
}
