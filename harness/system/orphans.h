/*
 * orphans: processes that a child of this one has left behind.
 */
#ifndef HARNESS_SYSTEM_ORPHANS_H
#define HARNESS_SYSTEM_ORPHANS_H

#include <sys/types.h>

/* From now on processes whose parent dies become children of this one, so that a child cannot leave
 * any behind, whatever session they went into. */
void orphans_adopt(void);

/* When a process was started, in ticks since boot; 0 where it is none of this process's children. */
unsigned long long orphans_started(pid_t child);

/* Kills and reaps every child that was started at that time or later, and what they leave behind. */
void orphans_end(unsigned long long since);

#endif
