/*
 * mutate: deterministic damage to bytes.
 */
#include "mutate.h"

#include <assert.h>
#include <string.h>

#include "base/random.h"

uint64_t mutate_random(struct mutator *m)
{
    return random_bits(m->key, m->drawn++);
}

size_t mutate_below(struct mutator *m, size_t n)
{
    return n ? random_below(m->key, m->drawn++, n) : 0;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Puts what[0, length) at `at`; as much of the end as does not fit is lost. */
static size_t insert(unsigned char *bytes, size_t size, size_t capacity, size_t at,
                     const void *what, size_t length)
{
    length = least(length, capacity - at);
    const size_t kept = least(size - at, capacity - at - length);
    memmove(bytes + at + length, bytes + at, kept);
    memcpy(bytes + at, what, length);
    return at + length + kept;
}

static size_t remove_bytes(unsigned char *bytes, size_t size, size_t at, size_t length)
{
    memmove(bytes + at, bytes + at + length, size - at - length);
    return size - length;
}

static size_t edit(struct mutator *m, unsigned char *bytes, size_t size, size_t capacity)
{
    const size_t at = mutate_below(m, size);
    const size_t length = least(1 + mutate_below(m, 24), size - at);
    unsigned char copy[24];
    size_t words = 0;
    switch (mutate_below(m, 7)) {
    case 0:
        if (size)
            bytes[at] ^= (unsigned char)(1u << mutate_below(m, 8));
        return size;
    case 1:
        if (size)
            bytes[at] = (unsigned char)mutate_random(m);
        return size;
    case 2:
        return remove_bytes(bytes, size, at, length);
    case 3:
        memcpy(copy, bytes + at, length);
        return insert(bytes, size, capacity, mutate_below(m, size), copy, length);
    case 4:
        memcpy(copy, bytes + at, length);
        size = remove_bytes(bytes, size, at, length);
        return insert(bytes, size, capacity, mutate_below(m, size), copy, length);
    case 5:
        return mutate_below(m, 8) ? size : at;
    default:
        while (m->words[words])
            words++;
        assert(words > 0);
        const char *word = m->words[mutate_below(m, words)];
        return insert(bytes, size, capacity, at, word, strlen(word));
    }
}

size_t mutate_bytes(struct mutator *m, unsigned char *bytes, size_t size, size_t capacity)
{
    for (size_t edits = 1 + mutate_below(m, 4); edits > 0; edits--)
        size = edit(m, bytes, size, capacity);
    return size;
}
