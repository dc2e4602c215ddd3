/*
 * addresses: whether stack, heap and code of a process lie elsewhere each time it starts.
 */
#ifndef HARNESS_SYSTEM_ADDRESSES_H
#define HARNESS_SYSTEM_ADDRESSES_H

#include <stdbool.h>

/* Whether the kernel draws the addresses of this process and of those that it starts (ASLR);
 * `setarch -R` starts one whose addresses are fixed. */
bool addresses_are_drawn(void);

#endif
