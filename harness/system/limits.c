/*
 * limits: rlimits, and a system call filter where an rlimit does not hold.
 *
 *   memory     RLIMIT_DATA limits private writable memory; RLIMIT_AS would count operands in shared
 *              memory and guard pages, too.
 *   processes  A seccomp filter that permits new threads only, as RLIMIT_NPROC counts every thread of
 *              the user and does not limit root.
 *   core dump  none: a session of crashing kernels would fill the disk.
 */
#define _GNU_SOURCE
#include "limits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "machine.h"

/* Without the filter: threads and processes that the user may have in addition to all those of the
 * machine. */
#define MORE_PROCESSES 1024

#ifndef __has_feature
#define __has_feature(x) 0 /* of Clang */
#endif
#if defined __SANITIZE_ADDRESS__ || __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The beginning of a file of the system; "" if it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;
    text[n > 0 ? n : 0] = 0;
    if (fd >= 0)
        close(fd);
}

/* ---- memory ---------------------------------------------------------------------------------- */

size_t limits_memory(void)
{
    static size_t bytes;
    struct rlimit own;
    if (SANITIZED || bytes)
        return bytes;
    bytes = machine_memory_available() / 16 * 15;
    if (getrlimit(RLIMIT_DATA, &own) == 0 && own.rlim_cur < bytes)
        bytes = (size_t)own.rlim_cur;
    return bytes;
}

bool limits_memory_reached(size_t *bytes)
{
    struct rlimit limit;
    char text[256], *at = text;
    read_text("/proc/self/statm", text, sizeof text);
    if (getrlimit(RLIMIT_DATA, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return false;
    for (int field = 0; field < 5; field++) /* pages: size, resident, shared, text, 0, data */
        (void)strtoul(at, &at, 10);
    *bytes = (size_t)limit.rlim_cur;
    return strtoul(at, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE) >= *bytes / 8 * 7;
}

/* ---- processes ------------------------------------------------------------------------------- */

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#define OTHER_ABI 0x40000000 /* first system call of the x32 ABI */
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#define OTHER_ABI 0x80000000 /* there is none */
#endif

#ifdef ARCHITECTURE

/* Actions of the filter: the C library falls back to clone if clone3 returns ENOSYS; on the trap's signal
 * fault.c returns EAGAIN and records the attempt. */
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define MISSING BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS)
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP)

/* Loads the lower half of an argument, which comes first, as the host is little-endian. */
#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))

/* Skips the next instruction unless the loaded value equals this. */
#define IF_EQUAL(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1)
#define IF_OTHER(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 1, 0)
#define IF_AT_LEAST(value) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, 0, 1)
#define IF_ANY_BIT(value) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, 0, 1)

/* Flags of a permitted clone: a thread; under sanitizers also the leak checker's process, which stops
 * threads. */
#define HARMLESS (SANITIZED ? CLONE_THREAD | CLONE_UNTRACED : CLONE_THREAD)

/* Installs the filter; false: the system has no filters. */
static bool refuse_processes(void)
{
    struct sock_filter code[] = {
        LOAD(arch),
        IF_OTHER(ARCHITECTURE),
        MISSING,
        LOAD(nr),
        IF_AT_LEAST(OTHER_ABI),
        MISSING,
        IF_EQUAL(SYS_clone3),
        MISSING,
#ifdef SYS_fork
        IF_EQUAL(SYS_fork),
        REFUSE,
        IF_EQUAL(SYS_vfork),
        REFUSE,
#endif
        IF_OTHER(SYS_clone),
        ALLOW,
        LOAD(args[0]),
        IF_ANY_BIT(HARMLESS),
        ALLOW,
        REFUSE,
    };
    const struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    /* SPEC_ALLOW keeps systems from switching on speculation mitigations, which slow branches and loads. */
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &filter) ==
               0;
}

#else

static bool refuse_processes(void)
{
    return false;
}

#endif

/* ---- all of them ----------------------------------------------------------------------------- */

/* Lowers a limit, unless it is lower already. */
static bool lower(int resource, size_t value)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return false;
    if (limit.rlim_max > value)
        limit.rlim_max = value;
    if (limit.rlim_cur > limit.rlim_max)
        limit.rlim_cur = limit.rlim_max;
    return setrlimit(resource, &limit) == 0;
}

/* Threads on the whole machine, 80 in "0.20 0.18 0.12 1/80 11206"; 0: unknown. */
static size_t threads_now(void)
{
    char text[128];
    read_text("/proc/loadavg", text, sizeof text);
    const char *slash = strchr(text, '/');
    return slash ? strtoul(slash + 1, NULL, 10) : 0;
}

bool limits_apply(const struct limits *limits)
{
    if (!lower(RLIMIT_CORE, 0) ||
        (limits->memory_bytes && !lower(RLIMIT_DATA, limits->memory_bytes)))
        return false;
    if (!limits->processes && refuse_processes())
        return true;
    const size_t threads = threads_now();
    return !threads || lower(RLIMIT_NPROC, threads + MORE_PROCESSES);
}
