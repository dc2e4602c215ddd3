/*
 * lock: one holder at a time, named, and gone when it dies.
 */
#include "testing.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"

static char directory[] = "/tmp/attnbench-lock-XXXXXX";
static char path[64];

static int make_directory(void **state)
{
    (void)state;
    const char *made = mkdtemp(directory);
    snprintf(path, sizeof path, "%s/lock", directory);
    return made == NULL;
}

static int remove_directory(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(directory);
}

/* A process that holds the lock until it is killed. */
static pid_t start_holder(void)
{
    int ready[2];
    char byte = 0, text[256];
    assert_int_equal(0, pipe(ready));
    const pid_t child = fork();
    if (child == 0) {
        struct lock lock;
        byte = lock_try(&lock, path, "attnbench run --suite quick", text, sizeof text) == LOCK_TAKEN
                   ? 'y'
                   : 'n';
        (void)!write(ready[1], &byte, 1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(1, read(ready[0], &byte, 1));
    close(ready[0]);
    assert_int_equal(byte, 'y');
    return child;
}

TEST(the_holder_is_named_and_dies_with_its_lock)
{
    struct lock lock;
    char text[256], expected[256];
    const pid_t child = start_holder();
    snprintf(expected, sizeof expected, "process %ld attnbench run --suite quick", (long)child);
    assert_int_equal(LOCK_HELD, lock_try(&lock, path, "me", text, sizeof text));
    assert_string_equal(text, expected);
    assert_int_equal(lock.fd, -1);
    lock_release(&lock); /* harmless */
    assert_int_equal(LOCK_HELD, lock_try(&lock, path, "me", text, sizeof text));

    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(LOCK_TAKEN, lock_try(&lock, path, "me", text, sizeof text));
    assert_string_equal(text, "");
    lock_release(&lock);
}

TEST(a_released_lock_is_free_and_anonymous)
{
    struct lock first, second;
    char text[256];
    assert_int_equal(LOCK_TAKEN, lock_try(&first, path, "a longer command", text, sizeof text));
    lock_release(&first);
    assert_int_equal(first.fd, -1);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    assert_int_equal(LOCK_TAKEN, lock_try(&second, path, "b", text, sizeof text));
    file = fopen(path, "r");
    assert_non_null(fgets(text, sizeof text, file));
    fclose(file);
    char expected[64];
    snprintf(expected, sizeof expected, "%ld b\n", (long)getpid());
    assert_string_equal(text, expected);
    lock_release(&second);
}

TEST(children_do_not_inherit_it)
{
    struct lock lock;
    char text[256];
    assert_int_equal(LOCK_TAKEN, lock_try(&lock, path, "parent", text, sizeof text));
    const pid_t child = fork();
    if (child == 0) {
        execl("/bin/sleep", "sleep", "30", (char *)NULL);
        _exit(1);
    }
    /* the child holds the descriptor until its exec: wait for that by looking at its name */
    char name[64] = "", comm[64];
    snprintf(comm, sizeof comm, "/proc/%ld/comm", (long)child);
    while (strcmp(name, "sleep\n") != 0) {
        FILE *file = fopen(comm, "r");
        assert_non_null(file);
        if (!fgets(name, sizeof name, file))
            *name = 0;
        fclose(file);
    }
    lock_release(&lock);
    assert_int_equal(LOCK_TAKEN, lock_try(&lock, path, "parent", text, sizeof text));
    lock_release(&lock);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

TEST(an_unusable_file_is_said_to_be)
{
    struct lock lock;
    char text[256];
    assert_int_equal(LOCK_UNUSABLE, lock_try(&lock, "/nonexistent/lock", "me", text, sizeof text));
    assert_string_equal(text, "/nonexistent/lock: No such file or directory");
    assert_int_equal(lock.fd, -1);
    assert_int_equal(0, symlink("/etc/passwd", path)); /* planted by somebody */
    assert_int_equal(LOCK_UNUSABLE, lock_try(&lock, path, "me", text, sizeof text));
    unlink(path);
}

TEST(the_machine_has_one_path)
{
    assert_true(strcmp(lock_path(), "/run/lock/attnbench.lock") == 0 ||
                strcmp(lock_path(), "/tmp/attnbench.lock") == 0);
}

static int remove_file(void **state)
{
    (void)state;
    unlink(path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_holder_is_named_and_dies_with_its_lock, remove_file),
        cmocka_unit_test_teardown(a_released_lock_is_free_and_anonymous, remove_file),
        cmocka_unit_test_teardown(children_do_not_inherit_it, remove_file),
        cmocka_unit_test(an_unusable_file_is_said_to_be),
        cmocka_unit_test(the_machine_has_one_path),
    };
    return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
