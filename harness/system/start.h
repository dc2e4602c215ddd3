/*
 * start: ends the process before main if limits are too small to initialise libraries.
 */
#ifndef HARNESS_SYSTEM_START_H
#define HARNESS_SYSTEM_START_H

/*
 * To be called first in main.  Opens /dev/null for those of descriptors 0 to 2 that are closed, so that no
 * other file gets these numbers and the program's output; using them fails as before.
 *
 * Until that call the process ends with a message and EXIT_ENVIRONMENT (session/session.h) if the limits
 * leave too little stack, or after some seconds of processor time, because OpenBLAS retries allocations
 * endlessly.
 */
void start_begun(void);

#endif
