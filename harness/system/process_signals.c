/*
 * process_signals: interrupts, which raise a flag, and names of signals.
 */
#define _GNU_SOURCE
#include "process_child.h"

#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

const int process_interrupts[PROCESS_INTERRUPTS] = {SIGINT, SIGTERM, SIGHUP};

sigset_t process_block(void)
{
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++)
        sigaddset(&set, process_interrupts[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    return before;
}

sigset_t process_unblocked(void)
{
    sigset_t set;
    sigprocmask(SIG_SETMASK, NULL, &set);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++)
        sigdelset(&set, process_interrupts[i]);
    return set;
}

void process_catch_interrupts(void)
{
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++) {
        struct sigaction before;
        sigaction(process_interrupts[i], NULL, &before);
        if (before.sa_handler != SIG_IGN) /* nohup and background jobs keep ignoring them */
            sigaction(process_interrupts[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* write() fails if a file exceeds its limit */
}

void process_end_with_reader(void)
{
    signal(SIGPIPE, SIG_DFL);
}

bool process_interrupted(void)
{
    return interrupted;
}

const char *process_signal_name(int signal)
{
    static char text[32];
    const char *name = sigabbrev_np(signal);
    if (name)
        snprintf(text, sizeof text, "SIG%s", name);
    else
        snprintf(text, sizeof text, "signal %d", signal);
    return text;
}
