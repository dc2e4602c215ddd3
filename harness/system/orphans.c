/*
 * orphans: finds them in /proc and kills them.
 */
#define _GNU_SOURCE
#include "orphans.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "task.h"

#define AT_ONCE 256
#define PATIENCE_S 10.0 /* they may start others as fast as they are killed */

unsigned long long orphans_started(pid_t child)
{
    char path[64], text[1024];
    int parent = 0;
    unsigned long long started = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)child);
    FILE *file = fopen(path, "re");
    if (!file)
        return 0;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    /* "PID (NAME) STATE PARENT ...": the name may have any characters; field 22 is the time */
    const char *name_end = strrchr(text, ')');
    if (!name_end ||
        sscanf(name_end + 1,
               " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
               &parent, &started) != 2)
        return 0;
    return parent == getpid() ? started : 0;
}

/* Finds at most AT_ONCE children that were started at `since` or later. */
static size_t find(unsigned long long since, pid_t found[AT_ONCE])
{
    size_t count = 0;
    DIR *all = opendir("/proc");
    for (pid_t pid; (pid = task_next(all));) {
        const unsigned long long started = count < AT_ONCE ? orphans_started(pid) : 0;
        if (started && started >= since)
            found[count++] = pid;
    }
    return count;
}

/* Whether this process has children at all, which is faster than a search. */
static bool any(void)
{
    siginfo_t info;
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

void orphans_end(unsigned long long since)
{
    pid_t found[AT_ONCE];
    size_t count = 1;
    const double until = clock_now() + PATIENCE_S;
    while (count && any() && clock_now() < until) {
        count = find(since, found);
        for (size_t i = 0; i < count; i++)
            kill(found[i], SIGKILL);
        for (size_t i = 0; i < count; i++)
            (void)TEMP_FAILURE_RETRY(waitpid(found[i], NULL, 0));
    }
}
