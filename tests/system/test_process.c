/*
 * What is heard from a child process, and for how long.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "child.h"
#include "emulated.h"

/* ---- in the child ---------------------------------------------------------------------------- */

static int print_little(void)
{
    printf("out \x1b[31m\n");
    (void)fflush(stdout);
    fprintf(stderr, "err\n");
    return answer("done");
}

static int print_much(void)
{
    for (int n = 0; n < 100000; n++)
        printf("line %05d\n", n);
    (void)fflush(stdout);
    return answer("done");
}

static int print_for_ever(void)
{
    while (printf("again and again\n") > 0)
        ;
    return 1;
}

/* Needs 0.3 s of CPU time. */
static int work(void)
{
    struct timespec used = {.tv_sec = 0};
    while (used.tv_nsec < 300000000)
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return answer("done");
}

static int sleep_on(void)
{
    while (pause() == -1)
        ;
    return 1;
}

static int abort_late(void)
{
    fprintf(stderr, "something is wrong\n");
    answer("all is well");
    abort();
}

/* As where a scheduler cancels a job. */
static int be_asked_to_end(void)
{
    raise(SIGTERM);
    raise(SIGINT);
    raise(SIGHUP);
    return answer("still here");
}

static int answer_badly(void)
{
    const char garbage[] = "a\0b\nmore";
    return write(PROCESS_ANSWER_FD, garbage, sizeof garbage) > 0 ? 0 : 1;
}

static const char *registration(pid_t pid)
{
    static char path[64];
    snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%u", (int)pid, getuid());
    return path;
}

static bool make_registration(pid_t pid)
{
    const int fd = open(registration(pid), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return fd >= 0 && close(fd) == 0;
}

/* As OpenMP does, and is killed. */
static int stay_registered(void)
{
    if (!make_registration(getpid()))
        return 1;
    printf("%d", (int)getpid());
    (void)fflush(stdout);
    return sleep_on();
}

/* One that is empty: OpenMP's own of this process is not. */
static int find_registration(void)
{
    struct stat status;
    const bool found = stat(registration(getpid()), &status) == 0 && status.st_size == 0;
    return answer("%s", found ? "found" : "none");
}

static const struct child_try tries[] = {{"print", print_little},
                                         {"print much", print_much},
                                         {"print on", print_for_ever},
                                         {"abort late", abort_late},
                                         {"asked to end", be_asked_to_end},
                                         {"garbage", answer_badly},
                                         {"work", work},
                                         {"sleep", sleep_on},
                                         {"stay registered", stay_registered},
                                         {"find registration", find_registration}};

/* ---- in the parent --------------------------------------------------------------------------- */

static const struct process_spec none = {.files = NULL};

TEST(what_is_printed_is_kept)
{
    struct process_outcome outcome = run("print", none);
    assert_string_equal(outcome.printed, "out \\x1b[31m\nerr\n");
    release(&outcome);
    outcome = run("thread", none);
    assert_null(outcome.printed);
    release(&outcome);
}

TEST(the_end_of_much_is_kept)
{
    struct process_outcome outcome = run("print much", none);
    assert_int_equal(outcome.end, PROCESS_ANSWERED);
    const char note[] = "[1095904 bytes came before these]\n"; /* 100000 * 11 - 4096 */
    assert_int_equal(strncmp(outcome.printed, note, sizeof note - 1), 0);
    assert_int_equal(strlen(outcome.printed), sizeof note - 1 + 4096);
    assert_string_equal(outcome.printed + strlen(outcome.printed) - 11, "line 99999\n");
    release(&outcome);
}

TEST(a_killed_child_is_not_registered)
{
    struct process_outcome outcome = run_for("stay registered", 2, none);
    assert_int_equal(outcome.end, PROCESS_TIMEOUT);
    assert_non_null(outcome.printed);
    const int pid = atoi(outcome.printed);
    assert_int_not_equal(pid, 0);
    assert_int_equal(access(registration(pid), F_OK), -1);
    release(&outcome);
}

/* The next pids are registered, one of which the child has. */
TEST(a_child_finds_no_registration_of_another)
{
    enum { NEXT = 200 };
    const pid_t first = fork();
    if (first == 0)
        _exit(0);
    waitpid(first, NULL, 0);
    for (pid_t pid = first; pid < first + NEXT; pid++)
        assert_true(make_registration(pid));
    struct process_outcome outcome = run("find registration", none);
    for (pid_t pid = first; pid < first + NEXT; pid++)
        unlink(registration(pid));
    assert_int_equal(outcome.end, PROCESS_ANSWERED);
    assert_string_equal(outcome.answer, "none");
    release(&outcome);
}

/* Others have most of every CPU. */
TEST(waiting_for_a_cpu_is_not_the_childs_time)
{
    enum { OTHERS = 4, MOST = 1024 };
    static pid_t others[MOST];
    cpu_set_t cpus;
    sched_getaffinity(0, sizeof cpus, &cpus);
    const size_t count =
        (size_t)CPU_COUNT(&cpus) * OTHERS < MOST ? (size_t)CPU_COUNT(&cpus) * OTHERS : MOST;
    for (size_t i = 0; i < count; i++)
        if ((others[i] = fork()) == 0)
            for (volatile bool on = true; on;)
                ;
    struct process_outcome outcome = run_for("work", 1, none);
    const double wall_s = outcome.wall_s;
    const enum process_end end = outcome.end;
    release(&outcome);
    outcome = run_for("sleep", 0.1, none);
    for (size_t i = 0; i < count; i++) {
        kill(others[i], SIGKILL);
        waitpid(others[i], NULL, 0);
    }
    assert_true(wall_s > 1);
    assert_int_equal(end, PROCESS_ANSWERED);
    assert_int_equal(outcome.end, PROCESS_TIMEOUT);
    release(&outcome);
}

TEST(who_prints_for_ever_meets_the_deadline)
{
    struct process_outcome outcome = run_for("print on", 0.5, none);
    assert_int_equal(outcome.end, PROCESS_TIMEOUT);
    assert_non_null(strstr(outcome.printed, "bytes came before these]\n"));
    release(&outcome);
}

TEST(an_answer_before_a_crash_does_not_count)
{
    unless_emulated("prints a line of its own about a crash");
    struct process_outcome outcome = run("abort late", none);
    assert_int_equal(outcome.end, PROCESS_ENDED_BADLY);
    assert_int_equal(outcome.status, SIGABRT);
    assert_null(outcome.answer);
    assert_string_equal(outcome.printed, "something is wrong\n");
    release(&outcome);
}

TEST(the_parent_alone_decides_to_end)
{
    assert_answers("asked to end", none, "still here");
}

/* Up to its end of line, whatever it holds. */
TEST(garbage_is_an_answer)
{
    assert_answers("garbage", none, "a");
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return child_try(argv[1], tries, sizeof tries / sizeof *tries);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_printed_is_kept),
        cmocka_unit_test(the_end_of_much_is_kept),
        cmocka_unit_test(a_killed_child_is_not_registered),
        cmocka_unit_test(a_child_finds_no_registration_of_another),
        cmocka_unit_test(waiting_for_a_cpu_is_not_the_childs_time),
        cmocka_unit_test(who_prints_for_ever_meets_the_deadline),
        cmocka_unit_test(an_answer_before_a_crash_does_not_count),
        cmocka_unit_test(the_parent_alone_decides_to_end),
        cmocka_unit_test(garbage_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
