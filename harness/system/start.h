/*
 * start: failures before main: limits so small that libraries cannot be initialised.
 */
#ifndef HARNESS_SYSTEM_START_H
#define HARNESS_SYSTEM_START_H

/*
 * To be called first in main.  Opens those of descriptors 0 to 2 that are closed, so that no file gets one of
 * them and what is printed: on /dev/null, opened so that using them fails as before.
 *
 * Before that call, from when the loader is done, a process ends with a message and EXIT_ENVIRONMENT
 * (session/session.h) if the caller's limits leave the stack too little, or after some seconds of processor
 * time: OpenBLAS endlessly retries to allocate memory.
 */
void start_begun(void);

#endif
