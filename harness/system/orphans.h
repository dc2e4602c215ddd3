/*
 * orphans: processes that outlive a child which started them.  They are then children of this process, even in
 * sessions of their own (PR_SET_CHILD_SUBREAPER in process.c).
 */
#pragma once

#include <sys/types.h>

/* When a child was started, in ticks since boot; 0: it is not a child of this process. */
unsigned long long orphans_started(pid_t child);

/* Kills and reaps every child that was started at that time or later, and their descendants. */
void orphans_end(unsigned long long since);
