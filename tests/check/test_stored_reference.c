/*
 * Stored rows of the reference: they give the verdict of computed ones, for their own input only, and a check
 * stores what it had to compute.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <xxhash.h>

#include "check/compare.h"
#include "passes.h"
#include "problem/filled_tensors.h"

extern const struct attn_kernel wrong_honest, wrong_honest_bf16, wrong_honest_f64,
    wrong_nan_vanishes;

static int file_of(off_t bytes)
{
    const int fd = memfd_create("reference", 0);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, bytes), 0);
    return fd;
}

static off_t size_of(int fd)
{
    return lseek(fd, 0, SEEK_END);
}

static int stored_rows_of(const struct problem_case *c)
{
    char message[256];
    const int fd = file_of(0);
    if (!stored_reference_create(c, fd, MESSAGE(message)))
        fail_msg("%s", message);
    return fd;
}

TEST(a_stored_reference_gives_the_same_verdict)
{
    static const struct {
        const struct attn_kernel *kernel;
        const char *problem;
    } table[] = {
        {&wrong_honest, "hq=4,hkv=2,sq=40,skv=30,d=24,dv=17,mask=causal,outputs=o+lse"},
        {&wrong_honest_f64, "h=2,sq=20,skv=15,d=12,mask=causal,dtype=f64,outputs=o+lse"},
        {&wrong_honest_bf16, "h=2,sq=20,skv=15,d=12,mask=causal,dtype=bf16,outputs=o+lse"},
        {&wrong_honest_bf16, "h=2,sq=20,skv=15,d=12,mask=causal,outputs=o+lse"},
        {&wrong_honest_bf16, "h=2,sq=20,skv=15,d=12,mask=causal,dtype=f16"},
    };
    for (size_t n = 0; n < COUNT(table); n++) {
        struct check_result computed, looked_up;
        const struct problem_case c = case_of(table[n].problem, "normal:4");
        assert_true(check_kernel(table[n].kernel, &c, THREADS, CHECK_CASE, &computed));
        const int fd = stored_rows_of(&c), fresh = file_of(0);
        assert_int_equal(ftruncate(fd, size_of(fd) + (1 << 20)), 0);
        stored_reference_use(fd, fresh);
        assert_true(check_kernel(table[n].kernel, &c, THREADS, CHECK_CASE, &looked_up));
        assert_int_equal(size_of(fresh), 0); /* found all */
        assert_int_equal(computed.rows, looked_up.rows);
        assert_true(computed.max_abs_error == looked_up.max_abs_error);
        assert_true(fabs(computed.error_over_bound / looked_up.error_over_bound - 1) < 1e-6);
        stored_reference_use(-1, -1);
        close(fd);
        close(fresh);
    }
}

/* Of h=2,s=20,d=8: 40 rows of which each has 48 bytes, then O, its bounds and its magnitudes. */
enum { ROWS = 40, HEADER = 48, ROW_BYTES = HEADER + 3 * 8 * 8 };

/* Spoils the first element of O in each row, whose hash is made to fit. */
static void spoil(int fd)
{
    const double wrong = 77;
    char row[ROW_BYTES];
    assert_int_equal(size_of(fd), ROWS * ROW_BYTES);
    for (off_t at = 0; at < ROWS * ROW_BYTES; at += ROW_BYTES) {
        assert_int_equal(pread(fd, row, ROW_BYTES, at), ROW_BYTES);
        memcpy(row + HEADER, &wrong, sizeof wrong);
        const uint64_t hash = XXH3_64bits(row + sizeof hash, ROW_BYTES - sizeof hash);
        memcpy(row, &hash, sizeof hash);
        assert_int_equal(pwrite(fd, row, ROW_BYTES, at), ROW_BYTES);
    }
}

TEST(a_stored_reference_is_used_for_its_input_only)
{
    const struct problem_case c = case_of("h=2,s=20,d=8", "normal:4");
    const int fd = stored_rows_of(&c);
    spoil(fd);
    stored_reference_use(fd, -1);
    struct check_result result;
    assert_false(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_non_null(strstr(result.why, "expected 77"));
    const char *const others[][2] = {{"h=2,s=20,d=8", "normal:5"},
                                     {"h=2,s=21,d=8", "normal:4"},
                                     {"h=2,s=20,d=8,mask=causal", "normal:4"},
                                     {"h=2,s=20,d=8,scale=0.5", "normal:4"},
                                     {"h=2,s=20,d=8,outputs=o+weights", "normal:4"}};
    for (size_t n = 0; n < COUNT(others); n++) {
        const struct problem_case other = case_of(others[n][0], others[n][1]);
        const char *why;
        const struct attn_kernel *naive = attn_find("naive", ATTN_ISA_BASELINE);
        assert_true(attn_supports(naive, &other.problem, &why));
        assert_true(check_kernel(naive, &other, THREADS, CHECK_CASE, &result));
    }
    stored_reference_use(-1, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    close(fd);
}

TEST(a_damaged_row_of_the_reference_is_not_used)
{
    const struct problem_case c = case_of("h=2,s=20,d=8", "normal:4");
    struct check_result result;
    const int fd = stored_rows_of(&c);
    spoil(fd);
    const char other = 1;
    for (off_t at = ROW_BYTES - 1; at < ROWS * ROW_BYTES; at += ROW_BYTES)
        assert_int_equal(pwrite(fd, &other, 1, at), 1); /* the hash of none fits */
    stored_reference_use(fd, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    spoil(fd);
    assert_int_equal(ftruncate(fd, ROW_BYTES - 1), 0);
    stored_reference_use(fd, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(ftruncate(fd, 0), 0);
    stored_reference_use(fd, -1);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    stored_reference_use(-1, -1);
    close(fd);
}

TEST(rows_that_a_check_computes_are_found_by_the_next)
{
    const struct problem_case c = case_of("h=2,s=20,d=8,outputs=o+lse", "normal:4");
    struct check_result plain, first, second;
    const int empty = file_of(1 << 24), known = file_of(0), fresh = file_of(0);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &plain));
    stored_reference_use(empty, known);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &first));
    const off_t end = size_of(known);
    assert_true(end > ROWS * ROW_BYTES);
    assert_int_equal(ftruncate(known, end + (1 << 20)), 0);
    stored_reference_use(known, fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_FULL, &second));
    assert_int_equal(size_of(fresh), 0);
    assert_int_equal(plain.rows, first.rows);
    assert_int_equal(plain.rows, second.rows);
    assert_true(first.hardest_over_bound == second.hardest_over_bound);
    assert_string_equal(first.hardest, second.hardest);
    assert_false(check_kernel(&wrong_nan_vanishes, &c, THREADS, CHECK_FULL, &second));
    stored_reference_use(-1, -1);
    close(empty);
    close(known);
    close(fresh);
}

TEST(more_rows_than_are_written_at_once_are_stored)
{
    const struct problem_case c = case_of("h=2,sq=2100,skv=3,d=2,outputs=o", "normal:4");
    struct check_result result;
    const int fd = stored_rows_of(&c), fresh = file_of(0);
    assert_int_equal(size_of(fd), 4200 * (HEADER + 3 * 2 * 8));
    assert_int_equal(ftruncate(fd, size_of(fd) + (1 << 20)), 0);
    stored_reference_use(fd, fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(result.rows, 4200);
    assert_int_equal(size_of(fresh), 0);
    stored_reference_use(-1, -1);
    close(fd);
    close(fresh);
}

/* With room for less than a check wants, and with a file that is no longer there, nothing is written. */
TEST(rows_without_room_are_not_stored)
{
    const struct problem_case c = case_of("h=2,s=20,d=8,outputs=o+lse", "normal:4");
    struct check_result result;
    const int known = file_of(ROWS * ROW_BYTES - 1), fresh = file_of(0);
    stored_reference_use(known, fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(size_of(fresh), 0);
    assert_int_equal(ftruncate(known, ROWS * ROW_BYTES), 0);
    stored_reference_use(known, fresh);
    const int other = file_of(3);
    assert_int_equal(dup2(other, fresh), fresh);
    assert_true(check_kernel(&wrong_honest, &c, THREADS, CHECK_CASE, &result));
    assert_int_equal(size_of(other), 3);
    stored_reference_use(-1, -1);
    close(known);
    close(fresh);
    close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stored_reference_gives_the_same_verdict),
        cmocka_unit_test(a_stored_reference_is_used_for_its_input_only),
        cmocka_unit_test(a_damaged_row_of_the_reference_is_not_used),
        cmocka_unit_test(rows_that_a_check_computes_are_found_by_the_next),
        cmocka_unit_test(more_rows_than_are_written_at_once_are_stored),
        cmocka_unit_test(rows_without_room_are_not_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
