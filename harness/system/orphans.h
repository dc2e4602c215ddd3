/*
 * orphans: processes that a child of this one has left behind.
 */
#ifndef HARNESS_SYSTEM_ORPHANS_H
#define HARNESS_SYSTEM_ORPHANS_H

#include <sys/types.h>

/* From now on descendants whose parent dies become children of this process, even in a session of their
 * own, so that they can be found and ended. */
void orphans_adopt(void);

/* When a process was started, in ticks since boot; 0 where it is none of this process's children. */
unsigned long long orphans_started(pid_t child);

/* Kills and reaps every child that was started at that time or later, and what they leave behind. */
void orphans_end(unsigned long long since);

#endif
