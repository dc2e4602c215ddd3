/*
 * What a child process can do, and what it cannot.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "child.h"
#include "emulated.h"
#include "system/fault.h"
#include "system/limits.h"
#include "system/machine.h"
#include "system/memory_file.h"
#include "system/memory_log.h"

#define NUMBER 1234 /* of bytes, prime to those of pages */
#define NO_ORPHANS "does not let a process adopt orphans"

/* ---- in the child ---------------------------------------------------------------------------- */

static char stage[256];

static int try_fork(void)
{
    fault_share(stage, sizeof stage);
    fault_stage("trying", "", "");
    const pid_t child = fork();
    if (child == 0)
        _exit(0);
    return answer("%d %d %s", (int)child, errno == EAGAIN, stage);
}

static void *nothing(void *argument)
{
    return argument;
}

static int try_thread(void)
{
    pthread_t thread;
    void *got = NULL;
    const int error = pthread_create(&thread, NULL, nothing, stage);
    if (!error)
        pthread_join(thread, &got);
    return answer("%d %d", error, got == stage);
}

/* A daemon: a grandchild in a session of its own. */
static int leave_daemon(void)
{
    int id[2];
    pid_t daemon_id = 0;
    if (pipe(id) != 0)
        return 1;
    if (fork() == 0) {
        setsid();
        daemon_id = fork();
        if (daemon_id == 0)
            for (;;)
                pause();
        if (write(id[1], &daemon_id, sizeof daemon_id) < 0)
            _exit(1);
        _exit(0);
    }
    if (read(id[0], &daemon_id, sizeof daemon_id) != sizeof daemon_id)
        return 1;
    return answer("%d", (int)daemon_id);
}

static int show_limits(void)
{
    struct rlimit core, data;
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_DATA, &data);
    void *volatile large = malloc((size_t)1 << 30);
    const bool refused = !large;
    free(large);
    const int data_mib = data.rlim_cur == RLIM_INFINITY ? 0 : (int)(data.rlim_cur >> 20);
    return answer("%d %d %d", (int)core.rlim_max, data_mib, refused);
}

static int list_files(void)
{
    char open_ones[256] = "";
    for (int fd = 0; fd < 256; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            snprintf(open_ones + strlen(open_ones), sizeof open_ones - strlen(open_ones), " %d",
                     fd);
    return answer("%s", open_ones);
}

/* Every way to write to descriptor 5. */
static int try_writing(void)
{
    char path[64];
    const int fd = PROCESS_FIRST_FILE_FD;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const int again = open(path, O_RDWR);
    const bool written = pwrite(fd, "x", 1, 0) == 1 || pwrite(again, "x", 1, 0) == 1;
    const bool cut = ftruncate(fd, 0) == 0 || ftruncate(again, 0) == 0;
    const bool mapped = mmap(NULL, 1, PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED ||
                        mmap(NULL, 1, PROT_WRITE, MAP_SHARED, again, 0) != MAP_FAILED;
    char *map = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
    const bool opened = mprotect(map, 1, PROT_READ | PROT_WRITE) == 0;
    return answer("%d %d %d %d %c", written, cut, mapped, opened, *map);
}

/* All that a file of some room lets a child do. */
static int fill_room(void)
{
    const int fd = PROCESS_FIRST_FILE_FD;
    const bool written = pwrite(fd, "x", 1, 0) == 1;
    const bool grown = ftruncate(fd, 1 << 20) == 0 || pwrite(fd, "x", 1, NUMBER) == 1;
    return answer("%d %d %d", written, grown, ftruncate(fd, 0) == 0);
}

static const struct child_try tries[] = {{"fork", try_fork},       {"thread", try_thread},
                                         {"daemon", leave_daemon}, {"limits", show_limits},
                                         {"files", list_files},    {"write", try_writing},
                                         {"room", fill_room}};

/* ---- in the parent --------------------------------------------------------------------------- */

static const struct process_spec may_start = {.limits = &(struct limits){.processes = true}};

TEST(threads_start_and_processes_do_not)
{
    unless_emulated("has no seccomp()");
    const struct process_spec none = {.limits = &(struct limits){.processes = false}};
    assert_answers("fork", none, "-1 1 trying; it was refused to start a process");
    assert_answers("thread", none, "0 1");
}

TEST(nothing_is_left_behind)
{
    unless_emulated(NO_ORPHANS);
    struct process_outcome outcome = run("daemon", may_start);
    assert_int_equal(outcome.end, PROCESS_ANSWERED);
    const pid_t daemon_id = (pid_t)strtol(outcome.answer, NULL, 10);
    assert_true(daemon_id > 1);
    assert_int_equal(kill(daemon_id, 0), -1);
    assert_int_equal(errno, ESRCH);
    release(&outcome);
}

/* A child that this process had before is none of its workers'. */
TEST(other_children_stay)
{
    unless_emulated(NO_ORPHANS);
    const pid_t other = fork();
    if (other == 0)
        for (;;)
            pause();
    usleep(20000); /* the time of a start is known to a hundredth of a second */
    struct process_outcome outcome = run("daemon", may_start);
    assert_int_equal(kill(other, 0), 0);
    kill(other, SIGKILL);
    release(&outcome);
}

TEST(memory_and_core_dumps_are_limited)
{
    unless_emulated("keeps no limit of memory");
    if (!limits_memory()) /* under a sanitizer there is no such limit */
        assert_answers("limits",
                       (struct process_spec){.limits = &(struct limits){.memory_bytes = 0}},
                       "0 0 0");
    else
        assert_answers("limits",
                       (struct process_spec){.limits = &(struct limits){.memory_bytes = 512 << 20}},
                       "0 512 1");
}

TEST(the_limit_is_below_what_is_available)
{
    const size_t available = machine_memory_available();
    if (limits_memory())
        assert_in_range(limits_memory(), available / 4, available);
}

TEST(only_lent_files_are_open)
{
    const int file = memory_file_create("test");
    const int files[] = {file, -1, file};
    for (int fd = 6; fd < 60; fd++)
        dup2(STDERR_FILENO, fd); /* as a careless shell leaves them, in the gap and behind */
    assert_answers("files", (struct process_spec){.files = files, .file_count = 3},
                   " 0 1 2 3 4 5 7");
    for (int fd = 6; fd < 60; fd++)
        if (fd != file)
            close(fd);
    close(file);
}

/* Three files and two pipes have their places, and wait behind them. */
TEST(few_descriptors_do_or_are_named)
{
    closefrom(STDERR_FILENO + 1); /* what whoever runs the tests left open */
    const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int files[] = {file, file, file};
    const struct process_spec spec = {.files = files, .file_count = 3};
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    for (rlim_t most = 13; most > 11; most--) {
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){most, before.rlim_max});
        struct process_outcome outcome = run("files", spec);
        setrlimit(RLIMIT_NOFILE, &before);
        assert_int_equal(outcome.end, most == 13 ? PROCESS_ANSWERED : PROCESS_NOT_STARTED);
        if (most == 13)
            assert_string_equal(outcome.answer, " 0 1 2 3 4 5 6 7");
        else
            assert_int_equal(outcome.status, EMFILE);
        release(&outcome);
    }
    close(file);
}

TEST(frozen_files_cannot_be_written)
{
    const int file = memory_file_create("test");
    assert_int_equal(pwrite(file, "a", 1, 0), 1);
    char *map = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int lent = memory_file_freeze(file);
    assert_true(lent >= 0);
    *map = 'b'; /* who had it mapped still can */
    const struct process_spec with_file = {.files = &lent, .file_count = 1};
    assert_answers("write", with_file, "0 0 0 0 b");
    assert_int_equal(*map, 'b');
    munmap(map, 1);
    close(file);
    close(lent);
}

TEST(logs_grow_while_they_are_frozen)
{
    struct memory_log log;
    const int file = memory_file_create("test"), added = memory_file_create("added");
    assert_int_equal(pwrite(file, "a", 1, 0), 1);
    assert_int_equal(pwrite(added, "bcd", 3, 0), 3);
    assert_false(memory_log_open(&log, file, 0));
    assert_true(memory_log_open(&log, file, 6));
    const int lent = memory_file_freeze(file);
    assert_true(memory_log_append(&log, added));
    assert_false(memory_log_append(&log, added)); /* does not fit */
    char text[8] = "";
    assert_int_equal(pread(lent, text, sizeof text, 0), 6);
    assert_memory_equal(text, "abcd\0", 7);
    const struct process_spec with_file = {.files = &lent, .file_count = 1};
    assert_answers("write", with_file, "0 0 0 0 a");
    memory_log_close(&log);
    close(file);
    close(added);
    close(lent);
}

TEST(room_is_limited)
{
    const int file = memory_file_of_size("test", NUMBER);
    assert_answers("room", (struct process_spec){.files = &file, .file_count = 1}, "1 0 0");
    close(file);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child_try(argv[1], tries, sizeof tries / sizeof *tries);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_start_and_processes_do_not),
        cmocka_unit_test(nothing_is_left_behind),
        cmocka_unit_test(other_children_stay),
        cmocka_unit_test(memory_and_core_dumps_are_limited),
        cmocka_unit_test(the_limit_is_below_what_is_available),
        cmocka_unit_test(only_lent_files_are_open),
        cmocka_unit_test(few_descriptors_do_or_are_named),
        cmocka_unit_test(frozen_files_cannot_be_written),
        cmocka_unit_test(logs_grow_while_they_are_frozen),
        cmocka_unit_test(room_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
