/*
 * Memory files of operands: what one process writes another one maps, at any shift.
 */
#include "testing.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filled_tensors.h"
#include "problem/tensors_view.h"
#include "system/memory_file.h"

static struct problem_case test_case(void)
{
    return case_of("b=2,hq=4,hkv=2,sq=17,skv=33,d=40,dv=24,outputs=o+lse", "normal:3");
}

static int file_of(const struct problem_case *c, size_t sets)
{
    char message[256];
    const int fd = memory_file_create("test");
    assert_true(fd >= 0);
    if (!tensors_fill_file(c, sets, fd, MESSAGE(message)))
        fail_msg("%s", message);
    return fd;
}

static struct tensors_file hold(int fd)
{
    struct tensors_file file;
    char message[256];
    if (!tensors_file_hold(&file, fd, MESSAGE(message)))
        fail_msg("%s", message);
    return file;
}

static void assert_holds_set(const struct problem_case *c, const struct tensor_set *set,
                             uint64_t stream)
{
    struct tensor_set fresh = filled(c, (struct tensors_layout){0}, stream);
    for (size_t b = 0; b < c->problem.batch; b++)
        for (size_t g = 0; g < c->problem.kv_heads; g++)
            for (size_t j = 0; j < c->problem.kv_len; j++) {
                assert_memory_equal(attn_row(&set->tensors.k, b, g, j),
                                    attn_row(&fresh.tensors.k, b, g, j), 40 * sizeof(float));
                assert_memory_equal(attn_row(&set->tensors.v, b, g, j),
                                    attn_row(&fresh.tensors.v, b, g, j), 24 * sizeof(float));
            }
    assert_memory_equal(attn_row(&set->tensors.q, 1, 3, 16), attn_row(&fresh.tensors.q, 1, 3, 16),
                        40 * sizeof(float));
    tensors_free(&fresh);
}

TEST(sets_are_mapped_at_any_shift)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 3);
    const size_t shifts[] = {0, 64, 4032, 2048, 0};
    struct tensors_file file = hold(fd);
    for (size_t n = 0; n < 5; n++) {
        tensors_file_move(&file, shifts[n]);
        for (size_t index = 0; index < 3; index++) {
            struct tensor_set set;
            char message[256];
            if (!tensors_map(&set, &c.problem, fd, index, shifts[n], false, MESSAGE(message)))
                fail_msg("%s", message);
            assert_int_equal((uintptr_t)set.tensors.q.data % 4096, shifts[n]);
            assert_null(tensors_changed(&set, &c.problem));
            assert_holds_set(&c, &set, index);
            struct tensors_spot spot;
            assert_false(tensors_written(&set, &c.problem, &spot));
            tensors_free(&set);
        }
    }
    tensors_file_release(&file);
    close(fd);
}

TEST(another_process_sees_the_same)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 1);
    const pid_t child = fork();
    if (child == 0) {
        struct tensor_set set;
        char message[256];
        const bool ok = tensors_map(&set, &c.problem, fd, 0, 0, false, MESSAGE(message)) &&
                        !tensors_changed(&set, &c.problem);
        _exit(ok ? 0 : 1);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(fd);
}

/* Others only read: a process that maps them where they are not has been told something else. */
TEST(another_shift_is_refused)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 1);
    struct tensor_set set;
    char message[256];
    assert_false(tensors_map(&set, &c.problem, fd, 0, 128, false, MESSAGE(message)));
    assert_string_equal(message, "the operands lie at a shift of 0 bytes, not 128");
    close(fd);
}

/* The one who holds the file moves operands also when nobody can write to it any more. */
TEST(frozen_operands_can_be_moved)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 2);
    struct tensors_file file = hold(fd);
    const int lent = memory_file_freeze(fd);
    struct tensor_set set;
    char message[256];
    close(fd);
    tensors_file_move(&file, 192);
    if (!tensors_map(&set, &c.problem, lent, 1, 192, false, MESSAGE(message)))
        fail_msg("%s", message);
    assert_null(tensors_changed(&set, &c.problem));
    assert_holds_set(&c, &set, 1);
    assert_int_equal(mprotect(set.mapping[0], set.mapping_bytes[0], PROT_READ | PROT_WRITE), -1);
    tensors_free(&set);
    tensors_file_release(&file);
    close(lent);
}

/* A kernel that writes its inputs must not spoil them for the next process. */
TEST(operands_cannot_be_written)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 1);
    const pid_t child = fork();
    if (child == 0) {
        struct tensor_set set;
        char message[256];
        signal(SIGSEGV, SIG_DFL);
        if (tensors_map(&set, &c.problem, fd, 0, 0, false, MESSAGE(message)))
            *(volatile float *)set.tensors.q.data = 1;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    close(fd);
}

TEST(what_the_file_lacks_is_refused)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 1);
    struct tensor_set set;
    char message[256];
    assert_false(tensors_map(&set, &c.problem, fd, 1, 0, false, MESSAGE(message)));
    assert_non_null(strstr(message, "does not hold set 1"));
    close(fd);
    assert_false(tensors_fill_file(&c, 1, -1, MESSAGE(message)));
    assert_non_null(strstr(message, "cannot allocate"));

    struct attn_problem large = c.problem;
    large.kv_len = large.q_len = (size_t)1 << 40;
    large.batch = 1 << 10;
    static const struct tensors_shape plain;
    assert_true(tensors_file_bytes(&large, &plain, (size_t)1 << 30) == SIZE_MAX);
    const size_t operands = 4 * (4 * 2 * 17 * 40 + 2 * 2 * 33 * 64), page = tensors_page();
    assert_in_range(tensors_file_bytes(&c.problem, &plain, 1), operands,
                    operands + 3 * TENSORS_SHIFT_RANGE + 4 * page +
                        8 * (TENSORS_OPERANDS + 1) * TENSORS_FILE_SETS);
}

/* Address and place in the file agree within 2 MiB, and the operands are there. */
TEST(sets_are_mapped_where_huge_pages_fit)
{
    const struct problem_case c = test_case();
    const int fd = file_of(&c, 3);
    struct tensors_file file = hold(fd);
    const int lent = memory_file_freeze(fd);
    tensors_file_move(&file, 64);
    for (size_t index = 0; index < 3; index++) {
        struct tensor_set set;
        char message[256];
        if (!tensors_map(&set, &c.problem, lent, index, 64, true, MESSAGE(message)))
            fail_msg("%s", message);
        const size_t offset = tensors_file_bytes(&c.problem, &set.shape, index);
        assert_int_equal((uintptr_t)set.mapping[0] % (2 << 20), offset % (2 << 20));
        assert_holds_set(&c, &set, index);
        tensors_free(&set);
    }
    tensors_file_release(&file);
    close(lent);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_are_mapped_at_any_shift),
        cmocka_unit_test(sets_are_mapped_where_huge_pages_fit),
        cmocka_unit_test(another_process_sees_the_same),
        cmocka_unit_test(another_shift_is_refused),
        cmocka_unit_test(frozen_operands_can_be_moved),
        cmocka_unit_test(operands_cannot_be_written),
        cmocka_unit_test(what_the_file_lacks_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
