/*
 * start: what can go wrong before main: limits so small that libraries cannot be initialised.
 */
#ifndef HARNESS_SYSTEM_START_H
#define HARNESS_SYSTEM_START_H

#include <stdbool.h>
#include <stddef.h>

/*
 * To be called first in main.  Makes sure that descriptors 0 to 2 are open, so that no file gets one of them and what
 * is printed: on /dev/null, where using a closed one fails as it did.
 * Before it, from the moment that the loader is done, a process that has computed
 * for some seconds ends with a message and EXIT_ENVIRONMENT (session/session.h): OpenBLAS asks again without end
 * for memory that it cannot have.  Allows the stack what the caller's limits leave; false fills message where
 * that is too little.
 */
bool start_begun(char *message, size_t message_size);

#endif
