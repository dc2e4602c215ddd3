/*
 * process_child: from fork to exec: arguments, environment, files, CPUs, limits.
 */
#define _GNU_SOURCE
#include "process_child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- arguments and environment ----------------------------------------------------------------- */

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

/* Allocates argv, free() it; strings are not copied. */
static char **arguments_of(const struct process_spec *spec)
{
    size_t count = 0;
    while (spec->arguments && spec->arguments[count])
        count++;
    char **argv = calloc(count + 2, sizeof *argv);
    if (!argv)
        return NULL;
    argv[0] = (char *)(spec->program ? spec->program : "attnbench");
    for (size_t i = 0; i < count; i++)
        argv[i + 1] = (char *)spec->arguments[i];
    return argv;
}

/* Adds a variable, of at most PAGE + sizeof PADDING bytes, so that the environment's strings and pointers
 * fill whole pages: the stack's position depends on their length and changes times by percents (Mytkowicz et
 * al. 2009). */
#define PADDING "ATTNBENCH_PADDING="
#define PAGE ((size_t)4096)
static void fill_pages(char **environment, char *variable)
{
    size_t count = 0, bytes = sizeof PADDING + sizeof *environment;
    for (; environment[count]; count++)
        bytes += strlen(environment[count]) + 1 + sizeof *environment;
    const size_t rest = (PAGE - bytes % PAGE) % PAGE;
    memcpy(variable, PADDING, sizeof PADDING - 1);
    memset(variable + sizeof PADDING - 1, 'x', rest);
    variable[sizeof PADDING - 1 + rest] = 0;
    environment[count] = variable;
}

/* This process's environment with the changes; free() it, strings are not copied. */
static char **environment_of(const struct process_spec *spec)
{
    static const char *const none[] = {NULL};
    const char *const *changes = spec->environment ? spec->environment : none;
    size_t inherited = 0, changed = 0, n = 0;
    while (environ[inherited])
        inherited++;
    while (changes[changed])
        changed++;
    const size_t pointers = (inherited + changed + 2) * sizeof(char *);
    char **result = calloc(1, pointers + PAGE + sizeof PADDING);
    for (size_t i = 0; result && i < inherited; i++)
        if (!overridden(environ[i], changes))
            result[n++] = environ[i];
    for (size_t i = 0; result && i < changed; i++)
        if (strchr(changes[i], '='))
            result[n++] = (char *)changes[i];
    if (result && spec->level)
        fill_pages(result, (char *)result + pointers);
    return result;
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

/* Moves inherited descriptors to their numbers, and closes all others, which a kernel could write to. */
static bool arrange_files(const struct process_spec *spec, const struct process_ends *ends)
{
    const int first = spec->launcher ? STDIN_FILENO : PROCESS_REQUEST_FD;
    int from[PROCESS_MAX_FILES + 2] = {ends->request, ends->answer};
    const int printed = ends->printed < 0 ? STDERR_FILENO : ends->printed;
    const size_t count = spec->launcher ? 2 : spec->file_count + 2;
    for (size_t i = 2; i < count; i++)
        from[i] = spec->files[i - 2];
    /* temporary numbers */
    const int behind = spec->launcher ? STDERR_FILENO + 1 : first + (int)count;
    if (dup2(printed, STDOUT_FILENO) < 0 || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
        return false;
    close_others(STDERR_FILENO + 1, from, count); /* RLIMIT_NOFILE may be low */
    for (size_t i = 0; i < count; i++)
        if (from[i] >= 0 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, behind)) < 0) {
            errno = EMFILE; /* not EINVAL, if `behind` exceeds the limit */
            return false;
        }
    for (size_t i = 0; i < count; i++) {
        const int to = first + (int)i;
        if (from[i] < 0)
            close(to);
        else if (dup2(from[i], to) < 0)
            return false;
    }
    close_from((unsigned)behind);
    if (spec->launcher)
        return true;
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0;
}

/* Leaves the terminal: a kernel could write to /dev/tty, and an interrupt there must go to the parent
 * only. */
static void leave_terminal(void)
{
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    setpgid(0, 0);
    if (terminal < 0)
        return;
    ioctl(terminal, TIOCNOTTY);
    close(terminal);
}

/* Makes the system kill the child rather than another process if memory runs out. */
static void offer_to_oom_killer(void)
{
    const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    if (write(fd, "1000", 4) != 4)
        errno = 0; /* not permitted: the child has the same priority as others */
    close(fd);
}

/* Writes the digits of n; returns their end. */
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

static bool bind_to_cpus(const struct process_spec *spec)
{
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    for (size_t i = 0; i < spec->cpu_count; i++)
        CPU_SET((size_t)spec->cpus[i], &cpus);
    return !spec->cpu_count || sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

static bool begin(const struct process_spec *spec, const struct process_ends *ends, pid_t parent)
{
    leave_terminal();
    offer_to_oom_killer();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process_unregister(getpid()); /* of an earlier process with this pid */
    return getppid() == parent && arrange_files(spec, ends) &&
           (!spec->limits || limits_apply(spec->limits)) && bind_to_cpus(spec);
}

static void reset_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (size_t i = 0; i < PROCESS_INTERRUPTS; i++)
        signal(process_interrupts[i], SIG_IGN);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---- the fork -------------------------------------------------------------------------------- */

pid_t process_fork(const struct process_spec *spec, const struct process_ends *ends, int *failure)
{
    const pid_t parent = getpid();
    char **const arguments = arguments_of(spec), **const environment = environment_of(spec);
    const pid_t pid = arguments && environment ? _Fork() : -1;
    if (pid == 0) {
        if (begin(spec, ends, parent)) {
            reset_signals();
            execve(spec->program ? spec->program : "/proc/self/exe", arguments, environment);
        }
        *failure = errno;
        _exit(127);
    }
    const int error = errno;
    free(arguments);
    free(environment);
    errno = error;
    return pid;
}

/* ---- paths ----------------------------------------------------------------------------------- */

bool process_beside(const char *name, char *path, size_t size)
{
    const ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash + 1 - path) : size;
    if (folder + strlen(name) >= size)
        return false;
    strcpy(path + folder, name);
    return true;
}

int process_descriptor(const char *number, char *path, size_t size)
{
    return snprintf(path, size, "/proc/%ld/fd/%s", (long)getpid(), number);
}
