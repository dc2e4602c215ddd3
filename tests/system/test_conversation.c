/*
 * conversation: lines to and fro with small shell scripts, and how they end.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "system/conversation.h"
#include "system/task_cpus.h"

static char program[64];
static char why[256];
static const char *answer;

/* Starts a shell script; NULL where it cannot be. */
static struct conversation *start(const char *script, const char *const *environment, int file)
{
    snprintf(program, sizeof program, "/tmp/test_conversation.XXXXXX");
    const int fd = mkstemp(program);
    dprintf(fd, "%s", script);
    fchmod(fd, 0700);
    close(fd);
    const struct conversation_spec spec = {
        .program = program, .environment = environment, .file = file};
    return conversation_open(&spec, why, sizeof why);
}

static void finish(struct conversation *talk)
{
    conversation_close(talk);
    unlink(program);
}

#define ECHO "#!/bin/sh\nwhile IFS= read -r line <&3; do echo \"got $line\" >&4; done\n"

static void lines_are_answered(void **state)
{
    (void)state;
    struct conversation *talk = start(ECHO, NULL, -1);
    for (int n = 0; n < 3; n++) {
        char line[32], expected[40];
        snprintf(line, sizeof line, "line %d", n);
        snprintf(expected, sizeof expected, "got %s", line);
        assert_int_equal(conversation_ask(talk, line, 60, &answer, why, sizeof why),
                         CONVERSATION_ANSWERED);
        assert_string_equal(answer, expected);
        if (n == 1)
            conversation_stop(talk); /* goes on with the next request */
    }
    assert_true(task_peak_bytes(conversation_pid(talk)) > 100000);
    finish(talk);
}

static void answers_in_pieces_and_together(void **state)
{
    (void)state;
    struct conversation *talk = start("#!/bin/sh\nread x <&3; printf 'on' >&4; sleep 0.05; "
                                      "printf 'e\\ntwo\\n' >&4; read x <&3\n",
                                      NULL, -1);
    assert_int_equal(conversation_ask(talk, "", 60, &answer, why, sizeof why),
                     CONVERSATION_ANSWERED);
    assert_string_equal(answer, "one");
    assert_int_equal(conversation_ask(talk, "", 60, &answer, why, sizeof why),
                     CONVERSATION_ANSWERED);
    assert_string_equal(answer, "two");
    finish(talk);
}

static void ends_are_told(void **state)
{
    static const struct {
        const char *script;
        double deadline_s;
        enum conversation_end end;
        const char *why;
    } table[] = {
        {"#!/bin/sh\nread x <&3; exit 7\n", 60, CONVERSATION_ENDED, "ended (exit status 7)"},
        {"#!/bin/sh\nread x <&3; kill -ABRT $$\n", 60, CONVERSATION_ENDED, "was killed by SIGABRT"},
        {"#!/bin/sh\nread x <&3; sleep 100\n", 0.1, CONVERSATION_LATE,
         "gave no answer within 0.1 s"},
        {"#!/bin/sh\ntr '\\0' x </dev/zero >&4\n", 60, CONVERSATION_ENDED,
         "answers without an end"},
        {"#!/bin/sh\nexec 4>&-; sleep 100\n", 60, CONVERSATION_ENDED, "was killed by SIGKILL"},
    };
    (void)state;
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        struct conversation *talk = start(table[n].script, NULL, -1);
        assert_non_null(talk);
        assert_int_equal(
            conversation_ask(talk, "go", table[n].deadline_s, &answer, why, sizeof why),
            table[n].end);
        assert_string_equal(why, table[n].why);
        assert_int_equal(conversation_ask(talk, "go", 60, &answer, why, sizeof why),
                         CONVERSATION_ENDED);
        assert_string_equal(why, "is not there any more");
        finish(talk);
    }
}

static void nothing_else_is_inherited(void **state)
{
    static const char *const environment[] = {"TEST_SET=yes", "TEST_UNSET", NULL};
    (void)state;
    setenv("TEST_UNSET", "no", 1);
    const int leak = dup2(STDERR_FILENO, 57); /* not closed on exec */
    const int file = memfd_create("test", MFD_CLOEXEC);
    struct conversation *talk =
        start("#!/bin/sh\nread x <&3; echo $(ls /proc/self/fd) >&4; read x <&3\n"
              "echo \"$TEST_SET,$TEST_UNSET\" >&4; read x <&3; echo hello >&5; echo done >&4\n"
              "read x <&3\n",
              environment, file);
    char text[6] = "";
    assert_int_equal(conversation_ask(talk, "", 60, &answer, why, sizeof why),
                     CONVERSATION_ANSWERED);
    assert_string_equal(answer, "0 1 2 3 4 5 6"); /* the last one is the listing's own */
    conversation_ask(talk, "", 60, &answer, why, sizeof why);
    assert_string_equal(answer, "yes,");
    conversation_ask(talk, "", 60, &answer, why, sizeof why);
    assert_int_equal(pread(file, text, 5, 0), 5);
    assert_string_equal(text, "hello");
    finish(talk);
    close(file);
    close(leak);
}

static void it_stays_on_its_cpus(void **state)
{
    int cpus[1024];
    const size_t count = task_cpus_own(cpus, 1024);
    assert_true(count > 0);
    (void)state;
    snprintf(program, sizeof program, "/bin/cat");
    const struct conversation_spec spec = {
        .program = program, .cpus = &cpus[count - 1], .cpu_count = 1, .file = -1};
    struct conversation *talk = conversation_open(&spec, why, sizeof why);
    assert_non_null(talk);
    assert_true(task_cpus_within(conversation_pid(talk), &cpus[count - 1], 1, why, sizeof why));
    assert_true(task_cpus_within(conversation_pid(talk), cpus, count, why, sizeof why));
    assert_false(task_cpus_within(conversation_pid(talk), (int[]){1 << 20}, 1, why, sizeof why));
    assert_non_null(strstr(why, "which is not one of the team's"));
    conversation_close(talk);
}

static void what_cannot_start_says_why(void **state)
{
    static const struct {
        const char *program, *why;
    } table[] = {
        {"/nowhere/at/all", "cannot start /nowhere/at/all: No such file or directory"},
        {"/etc/passwd", "cannot start /etc/passwd: Permission denied"},
    };
    (void)state;
    for (size_t n = 0; n < sizeof table / sizeof *table; n++) {
        const struct conversation_spec spec = {.program = table[n].program, .file = -1};
        assert_null(conversation_open(&spec, why, sizeof why));
        assert_string_equal(why, table[n].why);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_answered),   cmocka_unit_test(answers_in_pieces_and_together),
        cmocka_unit_test(ends_are_told),        cmocka_unit_test(nothing_else_is_inherited),
        cmocka_unit_test(it_stays_on_its_cpus), cmocka_unit_test(what_cannot_start_says_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
