/*
 * fault: what a process was doing, and the memory access that killed it, in memory that outlives it.
 *
 * A handler of SIGSEGV and SIGBUS appends "read 4 bytes past the end of k (thread 1)" to the stage, then the
 * signal kills the process as usual.  Handlers of these and of SIGABRT append that memory has run out, if it
 * has; a handler of SIGSYS appends that the kernel was not allowed to start a process (limits.h).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Inaccessible bytes to leave around a region: a fault up to half as far from it is attributed to it.  They
 * take address space only. */
#define FAULT_GUARD ((size_t)16 << 20)

/* Memory that a kernel may access. */
struct fault_region {
    const char *name;
    const char *data;
    size_t bytes;
    size_t element; /* bytes of an element; distances include the element accessed */
};

#define FAULT_REGIONS 22 /* room for all operands and results, and a workspace */

/* The memory of a kernel's call. */
struct fault_call {
    struct fault_region regions[FAULT_REGIONS];
    size_t count;
    /* Sets place to batch, query head and query of the last row of o that is written; false: none is.  Called
     * by a signal handler. */
    bool (*last_row)(const void *context, size_t place[3]);
    const void *context;
};

/* Sets the memory to which stages and faults are written; NULL, the default: none. */
void fault_share(char *shared, size_t size);

/* Sets the stage, WHAT DETAIL REST concatenated; after a fault it is "WHAT: the fault REST". */
void fault_stage(const char *what, const char *detail, const char *rest);

/* Copies the stage, truncated to size; "" if there is none. */
void fault_told(char *text, size_t size);

/* Sets the calling thread's number for messages, and gives it a stack for the handler. */
void fault_thread(int number);

/* Sets the regions that faults are attributed to; NULL: none.  *call is read when a fault happens. */
void fault_expect(const struct fault_call *call);
