/*
 * worker: the process that runs kernels.  Everything that may crash, hang or start a thread
 * happens here.
 */
#ifndef HARNESS_WORKER_WORKER_H
#define HARNESS_WORKER_WORKER_H

/* Reads a request from descriptor 3, answers on descriptor 4; returns the exit status. */
int worker_main(void);

#endif
