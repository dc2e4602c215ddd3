/*
 * safetensors files: what was written is read; what the format forbids is refused, and why.
 */
#include "testing.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loaded_cases.h"
#include "problem/safetensors.h"

static const char path[] = "t.safetensors"; /* in a directory that the test is in */

static struct safetensors *opened(const char *from)
{
    struct safetensors *file = safetensors_open(from, MESSAGE(message));
    if (!file)
        fail_msg("%s", message);
    return file;
}

/* A file of a header and some bytes of data; `length` is what it says the header's length is. */
static void write_raw(uint64_t length, const char *header, size_t data_bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (int n = 0; n < 8; n++)
        fputc((int)(length >> 8 * n & 0xff), file);
    fputs(header, file);
    for (size_t n = 0; n < data_bytes; n++)
        fputc((int)n, file);
    fclose(file);
}

TEST(what_is_written_is_read)
{
    const float single[] = {1, -2, 3.5f, INFINITY, 0, 7};
    const uint16_t brain[] = {0x3f80, 0xc000}, half[] = {0x3c00, 0x0001, 0xfbff};
    const double real[] = {0.1};
    const struct safetensor tensors[] = {
        {.name = "layer0.q",
         .dtype = ATTN_F32,
         .rank = 2,
         .shape = {2, 3},
         .data = single,
         .bytes = 24},
        {.name = "b", .dtype = ATTN_BF16, .rank = 1, .shape = {2}, .data = brain, .bytes = 4},
        {.name = "h", .dtype = ATTN_F16, .rank = 3, .shape = {1, 3, 1}, .data = half, .bytes = 6},
        {.name = "d", .dtype = ATTN_F64, .rank = 0, .data = real, .bytes = 8},
        {.name = "empty", .dtype = ATTN_F32, .rank = 1, .shape = {0}, .data = single, .bytes = 0},
    };
    char text[SAFETENSORS_SHAPE_TEXT];
    assert_true(safetensors_write(path, tensors, COUNT(tensors), MESSAGE(message)));
    assert_true(safetensors_write(path, tensors, COUNT(tensors), MESSAGE(message)));
    struct safetensors *file = opened(path);
    assert_int_equal(safetensors_count(file), COUNT(tensors));
    const struct safetensor *q = safetensors_find(file, "", "layer0.q");
    assert_true(safetensors_is_shape(q, (const size_t[]){2, 3}, 2));
    assert_false(safetensors_is_shape(q, (const size_t[]){3, 2}, 2));
    assert_false(safetensors_is_shape(q, (const size_t[]){2}, 1));
    assert_true(safetensors_get(q, 2) == 3.5 && safetensors_get(q, 5) == 7);
    assert_true(safetensors_get(safetensors_find(file, "", "b"), 1) == -2);
    const struct safetensor *h = safetensors_find(file, "", "h");
    assert_true(safetensors_get(h, 1) == 0x1p-24 && safetensors_get(h, 2) == -65504);
    safetensors_print_shape(h, text);
    assert_string_equal(text, "f16 (1,3,1)");
    assert_true(safetensors_get(safetensors_find(file, "", "d"), 0) == 0.1);
    assert_null(safetensors_find(file, "", "nothing"));
    assert_ptr_equal(safetensors_find(file, "layer0.", "q"), q);
    assert_null(safetensors_find(file, "layer1.", "q"));
    assert_null(safetensors_find(file, "layer0.", ""));
    assert_null(safetensors_at(file, COUNT(tensors)));
    safetensors_close(file);
}

/* Written by the format's own Python package. */
TEST(a_real_file_is_read)
{
    struct safetensors *file = opened(TEST_DATA "/minilm-preamble.safetensors");
    const struct safetensor *q = safetensors_find(file, "", "layer1.q");
    assert_non_null(q);
    assert_int_equal(q->rank, 4);
    assert_string_equal(q->format, "F32");
    double sum = 0;
    for (size_t n = 0; n < q->bytes / 4; n++)
        sum += fabs(safetensors_get(q, n));
    assert_true(isfinite(sum) && sum > 0);
    safetensors_close(file);
}

#define F32(shape, begin, end) \
    "{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":[" begin "," end "]}"

TEST(hostile_files_are_refused)
{
    const struct {
        const char *header;
        size_t data_bytes;
        const char *why;
    } table[] = {
        {"{\"t\":" F32("[2]", "0", "8"), 8, "header: "},
        {"[1]", 0, "header is not a JSON object"},
        {"{\"t\":" F32("[2]", "0", "8") "}", 7, "tensor t: data_offsets reach past the end"},
        {"{\"t\":" F32("[2]", "0", "8") "}", 9, "1 unused bytes at the end"},
        {"{\"t\":" F32("[2]", "1", "9") "}", 9, "1 unused bytes in front of tensor t"},
        {"{\"t\":" F32("[2]", "8", "0") "}", 8, "tensor t: data_offsets run backwards"},
        {"{\"t\":" F32("[2]", "-8", "0") "}", 8, "tensor t: data_offsets is not a pair"},
        {"{\"t\":" F32("[2]", "0.0", "8") "}", 8, "tensor t: data_offsets is not a pair"},
        {"{\"t\":" F32("[2]", "0,4", "8") "}", 8, "tensor t: data_offsets is not a pair"},
        {"{\"t\":" F32("[3]", "0", "8") "}", 8, "tensor t: shape and dtype do not match"},
        {"{\"t\":" F32("[-2]", "0", "8") "}", 8, "tensor t: shape is not a list"},
        {"{\"t\":" F32("[1,1,1,1,1,1,1,1,2]", "0", "8") "}", 8, "tensor t: shape is not a list"},
        {"{\"t\":" F32("2", "0", "8") "}", 8, "tensor t: shape is not a list"},
        {"{\"t\":" F32("[4294967296,4294967296,2]", "0", "8") "}", 8, "tensor t: shape overflows"},
        {"{\"t\":" F32("[4611686018427387904]", "0", "0") "}", 0,
         "tensor t: shape and dtype do not"},
        {"{\"t\":" F32("[99999999999999999999]", "0", "8") "}", 8, "header: "},
        {"{\"t\":{\"dtype\":\"F8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
         "tensor t: unknown dtype"},
        {"{\"t\":{\"dtype\":4,\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
         "tensor t: not an object"},
        {"{\"t\":{\"shape\":[1],\"data_offsets\":[0,1]}}", 1, "tensor t: not an object"},
        {"{\"t\":[]}", 0, "tensor t: not an object"},
        {"{\"t\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, "tensor t: shape is not a list"},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, "tensor t: data_offsets is not a pair"},
        {"{\"s\":" F32("[2]", "0", "8") ",\"t\":" F32("[2]", "4", "12") "}", 12,
         "tensor t overlaps tensor s"},
        {"{\"s\":" F32("[2]", "0", "8") ",\"t\":" F32("[1]", "0", "4") "}", 8,
         "tensor s overlaps tensor t"},
        {"{\"t\":" F32("[1]", "0", "4") ",\"t\":" F32("[1]", "4", "8") "}", 8, "duplicate"},
        {"{\"a\\n\\u00e4\":[]}", 0, "tensor a???: not an object"},
    };
    for (size_t n = 0; n < COUNT(table); n++) {
        write_raw(strlen(table[n].header), table[n].header, table[n].data_bytes);
        message[0] = 0;
        struct safetensors *file = safetensors_open(path, MESSAGE(message));
        if (file || !strstr(message, table[n].why) || strncmp(message, path, strlen(path)) != 0)
            fail_msg("%s: got \"%s\", expected \"%s\"", table[n].header, message, table[n].why);
    }
}

TEST(header_lengths_are_not_believed)
{
    const struct {
        uint64_t length;
        const char *why;
    } table[] = {
        {3, "header of 3 bytes is longer than the file"},
        {99999999, "longer than the file"},
        {100000001, "longer than the limit"},
        {UINT64_MAX, "header of 18446744073709551615 bytes is longer than the limit"},
        {UINT64_MAX - 7, "longer than the limit"},
        {0, "header: "},
        {1, "header: "},
    };
    for (size_t n = 0; n < COUNT(table); n++) {
        write_raw(table[n].length, "{}", 0);
        message[0] = 0;
        assert_null(safetensors_open(path, MESSAGE(message)));
        assert_non_null(strstr(message, table[n].why));
    }
}

/* Every prefix of a good file is refused. */
TEST(truncated_files_are_refused)
{
    const char header[] = "{\"s\":" F32("[2]", "0", "8") ",\"t\":" F32("[1,3]", "8", "20") "}";
    write_raw(strlen(header), header, 20);
    safetensors_close(opened(path));
    for (off_t bytes = (off_t)strlen(header) + 27; bytes >= 0; bytes--) {
        assert_int_equal(truncate(path, bytes), 0);
        message[0] = 0;
        assert_null(safetensors_open(path, MESSAGE(message)));
        assert_non_null(strstr(message, path));
    }
}

/* Half of what another process writes anew, as a shell's > does, is refused, and ends nobody. */
TEST(files_that_change_are_opened_or_refused)
{
    int ends[2] = {0};
    const pid_t writer = fork();
    if (writer == 0) {
        alarm(60); /* it outlives a test that dies */
        for (;;)
            write_raw(2, "{}", 0);
    }
    assert_true(writer > 0);
    while (ends[0] < 500 || ends[1] < 500) {
        message[0] = 0;
        struct safetensors *file = safetensors_open(path, MESSAGE(message));
        ends[file != NULL]++;
        safetensors_close(file);
    }
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
}

TEST(unreadable_paths_are_refused)
{
    message[0] = 0;
    assert_null(safetensors_open("/nowhere/file", MESSAGE(message)));
    assert_string_equal(message, "/nowhere/file: No such file or directory");
    message[0] = 0;
    assert_null(safetensors_open(".", MESSAGE(message)));
    assert_non_null(strstr(message, "not a regular file"));
}

TEST(a_failed_write_leaves_what_was_there)
{
    const float one = 1;
    const struct safetensor t = {
        .name = "t", .dtype = ATTN_F32, .rank = 1, .shape = {1}, .data = &one, .bytes = 4};
    assert_false(safetensors_write("/nowhere/file", &t, 1, MESSAGE(message)));
    assert_non_null(strstr(message, "cannot write /nowhere/file: No such file or directory"));

    struct stat status;
    message[0] = 0;
    assert_false(safetensors_write("/dev/full", &t, 1, MESSAGE(message)));
    assert_non_null(strstr(message, "No space left on device"));
    assert_int_equal(stat("/dev/full", &status), 0);
    assert_true(S_ISCHR(status.st_mode));

    assert_false(safetensors_write(".", &t, 1, MESSAGE(message)));
    assert_non_null(strstr(message, "Is a directory"));
}

/* Nothing is made, and what is there stays; leave_directory() sees that nothing is left aside. */
TEST(whether_it_can_be_written_is_known_before)
{
    static const char link[] = "link";
    struct stat status;
    remove(path);
    assert_true(safetensors_writable(path, MESSAGE(message)));
    assert_int_equal(access(path, F_OK), -1);

    assert_int_equal(symlink(path, link), 0);
    assert_true(safetensors_writable(link, MESSAGE(message)));
    assert_int_equal(access(path, F_OK), -1);
    write_raw(2, "{}", 0);
    assert_true(safetensors_writable(link, MESSAGE(message)));
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_size, 10);
    assert_int_equal(remove(link) | remove(path), 0);
    assert_true(safetensors_writable("/dev/null", MESSAGE(message)));

    assert_false(safetensors_writable("/nowhere/file", MESSAGE(message)));
    assert_string_equal(message, "cannot write /nowhere/file: No such file or directory");
    assert_false(safetensors_writable(".", MESSAGE(message)));
    assert_non_null(strstr(message, "Is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(a_real_file_is_read),
        cmocka_unit_test(hostile_files_are_refused),
        cmocka_unit_test(header_lengths_are_not_believed),
        cmocka_unit_test(truncated_files_are_refused),
        cmocka_unit_test(files_that_change_are_opened_or_refused),
        cmocka_unit_test(unreadable_paths_are_refused),
        cmocka_unit_test(a_failed_write_leaves_what_was_there),
        cmocka_unit_test(whether_it_can_be_written_is_known_before),
    };
    return cmocka_run_group_tests(tests, enter_directory, leave_directory);
}
