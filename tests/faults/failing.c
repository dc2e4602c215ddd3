/*
 * failing: makes one call of a program fail, as a full disk or an exhausted system would.
 *
 * Loaded by LD_PRELOAD.  The variable FAILING says what fails, "KIND SITE NUMBER ERRNO HOW FILE": of the
 * functions of that kind the call of that number, from 1, that comes from that site, with that error:
 *
 *   HOW   once  that call alone
 *         on    that one and all of the kind that follow
 *         half  that write writes half of its bytes, the next one fails
 *
 * A site is all that is under way in the program itself when it makes the call, directly or through a
 * library: the return addresses on its stack, as one number.  Once it fails, FILE gets a line: the function
 * and who called it.  No FILE after a run means that the call was not made.  Of KIND "none" nothing fails,
 * and FILE gets a line for each site when it is first met: kind and site.  Children are spared: the two
 * variables are taken out of the environment, and between fork and exec nothing fails; of_library() is
 * spared, too.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 64   /* frames of a stack */
#define SITES 4096 /* that are told apart, a power of 2 */

#define EXPORT __attribute__((visibility("default")))

enum kind {
    WRITE,
    READ,
    SYNC,
    TRUNCATE,
    RENAME,
    PIPE,
    FORK,
    MEMFD,
    MMAP,
    POLL,
    OPEN,
    MEMORY,
    KINDS
};

static const char *const names[KINDS] = {
    [WRITE] = "write",   [READ] = "read", [SYNC] = "sync", [TRUNCATE] = "truncate",
    [RENAME] = "rename", [PIPE] = "pipe", [FORK] = "fork", [MEMFD] = "memfd",
    [MMAP] = "mmap",     [POLL] = "poll", [OPEN] = "open", [MEMORY] = "memory",
};

static struct {
    char kind[16], how[8], file[512];
    unsigned long site;
    long number;
    int error;
    pid_t pid;                     /* whose calls fail; 0 before main() */
    struct dl_find_object program; /* where it lies in memory */
    long counted;                  /* calls from the site */
    bool failing;                  /* that and all that follow */
    bool half;                     /* the next write fails */
    int spared;                    /* calls under way that do not count */
    unsigned long met[SITES];
} plan;

/* ---- what fails ------------------------------------------------------------------------------ */

static void append(const char *line, int length)
{
    const int fd = (int)syscall(SYS_openat, AT_FDCWD, plan.file,
                                O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_write, fd, line, (size_t)length) != length)
        abort();
    syscall(SYS_close, fd);
}

static void tell(const char *function, const void *caller)
{
    char line[512];
    Dl_info info = {.dli_fname = "?"};
    dladdr(caller, &info);
    append(line, snprintf(line, sizeof line, "%s from %s+%#lx\n", function, info.dli_fname,
                          (unsigned long)((const char *)caller - (const char *)info.dli_fbase)));
}

static bool own(void)
{
    return plan.pid && plan.pid == (pid_t)syscall(SYS_getpid);
}

/* Libraries that crash without memory, whose calls do not count.  hwloc 2.9 dereferences what it did not
 * get, and takes a machine that it cannot read for another one: that is when a session begins, before it
 * has written anything.  LLVM's OpenMP 14 calls itself without end when the process ends. */
static bool of_library(const void *caller)
{
    struct dl_find_object object;
    if (plan.spared || _dl_find_object((void *)caller, &object) != 0)
        return plan.spared;
    const char *name = object.dlfo_link_map->l_name;
    return strstr(name, "/libhwloc.") || strstr(name, "/libomp.");
}

/* FNV-1a over the addresses within the program, from its beginning on; not 0. */
static unsigned long site_of(enum kind kind)
{
    void *stack[DEPTH];
    uint64_t hash = 0xcbf29ce484222325 ^ (uint64_t)kind;
    plan.spared++;
    const int depth = backtrace(stack, DEPTH);
    for (int i = 0; i < depth; i++)
        if (stack[i] >= plan.program.dlfo_map_start && stack[i] < plan.program.dlfo_map_end)
            hash = (hash ^ (uint64_t)((char *)stack[i] - (char *)plan.program.dlfo_map_start)) *
                   0x100000001b3;
    plan.spared--;
    return hash ? hash : 1;
}

/* Whether a site is met for the first time. */
static bool is_new(unsigned long site)
{
    size_t at = site % SITES;
    while (plan.met[at] && plan.met[at] != site)
        at = (at + 1) % SITES;
    const bool new = !plan.met[at];
    plan.met[at] = site;
    return new;
}

static void tell_site(enum kind kind)
{
    char line[64];
    const unsigned long site = site_of(kind);
    if (is_new(site))
        append(line, snprintf(line, sizeof line, "%s %lx\n", names[kind], site));
}

/* Whether this call fails; errno says how. */
static bool fails(enum kind kind, const char *function, const void *caller)
{
    if (!own() || of_library(caller))
        return false;
    if (strcmp(plan.kind, "none") == 0)
        tell_site(kind);
    if (strcmp(plan.kind, names[kind]) != 0)
        return false;
    if (!plan.failing) {
        if (site_of(kind) != plan.site || ++plan.counted != plan.number)
            return false;
        plan.failing = strcmp(plan.how, "on") == 0;
        tell(function, caller);
    }
    errno = plan.error;
    return true;
}

#define FAILS(kind) fails(kind, __func__, __builtin_return_address(0))
/* The function of that name that would have been called, of the type of the one around. */
#define NEXT(function) ((__typeof__(&function))dlsym(RTLD_NEXT, #function))

/* ---- calls ----------------------------------------------------------------------------------- */

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
    if (plan.half) {
        plan.half = false;
        errno = plan.error;
        return -1;
    }
    const bool failed = FAILS(WRITE);
    plan.half = failed && strcmp(plan.how, "half") == 0 && size > 1;
    if (failed && !plan.half)
        return -1;
    return syscall(SYS_write, fd, bytes, plan.half ? size / 2 : size);
}

EXPORT ssize_t read(int fd, void *bytes, size_t size)
{
    return FAILS(READ) ? -1 : syscall(SYS_read, fd, bytes, size);
}

EXPORT int fsync(int fd)
{
    return FAILS(SYNC) ? -1 : (int)syscall(SYS_fsync, fd);
}

EXPORT int fdatasync(int fd)
{
    return FAILS(SYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

EXPORT int ftruncate(int fd, off_t size)
{
    return FAILS(TRUNCATE) ? -1 : (int)syscall(SYS_ftruncate, fd, size);
}

EXPORT int rename(const char *from, const char *to)
{
    return FAILS(RENAME) ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

EXPORT int pipe2(int ends[2], int flags)
{
    return FAILS(PIPE) ? -1 : (int)syscall(SYS_pipe2, ends, flags);
}

EXPORT pid_t _Fork(void)
{
    return FAILS(FORK) ? -1 : NEXT(_Fork)();
}

EXPORT int execve(const char *path, char *const *arguments, char *const *environment)
{
    const char *instead = getenv("FAILING_WORKER");
    return (int)syscall(SYS_execve, instead ? instead : path, arguments, environment);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
    return FAILS(MEMFD) ? -1 : (int)syscall(SYS_memfd_create, name, flags);
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    if (FAILS(MMAP))
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *wait,
                 const sigset_t *mask)
{
    return FAILS(POLL) ? -1 : NEXT(ppoll)(fds, count, wait, mask);
}

static const char *own_lock(const char *path)
{
    static const char name[] = "/attnbench.lock";
    const size_t length = strlen(path), end = sizeof name - 1;
    return length > end && strcmp(path + length - end, name) == 0 ? name + 1 : path;
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return FAILS(OPEN) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, own_lock(path), flags, mode);
}

EXPORT int openat(int folder, const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    const mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return FAILS(OPEN) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
    return FAILS(OPEN) ? NULL : NEXT(fopen)(path, mode);
}

EXPORT DIR *opendir(const char *path)
{
    return FAILS(OPEN) ? NULL : NEXT(opendir)(path);
}

/* ---- memory: by glibc's own names, as dlsym() may allocate ----------------------------------- */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);

EXPORT void *malloc(size_t size)
{
    return FAILS(MEMORY) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return FAILS(MEMORY) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *memory, size_t size)
{
    return FAILS(MEMORY) ? NULL : __libc_realloc(memory, size);
}

EXPORT char *strdup(const char *text)
{
    const size_t size = strlen(text) + 1;
    char *copy = FAILS(MEMORY) ? NULL : __libc_malloc(size);
    return copy ? memcpy(copy, text, size) : NULL;
}

/* ---- what hwloc has others do for it --------------------------------------------------------- */

int hwloc_topology_load(void *topology);
int hwloc_topology_export_xmlbuffer(void *topology, char **text, int *length, unsigned long flags);

EXPORT int hwloc_topology_load(void *topology)
{
    plan.spared++;
    const int result = NEXT(hwloc_topology_load)(topology);
    plan.spared--;
    return result;
}

EXPORT int hwloc_topology_export_xmlbuffer(void *topology, char **text, int *length,
                                           unsigned long flags)
{
    plan.spared++;
    const int result = NEXT(hwloc_topology_export_xmlbuffer)(topology, text, length, flags);
    plan.spared--;
    return result;
}

/* ---- from main() on -------------------------------------------------------------------------- */

static int (*real_main)(int, char **, char **);

static int main_that_fails(int argc, char **argv, char **environment)
{
    const char *text = getenv("FAILING");
    const bool read = text && sscanf(text, "%15s %lx %ld %d %7s %511s", plan.kind, &plan.site,
                                     &plan.number, &plan.error, plan.how, plan.file) == 6;
    void *first;
    unsetenv("LD_PRELOAD");
    unsetenv("FAILING");
    backtrace(&first, 1); /* loads what it needs */
    memcpy(&first, &real_main, sizeof first);
    plan.pid = read && _dl_find_object(first, &plan.program) == 0 ? (pid_t)syscall(SYS_getpid) : 0;
    return real_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void),
                      void (*fini)(void), void (*loader_fini)(void), void *stack_end);

EXPORT int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv,
                             void (*init)(void), void (*fini)(void), void (*loader_fini)(void),
                             void *stack_end)
{
    real_main = main;
    return NEXT(__libc_start_main)(main_that_fails, argc, argv, init, fini, loader_fini, stack_end);
}
