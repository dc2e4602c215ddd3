/*
 * start: failures before main: limits so small that libraries cannot be initialised.
 */
#ifndef HARNESS_SYSTEM_START_H
#define HARNESS_SYSTEM_START_H

/*
 * To be called first in main.  Makes sure that descriptors 0 to 2 are open, so that no file gets one of them and
 * what is printed: on /dev/null, where using a closed one fails as it did.
 *
 * Before it, from the moment that the loader is done, a process ends with a message and EXIT_ENVIRONMENT
 * (session/session.h) where the caller's limits leave the stack too little, and when it has computed for some
 * seconds: OpenBLAS asks again without end for memory that it cannot have.
 */
void start_begun(void);

#endif
