/*
 * printed: keeps the last bytes of a pipe in a ring buffer.
 */
#include "printed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/printable.h"

#define NOTE 64
#define AT_ONCE \
    64 /* reads at once: a child that prints endlessly must not keep this process from its deadline */

static void keep(struct printed *printed, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        printed->last[printed->bytes++ % PRINTED_KEPT] = text[i];
}

void printed_read(struct printed *printed)
{
    char text[16384];
    for (int i = 0; printed->fd >= 0 && i < AT_ONCE; i++) {
        const ssize_t n = read(printed->fd, text, sizeof text);
        if (n > 0) {
            keep(printed, text, (size_t)n);
        } else if (n < 0 && errno == EAGAIN) {
            return;
        } else if (n == 0 || errno != EINTR) {
            close(printed->fd);
            printed->fd = -1;
        }
    }
}

char *printed_text(const struct printed *printed)
{
    char last[PRINTED_KEPT] = {0};
    const size_t size = PRINTABLE_GROWTH * PRINTED_KEPT + NOTE;
    const size_t length = printed->bytes < PRINTED_KEPT ? printed->bytes : PRINTED_KEPT;
    const size_t begin = printed->bytes - length;
    char *text = length ? malloc(size) : NULL;
    size_t n = 0, skipped = 0;
    if (!text)
        return NULL;
    for (size_t i = 0; i < length; i++)
        last[i] = printed->last[(begin + i) % PRINTED_KEPT];
    while (begin && skipped < 3 && ((unsigned char)last[skipped] & 0xc0) == 0x80)
        skipped++; /* the rest of a character */
    if (begin)
        n = (size_t)snprintf(text, size, "[%zu bytes came before these]\n", begin + skipped);
    printable(last + skipped, length - skipped, text + n, size - n);
    return text;
}
