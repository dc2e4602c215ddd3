/*
 * process_child: from fork to exec: environment, files, limits.
 */
#define _GNU_SOURCE
#include "process_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- environment ----------------------------------------------------------------------------- */

static bool overridden(const char *variable, const char *const *environment)
{
    for (size_t i = 0; environment[i]; i++) {
        const size_t n = strcspn(environment[i], "=");
        if (strncmp(variable, environment[i], n) == 0 && variable[n] == '=')
            return true;
    }
    return false;
}

const char *const process_openmp[PROCESS_OPENMP] = {
    "OMP_PROC_BIND=false", "OMP_DYNAMIC=false", "OMP_PLACES",
    "OMP_THREAD_LIMIT",    "GOMP_CPU_AFFINITY", "GOMP_SPINCOUNT",
    "KMP_AFFINITY",        "KMP_BLOCKTIME",     "OMP_MAX_ACTIVE_LEVELS",
};

char **process_environment(const char *const *changes)
{
    static const char *const none[] = {NULL};
    changes = changes ? changes : none;
    size_t inherited = 0, changed = 0, n = 0;
    while (environ[inherited])
        inherited++;
    while (changes[changed])
        changed++;
    char **result = calloc(inherited + changed + 1, sizeof *result);
    for (size_t i = 0; result && i < inherited; i++)
        if (!overridden(environ[i], changes))
            result[n++] = environ[i];
    for (size_t i = 0; result && i < changed; i++)
        if (strchr(changes[i], '='))
            result[n++] = (char *)changes[i];
    return result;
}

/* ---- what kept a child from it --------------------------------------------------------------- */

static int *child_error;

bool process_share_error(void)
{
    void *const page = child_error ? child_error
                                   : mmap(NULL, sizeof *child_error, PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    child_error = page;
    *child_error = 0;
    return true;
}

int process_child_error(void)
{
    return *child_error;
}

/* ---- after fork: only calls that are safe there ---------------------------------------------- */

/* Closes descriptors from `first` on. */
static void close_from(unsigned first)
{
    struct rlimit limit;
    if (syscall(SYS_close_range, first, ~0U, 0) == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    for (rlim_t fd = first; fd < limit.rlim_cur; fd++) /* before Linux 5.9 */
        close((int)fd);
}

/* Closes descriptors from `first` on that are not in the list. */
static void close_others(int first, const int *kept, size_t count)
{
    int last = first - 1;
    for (size_t i = 0; i < count; i++)
        last = kept[i] > last ? kept[i] : last;
    close_from((unsigned)last + 1);
    for (int fd = first; fd < last; fd++) {
        size_t i = 0;
        while (i < count && kept[i] != fd)
            i++;
        if (i == count)
            close(fd);
    }
}

/* Moves what the child inherits to its places, and leaves nothing else open: what somebody left
 * open in the parent, a kernel could write to. */
static bool arrange_files(const struct process_spec *spec, const struct process_ends *ends)
{
    int from[PROCESS_MAX_FILES + 2] = {ends->request, ends->answer};
    const int printed = ends->printed < 0 ? STDERR_FILENO : ends->printed;
    const size_t count = spec->file_count + 2;
    for (size_t i = 0; i < spec->file_count; i++)
        from[i + 2] = spec->files[i];
    const int behind = PROCESS_REQUEST_FD + (int)count; /* where they wait for their places */
    if (dup2(printed, STDOUT_FILENO) < 0 || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return false;
    close_others(STDERR_FILENO + 1, from, count); /* there may be room for few */
    for (size_t i = 0; i < count; i++)
        if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, behind)) < 0) {
            errno = EMFILE; /* EINVAL where none is allowed behind */
            return false;
        }
    for (size_t i = 0; i < count; i++) {
        const int to = PROCESS_REQUEST_FD + (int)i;
        if (from[i] < 0)
            close(to);
        else if (dup2(from[i], to) < 0)
            return false;
    }
    close_from((unsigned)behind);
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0;
}

/* Without a terminal of its own: a kernel could write to /dev/tty, and an interrupt there goes to
 * the parent only. */
static void leave_terminal(void)
{
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    setpgid(0, 0);
    if (terminal < 0)
        return;
    ioctl(terminal, TIOCNOTTY);
    close(terminal);
}

/* Writes the digits of n, and returns their end. */
static char *put_number(char *to, unsigned n)
{
    if (n >= 10)
        to = put_number(to, n / 10);
    *to = (char)('0' + n % 10);
    return to + 1;
}

void process_unregister(pid_t pid)
{
    char path[64] = "/dev/shm/__KMP_REGISTERED_LIB_";
    char *end = put_number(path + strlen(path), (unsigned)pid);
    *end = '_';
    *put_number(end + 1, getuid()) = 0;
    unlink(path);
}

_Noreturn void process_become(const struct process_spec *spec, char **environment, pid_t parent,
                              const struct process_ends *ends, const sigset_t *unblock)
{
    leave_terminal();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process_unregister(getpid()); /* an earlier process of this pid */
    if (getppid() == parent && arrange_files(spec, ends) && limits_apply(&spec->limits)) {
        for (size_t i = 0; i < PROCESS_INTERRUPTS; i++)
            signal(process_interrupts[i], SIG_IGN);
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_UNBLOCK, unblock, NULL);
        execve("/proc/self/exe", spec->argv, environment);
    }
    *child_error = errno;
    _exit(127);
}
