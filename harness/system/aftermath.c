/*
 * aftermath: lists the process's threads from /proc, and compares their affinities.
 */
#define _GNU_SOURCE
#include "aftermath.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <locale.h>
#include <omp.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "fault.h"
#include "float_env.h"
#include "task.h"

#define MOST_CPUS 8192   /* most of any Linux configuration */
#define GONE_AFTER_S 0.5 /* a joined thread may still be listed for a moment */

/* ---- which threads there are ----------------------------------------------------------------- */

struct list {
    pid_t *ids;
    size_t count, room;
};

static struct list there; /* before the call */

static bool holds(const struct list *list, pid_t id)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->ids[i] == id)
            return true;
    return false;
}

static void add(struct list *list, pid_t id)
{
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 64;
        pid_t *ids = realloc(list->ids, room * sizeof *ids);
        if (!ids)
            return;
        list->ids = ids;
        list->room = room;
    }
    list->ids[list->count++] = id;
}

/* Lists the threads that are not in `known`. */
static void find(struct list *list, const struct list *known)
{
    DIR *all = opendir("/proc/self/task");
    list->count = 0;
    for (pid_t id; (id = task_next(all));)
        if (!holds(known, id))
            add(list, id);
}

/* Lists all threads.  While one ends, Linux may leave out others that are listed after it, so that a listing is
 * repeated until it has nothing new. */
static void find_all(struct list *list)
{
    static struct list more;
    size_t before;
    list->count = 0;
    do {
        before = list->count;
        find(&more, list);
        for (size_t i = 0; i < more.count; i++)
            add(list, more.ids[i]);
    } while (list->count > before);
}

/* The file name in the path of an OpenMP runtime of GCC, LLVM or Intel, "libomp.so.5"; else NULL. */
static const char *runtime_name(const char *path)
{
    static const char *const names[] = {"libgomp", "libomp", "libiomp"};
    const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        const size_t length = strlen(names[n]);
        if (strncmp(file, names[n], length) == 0 && strchr(".-5", file[length]))
            return file;
    }
    return NULL;
}

struct runtimes {
    const char *own, *second; /* file names; NULL: none */
};

static int note_runtime(struct dl_phdr_info *object, size_t size, void *context)
{
    struct runtimes *found = context;
    const char *name = runtime_name(object->dlpi_name);
    (void)size;
    if (name && (!found->own || strcmp(name, found->own) != 0))
        found->second = name;
    return found->second != NULL;
}

/* Loaded OpenMP runtimes: the one that this program calls, and another, which may have started threads. */
static struct runtimes runtimes(void)
{
    Dl_info info;
    const bool known =
        dladdr((const void *)(uintptr_t)omp_get_max_threads, &info) && info.dli_fname;
    struct runtimes found = {.own = known ? runtime_name(info.dli_fname) : NULL};
    if (found.own)
        dl_iterate_phdr(note_runtime, &found);
    return found;
}

/* How many threads are new and not in the team. */
static size_t left_behind(int threads)
{
    static struct list fresh;
    const double until = clock_now() + GONE_AFTER_S;
    find(&fresh, &there);
    if (!fresh.count)
        return 0;
#pragma omp parallel num_threads(threads)
    {
#pragma omp critical
        if (!holds(&there, gettid()))
            add(&there, gettid());
    }
    for (;;) {
        find(&fresh, &there);
        if (!fresh.count || clock_now() > until)
            return fresh.count;
        sched_yield();
    }
}

/* ---- where they may run ---------------------------------------------------------------------- */

struct place {
    bool known;
    unsigned call; /* number of the call that it belongs to */
    cpu_set_t cpus[MOST_CPUS / CPU_SETSIZE];
};

static _Thread_local struct place place;
static unsigned calls;

static bool where(struct place *at)
{
    memset(at->cpus, 0, sizeof at->cpus);
    return sched_getaffinity(0, sizeof at->cpus, at->cpus) == 0;
}

/* Whether the calling thread's affinity differs from before the call; "moved thread 1 off CPU 3".  A new
 * thread with an old one's number has nothing to compare with. */
static bool has_moved(char text[AFTERMATH_TEXT])
{
    struct place now;
    const size_t size = sizeof now.cpus;
    if (!place.known || place.call != calls || !where(&now) ||
        CPU_EQUAL_S(size, now.cpus, place.cpus))
        return false;
    int cpu = 0;
    while (cpu < MOST_CPUS && !CPU_ISSET_S((size_t)cpu, size, place.cpus))
        cpu++;
    sched_setaffinity(0, size, place.cpus);
    if (CPU_COUNT_S(size, place.cpus) == 1)
        snprintf(text, AFTERMATH_TEXT, "moved thread %d off CPU %d", omp_get_thread_num(), cpu);
    else
        snprintf(text, AFTERMATH_TEXT, "changed the CPUs that thread %d may run on",
                 omp_get_thread_num());
    return true;
}

/* ---- locale and working directory ------------------------------------------------------------- */

void aftermath_settle(void)
{
    static locale_t plain;
    static int folder = -1;
    if (!plain) {
        plain = newlocale(LC_ALL_MASK, "C", NULL);
        folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    uselocale(plain); /* this thread's: only another uselocale() changes it, not setlocale() */
    if (folder >= 0)
        (void)!fchdir(folder);
}

/* ---- a call ---------------------------------------------------------------------------------- */

void aftermath_begin(int threads)
{
    calls++;
    aftermath_settle();
#pragma omp parallel num_threads(threads)
    {
        fault_thread(omp_get_thread_num());
        float_env_reset();
        place.known = where(&place);
        place.call = calls;
    }
    find_all(&there);
}

/* "leaves the floating-point environment changed: ... in thread 0" */
static bool has_changed(char text[AFTERMATH_TEXT])
{
    char what[FLOAT_ENV_TEXT];
    const bool changed = float_env_changed(what);
    float_env_reset();
    if (changed)
        snprintf(text, AFTERMATH_TEXT,
                 "leaves the floating-point environment changed: %s in thread %d", what,
                 omp_get_thread_num());
    return changed;
}

/* The first thread's message. */
struct word {
    int thread;
    char text[AFTERMATH_TEXT];
};

static void keep_first(struct word *first, const char text[AFTERMATH_TEXT])
{
    if (*first->text && first->thread < omp_get_thread_num())
        return;
    first->thread = omp_get_thread_num();
    memcpy(first->text, text, sizeof first->text);
}

static void say_left(size_t left, char text[AFTERMATH_TEXT])
{
    const struct runtimes found = runtimes();
    const int n =
        snprintf(text, AFTERMATH_TEXT, "left %zu thread%s running", left, left > 1 ? "s" : "");
    if (found.second)
        snprintf(text + n, AFTERMATH_TEXT - (size_t)n,
                 " (%.60s is a second OpenMP runtime beside %.60s)", found.second, found.own);
}

bool aftermath_end(int threads, char text[AFTERMATH_TEXT])
{
    struct word unsettled = {0, ""}, moved = {0, ""};
    const size_t left = left_behind(threads);
    aftermath_settle();
#pragma omp parallel num_threads(threads)
    {
        char changed[AFTERMATH_TEXT], away[AFTERMATH_TEXT];
        const bool is_changed = has_changed(changed), is_moved = has_moved(away);
#pragma omp critical
        {
            if (is_changed)
                keep_first(&unsettled, changed);
            if (is_moved)
                keep_first(&moved, away);
        }
    }
    memcpy(text, *moved.text ? moved.text : unsettled.text, AFTERMATH_TEXT);
    if (left)
        say_left(left, text);
    return !*text;
}
