/*
 * Damaged safetensors files: each is refused with one printable line, or every tensor that it then
 * has lies within the file, apart from the others, and can be read to its last element.
 *
 * The damage is the same in every run.  More of it, and other: test_fuzz_safetensors COUNT SEED.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mutate.h"
#include "problem/safetensors.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define CAPACITY 1024
#define PREFIX 8 /* bytes of the header's length */

static size_t files = 20000;
static uint64_t seed = 1;

static const char *const words[] = {
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"dtype\":",
    "\"F32\"",
    "\"BF16\"",
    "\"BOOL\"",
    "\"shape\":",
    "\"data_offsets\":",
    "\"__metadata__\":",
    "\"a\":{",
    "null",
    "true",
    "-1",
    "0",
    "1",
    "8",
    "16",
    "2147483648",
    "4294967296",
    "9223372036854775807",
    "18446744073709551615",
    "1e3",
    "0.5",
    "\\u0000",
    "\\n",
    "\\ud800",
    "[[[[[[[[[[[[[[[[",
    " ",
    "\n",
    "\xff",
    "%s%n",
    NULL,
};

static const char *const headers[] = {
    "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
    "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[8,16]}}",
    "{\"__metadata__\":{\"x\":\"y\"},\"a\":{\"dtype\":\"F16\",\"shape\":[],\"data_offsets\":[0,2]},"
    "\"e\":{\"dtype\":\"F64\",\"shape\":[3,0],\"data_offsets\":[2,2]},"
    "\"z\":{\"dtype\":\"I8\",\"shape\":[14],\"data_offsets\":[2,16]}}   ",
    "{\"only\":{\"dtype\":\"F32\",\"shape\":[1,1,2,2],\"data_offsets\":[0,16]}}",
};

/* A file with a damaged header, or damaged anywhere.  Most damage would end at the length of the
 * header, were it not right for what the header became. */
static size_t damaged(struct mutator *m, unsigned char file[CAPACITY])
{
    static const unsigned char data[16] = {1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0xff, 0xff, 0x7f};
    const char *header = headers[mutate_below(m, COUNT(headers))];
    size_t n = strlen(header);
    const bool anywhere = mutate_below(m, 4) == 0;
    memcpy(file + PREFIX, header, n);
    if (!anywhere)
        n = mutate_bytes(m, file + PREFIX, n, CAPACITY - PREFIX - sizeof data);
    for (size_t i = 0; i < PREFIX; i++)
        file[i] = (unsigned char)(n >> 8 * i);
    memcpy(file + PREFIX + n, data, sizeof data);
    n += PREFIX + sizeof data;
    return anywhere ? mutate_bytes(m, file, n, CAPACITY) : n;
}

static void assert_line(const char *message, const char *path)
{
    assert_memory_equal(message, path, strlen(path));
    assert_true(strlen(message) > strlen(path) + 2);
    for (const char *c = message; *c; c++)
        if (*c < ' ' || *c > '~')
            fail_msg("byte %02x in a message: %s", (unsigned char)*c, message);
}

/* Every element is read; what lies outside the file would not add up. */
static void assert_tensors(const struct safetensors *file, size_t file_bytes)
{
    size_t bytes = 0;
    for (size_t n = 0; n < safetensors_count(file); n++) {
        const struct safetensor *t = safetensors_at(file, n);
        char text[SAFETENSORS_SHAPE_TEXT];
        volatile unsigned char last = 0;
        size_t elements = 1;
        for (size_t i = 0; i < t->rank; i++)
            elements *= t->shape[i];
        for (size_t i = 0; i < t->bytes; i++)
            last = ((const unsigned char *)t->data)[i];
        (void)last;
        if (safetensors_is_shape(t, t->shape, t->rank) && elements)
            safetensors_get(t, elements - 1);
        safetensors_print_shape(t, text);
        bytes += t->bytes;
    }
    assert_in_range(bytes, 0, file_bytes - PREFIX - 2);
}

static void any_file_is_refused_or_sound(void **state)
{
    (void)state;
    struct mutator m = {.key = seed, .words = words};
    char path[] = "fuzz_safetensors.XXXXXX";
    const int fd = mkstemp(path);
    size_t accepted = 0;
    assert_true(fd >= 0);
    for (size_t i = 0; i < files; i++) {
        unsigned char bytes[CAPACITY];
        char message[256] = "";
        const size_t n = damaged(&m, bytes);
        assert_int_equal(pwrite(fd, bytes, n, 0), n);
        assert_int_equal(ftruncate(fd, (off_t)n), 0);
        struct safetensors *file = safetensors_open(path, message, sizeof message);
        if (file) {
            accepted++;
            assert_tensors(file, n);
        } else {
            assert_line(message, path);
        }
        safetensors_close(file);
    }
    close(fd);
    remove(path);
    assert_in_range(accepted, files / 100, files / 2);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_file_is_refused_or_sound),
    };
    if (argc > 2) {
        files = strtoull(argv[1], NULL, 10);
        seed = strtoull(argv[2], NULL, 10);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
