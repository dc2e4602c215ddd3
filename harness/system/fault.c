/*
 * fault: the handlers, which make only async-signal-safe calls.
 */
#define _GNU_SOURCE /* REG_ERR */
#include "fault.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "limits.h"

#define NULL_PAGES ((uintptr_t)65536) /* never mapped: vm.mmap_min_addr */
#define STACK 32768 /* bytes: a frame holds the vector registers, 11 KiB with AMX */
#define REST 2048

static struct {
    char *text;
    size_t size, what; /* bytes: of the memory; of WHAT */
    char rest[REST];
} stage;

static const struct fault_call *_Atomic expected;
static atomic_flag told = ATOMIC_FLAG_INIT, refused = ATOMIC_FLAG_INIT;
static _Thread_local int thread = -1;

static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT};
static struct sigaction before[sizeof signals / sizeof *signals];

/* ---- text ---------------------------------------------------------------------------------- */

/* Appends a text, truncated if it does not fit. */
static void say(const char *text)
{
    size_t at = strlen(stage.text);
    while (*text && at + 1 < stage.size)
        stage.text[at++] = *text++;
    stage.text[at] = 0;
}

static void say_number(size_t n)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    digits[at] = 0;
    do
        digits[--at] = (char)('0' + n % 10);
    while (n /= 10);
    say(digits + at);
}

static void say_bytes(size_t n)
{
    const bool large = n >= 1000000;
    say_number(large ? (n + 500000) / 1000000 : n);
    say(large ? " MB" : n == 1 ? " byte" : " bytes");
}

/* ---- the fault ----------------------------------------------------------------------------- */

static const char *access_of(const ucontext_t *context)
{
#if defined __x86_64__
    const unsigned long long code = (unsigned long long)context->uc_mcontext.gregs[REG_ERR];
    return code & 0x10 ? "execution" : code & 2 ? "write" : "read";
#elif defined __aarch64__
    /* Records follow the registers; bit 6 of the syndrome is WnR. */
    const unsigned char *at = context->uc_mcontext.__reserved;
    const struct _aarch64_ctx *head = (const void *)at;
    for (; head->magic; head = (const void *)(at += head->size))
        if (head->magic == ESR_MAGIC)
            return ((const struct esr_context *)head)->esr & 1 << 6 ? "write" : "read";
    return "access";
#else
    (void)context;
    return "access";
#endif
}

/* Bytes from a region to an address outside of it, including the element accessed. */
static size_t distance(const struct fault_region *region, uintptr_t address)
{
    const uintptr_t from = (uintptr_t)region->data, to = from + region->bytes;
    return address < from ? from - address : address - to + region->element;
}

/* The nearest region, if it is within FAULT_GUARD / 2; else NULL. */
static const struct fault_region *nearest(const struct fault_call *call, uintptr_t address)
{
    const struct fault_region *best = NULL;
    size_t least = FAULT_GUARD / 2;
    for (size_t n = 0; call && n < call->count; n++)
        if (distance(&call->regions[n], address) < least) {
            best = &call->regions[n];
            least = distance(best, address);
        }
    return best;
}

static void say_place(const struct fault_call *call, const siginfo_t *info)
{
    const uintptr_t address = (uintptr_t)info->si_addr;
    const struct fault_region *region = nearest(call, address);
    if (info->si_code == SI_KERNEL) {
        say("at an address that the processor does not report: not canonical, or a vector that is "
            "not aligned");
    } else if (address < NULL_PAGES) {
        say("at a null pointer");
    } else if (region) {
        say_bytes(distance(region, address));
        say(address < (uintptr_t)region->data ? " before the start of " : " past the end of ");
        say(region->name);
    } else {
        say(call ? "far from every operand" : "at an address that is not mapped");
    }
}

static void say_row(const struct fault_call *call)
{
    static const char *const names[] = {"b ", ", h ", ", i "};
    size_t place[3];
    if (!call || !call->last_row)
        return;
    if (!call->last_row(call->context, place)) {
        say("; no row of o is written");
        return;
    }
    say("; last row of o written: ");
    for (int n = 0; n < 3; n++) {
        say(names[n]);
        say_number(place[n]);
    }
}

static void tell(const siginfo_t *info, const ucontext_t *context)
{
    const struct fault_call *call = expected;
    stage.text[stage.what] = 0;
    say(": ");
    say(access_of(context));
    say(" ");
    say_place(call, info);
    if (thread >= 0) {
        say(" (thread ");
        say_number((size_t)thread);
        say(")");
    }
    say_row(call);
    say(stage.rest);
}

/* Appends that memory has run out, if it has: few programs test allocations, and crash later. */
static void say_memory(void)
{
    size_t limit;
    if (!limits_memory_reached(&limit))
        return;
    say("; the process has reached its memory limit of ");
    say_bytes(limit);
}

/* Appends the fault and restores the default action.  On return the fault happens again; a signal that a
 * process sent is raised again.  A second thread that faults waits here for the end. */
static void handle(int signal, siginfo_t *info, void *context)
{
    const bool sent = info->si_code <= 0;
    if (atomic_flag_test_and_set(&told))
        for (;;)
            pause();
    if (!sent)
        tell(info, context);
    say_memory();
    for (size_t n = 0; n < sizeof signals / sizeof *signals; n++)
        if (signals[n] == signal)
            sigaction(signal, &before[n], NULL);
    if (sent)
        raise(signal);
}

/* Makes a system call that limits.c forbids return EAGAIN, and appends that once to the stage. */
static void refuse(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    ucontext_t *at = context;
#if defined __x86_64__
    at->uc_mcontext.gregs[REG_RAX] = -EAGAIN;
#elif defined __aarch64__
    at->uc_mcontext.regs[0] = (unsigned long long)-EAGAIN;
#else
    (void)at;
#endif
    if (!atomic_flag_test_and_set(&refused))
        say("; it was refused to start a process");
}

/* ---- set-up -------------------------------------------------------------------------------- */

void fault_share(char *shared, size_t size)
{
    stage.text = shared;
    stage.size = size;
    struct sigaction action = {.sa_sigaction = handle, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigemptyset(&action.sa_mask);
    for (size_t n = 0; shared && n < sizeof signals / sizeof *signals; n++)
        sigaction(signals[n], &action, &before[n]);
    action.sa_sigaction = refuse;
    if (shared)
        sigaction(SIGSYS, &action, NULL);
    fault_thread(0);
}

void fault_stage(const char *what, const char *detail, const char *rest)
{
    if (!stage.text)
        return;
    snprintf(stage.text, stage.size, "%s%s%s", what, detail, rest);
    atomic_flag_clear(&refused);
    stage.what = strnlen(what, stage.size - 1);
    snprintf(stage.rest, sizeof stage.rest, "%s", rest);
}

void fault_told(char *text, size_t size)
{
    snprintf(text, size, "%s", stage.text ? stage.text : "");
}

void fault_thread(int number)
{
    static _Thread_local char memory[STACK];
    stack_t stack;
    thread = number;
    /* Sanitizers give threads a signal stack of their own. */
    if (sigaltstack(NULL, &stack) == 0 && stack.ss_flags & SS_DISABLE) {
        stack = (stack_t){.ss_sp = memory, .ss_size = sizeof memory};
        sigaltstack(&stack, NULL);
    }
}

void fault_expect(const struct fault_call *call)
{
    expected = call;
}
