/*
 * Lines to and fro with small shell scripts, and how they end.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "system/memory_file.h"
#include "system/process.h"
#include "system/task.h"

static char why[256];
static const char *answer;

static struct process *start(const char *script, struct process_spec spec)
{
    const char *const arguments[] = {"-c", script, NULL};
    spec.program = "/bin/sh";
    spec.arguments = arguments;
    return process_open(&spec);
}

static enum process_end ask(struct process *child, const char *request, double deadline_s)
{
    return process_ask(child, request, deadline_s, &answer, MESSAGE(why));
}

static void assert_says(struct process *child, const char *request, const char *expected)
{
    assert_int_equal(ask(child, request, 60), PROCESS_ANSWERED);
    assert_string_equal(answer, expected);
}

TEST(lines_are_answered)
{
    struct process *child = start("while IFS= read -r line <&3; do echo \"got $line\" >&4; done",
                                  (struct process_spec){.files = NULL});
    assert_says(child, "line 0", "got line 0");
    assert_says(child, "line 1", "got line 1");
    process_stop(child); /* goes on with the next request */
    assert_says(child, "line 2", "got line 2");
    assert_true(task_peak_bytes(process_pid(child)) > 100000);
    process_close(child);
}

TEST(waiting_is_a_part_of_the_time_since_boot)
{
    const double before = task_all_waited_s();
    assert_true(before >= 0);
    assert_true(task_all_waited_s() >= before);
    assert_true(before <= clock_now()); /* which Linux counts from boot */
}

TEST(answers_in_pieces_and_together)
{
    struct process *child = start("read x <&3; printf 'on' >&4; sleep 0.05; "
                                  "printf 'e\\ntwo\\n' >&4; read x <&3",
                                  (struct process_spec){.files = NULL});
    assert_says(child, "", "one");
    assert_says(child, "", "two");
    process_close(child);
}

TEST(ends_are_told)
{
    static const struct {
        const char *script;
        double deadline_s;
        enum process_end end;
        const char *why;
    } table[] = {
        {"read x <&3; exit 7", 60, PROCESS_EXITED, "ended (exit status 7)"},
        {"read x <&3; kill -ABRT $$", 60, PROCESS_SIGNALLED, "was killed by SIGABRT"},
        {"read x <&3; sleep 100", 0.1, PROCESS_TIMEOUT, "gave no answer within 0.1 s"},
        {"tr '\\0' x </dev/zero >&4", 60, PROCESS_ENDLESS, "answers without an end"},
        {"exec 4>&-; sleep 100", 60, PROCESS_SIGNALLED, "was killed by SIGKILL"},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        struct process *child = start(table[n].script, (struct process_spec){.files = NULL});
        assert_int_equal(ask(child, "go", table[n].deadline_s), table[n].end);
        assert_string_equal(why, table[n].why);
        assert_int_equal(process_pid(child), -1);
        assert_int_equal(ask(child, "go", 60), PROCESS_EXITED);
        assert_string_equal(why, "is not there any more");
        process_close(child);
    }
}

TEST(what_cannot_start_says_why)
{
    static const struct {
        const char *program, *why;
    } table[] = {
        {"/nowhere/at/all", "cannot be started: No such file or directory"},
        {"/etc/passwd", "cannot be started: Permission denied"},
    };
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        struct process *child = process_open(&(struct process_spec){.program = table[n].program});
        for (int again = 0; again < 2; again++) {
            assert_int_equal(ask(child, "go", 60), PROCESS_NOT_STARTED);
            assert_string_equal(why, table[n].why);
        }
        process_close(child);
    }
}

TEST(environment_and_files_are_given)
{
    static const char *const environment[] = {"TEST_SET=yes", "TEST_UNSET", NULL};
    setenv("TEST_UNSET", "no", 1);
    const int file = memory_file_create("test");
    struct process *child =
        start("read x <&3; echo \"$TEST_SET,$TEST_UNSET\" >&4; read x <&3; echo hello >&5; "
              "echo done >&4; read x <&3",
              (struct process_spec){.environment = environment, .files = &file, .file_count = 1});
    char text[6] = "";
    assert_says(child, "", "yes,");
    assert_says(child, "", "done");
    assert_int_equal(pread(file, text, 5, 0), 5);
    assert_string_equal(text, "hello");
    process_close(child);
    close(file);
}

/* What a launcher finds, and what it does when it is asked to end; a shell could not, as it began with the
 * signal ignored. */
static volatile sig_atomic_t asked_to_end;

static void note(int signal)
{
    (void)signal;
    asked_to_end = 1;
}

static int launch(const char *path)
{
    char line[8];
    signal(SIGTERM, note);
    for (int n = 0; n < 2 && fgets(line, sizeof line, stdin); n++) {
        for (int fd = 0; n == 0 && fd < 256; fd++)
            if (fcntl(fd, F_GETFD) >= 0)
                printf(" %d", fd);
        if (n == 0)
            putchar('\n');
        (void)fflush(stdout);
    }
    while (!asked_to_end)
        usleep(1000);
    const int fd = open(path, O_WRONLY | O_CLOEXEC);
    return write(fd, "ended", 5) == 5 ? 0 : 1;
}

TEST(a_launcher_has_its_standard_streams)
{
    char text[6] = "", path[64];
    const int leak = dup2(STDERR_FILENO, 57); /* not closed on exec */
    const int file = memory_file_create("test");
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)getpid(), file);
    const char *const arguments[] = {path, NULL};
    struct process *child =
        process_open(&(struct process_spec){.arguments = arguments, .launcher = true});
    assert_says(child, "", " 0 1 2");
    assert_int_equal(ask(child, "", 0.1), PROCESS_TIMEOUT);
    assert_int_equal(pread(file, text, 5, 0), 5);
    assert_string_equal(text, "ended");
    process_close(child);
    close(file);
    close(leak);
}

TEST(it_stays_on_its_cpus)
{
    int cpus[1024];
    const size_t count = task_cpus_own(cpus, 1024);
    assert_true(count > 0);
    const struct process_spec spec = {
        .program = "/bin/cat", .cpus = &cpus[count - 1], .cpu_count = 1, .launcher = true};
    struct process *child = process_open(&spec);
    assert_says(child, "there", "there");
    assert_true(task_cpus_within(process_pid(child), &cpus[count - 1], 1, MESSAGE(why)));
    assert_true(task_cpus_within(process_pid(child), cpus, count, MESSAGE(why)));
    assert_false(task_cpus_within(process_pid(child), (int[]){1 << 20}, 1, MESSAGE(why)));
    assert_non_null(strstr(why, "which is not one of the team's"));
    process_close(child);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return launch(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_answered),
        cmocka_unit_test(waiting_is_a_part_of_the_time_since_boot),
        cmocka_unit_test(answers_in_pieces_and_together),
        cmocka_unit_test(ends_are_told),
        cmocka_unit_test(what_cannot_start_says_why),
        cmocka_unit_test(environment_and_files_are_given),
        cmocka_unit_test(a_launcher_has_its_standard_streams),
        cmocka_unit_test(it_stays_on_its_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
