/*
 * replay: a fuzzer without libFuzzer, for any compiler: each file of a folder of seeds as it is, then damaged.
 *
 *   replay_NAME FOLDER [DAMAGED [some]]   each file so many times with damage of its own, the same in every run:
 *                                         200; some: a fiftieth to a half of these texts must be accepted
 *
 * Ends as fuzzers do: at the first input that crashes the reader or breaks a promise, after naming it.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

#define MOST 16384 /* bytes of an input, as scripts/dev/fuzz has it */

static size_t damaged = 200;

/* What a message says when the reader ends the program. */
static void give(const char *name, size_t n, const uint8_t *bytes, size_t size)
{
    fprintf(stderr, "%s, damage %zu\n", name, n);
    /* The reader's own copy, so that the sanitizers see each byte that it reads beyond the end. */
    uint8_t *copy = malloc(size ? size : 1);
    require(copy, "memory");
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t read_seed(const char *folder, const char *name, uint8_t *bytes)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    require(file, "a seed that can be read");
    const size_t size = fread(bytes, 1, MOST, file);
    fclose(file);
    return size;
}

/* Pieces of JSON, of problems and inputs, of suites, and what printf() would read. */
/* clang-format off */
static const char *const words[] = {
    "null", "-1", "1e999", "\"", "{", "]", ",", "\\ud800", ",h=", "skv=", "hkv=", "dtype=", "kv_dtype=i8", "mask=",
    "causal", "+bool", ":", "window=", "softcap=", "e-45", "page=", "outputs=", "+weights", "=", "4611686018427387904",
    "18446744073709551616", " input=", "needle:", "file:", "+lens:", "#", "\n", "\r\n", "b: d=8\n", "\x80", "%n", NULL};
/* clang-format on */

static void replay(const char *folder, const char *name)
{
    static uint8_t seed[MOST], bytes[MOST];
    const size_t size = read_seed(folder, name, seed);
    struct mutator mutator = {.key = size, .words = words};
    give(name, 0, seed, size);
    for (size_t n = 1; n <= damaged; n++) {
        memcpy(bytes, seed, size);
        give(name, n, bytes, mutate_bytes(&mutator, bytes, size, MOST));
    }
}

int main(int argc, char **argv)
{
    require(argc > 1, "a folder of seeds");
    if (argc > 2)
        damaged = strtoull(argv[2], NULL, 10);
    DIR *folder = opendir(argv[1]);
    require(folder, "a folder that can be opened");
    size_t seeds = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            replay(argv[1], entry->d_name);
            seeds++;
        }
    closedir(folder);
    require(seeds > 0, "seeds");
    printf("%zu seeds, each damaged %zu times; %zu texts accepted\n", seeds, damaged,
           fuzz_accepted);
    require(argc <= 3 ||
                (fuzz_accepted >= seeds * damaged / 50 && fuzz_accepted <= seeds * damaged / 2),
            "damage that is neither all refused nor all accepted");
    return 0;
}
