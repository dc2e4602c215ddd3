/*
 * fault: what a process was doing, and the memory access that killed it, in memory that outlives it.
 *
 * A handler of SIGSEGV and SIGBUS adds to the stage "read 4 bytes past the end of k (thread 1)" and lets the
 * signal take its usual course.  With SIGABRT, too, it adds that memory has run out, where it has; a handler
 * of SIGSYS adds that the kernel was refused to start a process (limits.h).
 */
#ifndef HARNESS_SYSTEM_FAULT_H
#define HARNESS_SYSTEM_FAULT_H

#include <stdbool.h>
#include <stddef.h>

/* Inaccessible bytes to leave around a region: a fault up to half of them away from it, so up to
 * megabytes, is attributed to it.  They take address space only. */
#define FAULT_GUARD ((size_t)16 << 20)

/* Memory that was lent to a kernel. */
struct fault_region {
    const char *name;
    const char *data;
    size_t bytes;
    size_t element; /* bytes: distances count the element that was touched */
};

#define FAULT_REGIONS 17 /* all operands and results, and a workspace */

/* What a kernel was called with. */
struct fault_call {
    struct fault_region regions[FAULT_REGIONS];
    size_t count;
    /* Batch, query head and query of the last row of o that is written, false where there is none;
     * called by a signal handler. */
    bool (*last_row)(const void *context, size_t place[3]);
    const void *context;
};

/* From now on stages are written to `shared`, and faults too; NULL: nowhere, the default. */
void fault_share(char *shared, size_t size);

/* "WHAT DETAIL REST" without blanks between them; after a fault "WHAT: the fault REST". */
void fault_stage(const char *what, const char *detail, const char *rest);

/* The stage, cut to size; "" where there is none. */
void fault_told(char *text, size_t size);

/* The number of the calling thread for messages, and a stack for the handler. */
void fault_thread(int number);

/* The regions that faults are looked up in; NULL: none.  It is read when a fault happens. */
void fault_expect(const struct fault_call *call);

#endif
