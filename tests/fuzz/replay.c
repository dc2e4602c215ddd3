/*
 * replay: a fuzzer without libFuzzer, for any compiler: each file of a folder of seeds as it is, then damaged.
 *
 *   replay_NAME FOLDER [DAMAGED [some]]   each file so many times with damage of its own, the same in every run:
 *                                         200; some: a fiftieth to a half of these texts must be accepted
 *   replay_NAME FILE NUMBER               one of these copies alone; 0: the seed as it is
 *
 * Ends as fuzzers do: at the first input that crashes the reader or breaks a promise, after printing the command
 * that gives this input alone.
 */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutate.h"

#define MOST 16384 /* bytes of an input, as scripts/dev/fuzz has it */

static const char *program;

/* The last line before the reader ends the program is the command. */
static void give(const char *path, size_t n, const uint8_t *bytes, size_t size)
{
    fprintf(stderr, "%s %s %zu\n", program, path, n);
    /* The reader's own copy, so that the sanitizers see each byte that it reads beyond the end. */
    uint8_t *copy = malloc(size ? size : 1);
    require(copy, "memory");
    memcpy(copy, bytes, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static size_t read_seed(const char *path, uint8_t *bytes)
{
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

/* Gives a seed's copies first to last; 0 is the seed itself. */
static void replay(const char *path, size_t first, size_t last)
{
    static uint8_t seed[MOST], bytes[MOST];
    const size_t size = read_seed(path, seed);
    for (size_t n = first; n <= last; n++) {
        struct mutator mutator = {.key = size, .drawn = (uint64_t)n << 32, .words = words};
        memcpy(bytes, seed, size);
        give(path, n, bytes, n ? mutate_bytes(&mutator, bytes, size, MOST) : size);
    }
}

int main(int argc, char **argv)
{
    require(argc > 1, "a folder of seeds, or one of them");
    program = argv[0];
    const size_t damaged = argc > 2 ? strtoull(argv[2], NULL, 10) : 200;
    DIR *folder = opendir(argv[1]);
    if (!folder) {
        replay(argv[1], damaged, damaged);
        return 0;
    }
    char path[1024];
    size_t seeds = 0;
    for (const struct dirent *entry; (entry = readdir(folder));)
        if (entry->d_name[0] != '.') {
            snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
            replay(path, 0, damaged);
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
