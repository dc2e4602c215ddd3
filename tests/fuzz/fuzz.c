/*
 * fuzz: promises, texts and files.
 */
#define _GNU_SOURCE
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

size_t fuzz_accepted;

void require(bool kept, const char *promise)
{
    if (kept)
        return;
    fprintf(stderr, "broken promise: %s\n", promise);
    abort();
}

void require_message(struct message message)
{
    const size_t length = strnlen(message.text, message.size);
    require(length > 0 && length < message.size, "a message has words and an end");
    for (size_t i = 0; i < length; i++)
        require(message.text[i] >= ' ' && message.text[i] <= '~',
                "a message is one printable line");
}

char *fuzz_text(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    require(text != NULL, "memory");
    if (size)
        memcpy(text, bytes, size);
    text[size] = 0;
    return text;
}

const char *fuzz_file(const uint8_t *bytes, size_t size)
{
    static int fd = -1; /* one for all inputs: making it takes longer than reading */
    static char path[64];
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        require(fd >= 0, "a file in memory");
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    require(ftruncate(fd, (off_t)size) == 0 && pwrite(fd, bytes, size, 0) == (ssize_t)size,
            "its bytes");
    return path;
}
