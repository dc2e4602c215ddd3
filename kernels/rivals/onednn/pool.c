/*
 * pool: blocks that are used again.
 */
#include "pool.h"

#include <stdbool.h>
#include <stdlib.h>

#define BLOCKS 64
#define ALIGN 64 /* bytes: a cache line */

static struct {
    void *memory;
    size_t size;
    bool used;
} blocks[BLOCKS];

/* A graph's calls come from one thread; what its primitives do inside takes no memory. */
void *attn_onednn_pool_alloc(size_t size, size_t alignment)
{
    const size_t align = alignment > ALIGN ? alignment : ALIGN;
    int empty = -1;
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].memory && !blocks[i].used && blocks[i].size >= size &&
            (size_t)blocks[i].memory % align == 0) {
            blocks[i].used = true;
            return blocks[i].memory;
        }
        if (!blocks[i].memory)
            empty = i;
    }
    const size_t room = (size + align - 1) / align * align;
    void *memory = room >= size ? aligned_alloc(align, room ? room : align) : NULL;
    if (memory && empty >= 0) {
        blocks[empty].memory = memory;
        blocks[empty].size = room;
        blocks[empty].used = true;
    }
    return memory;
}

void attn_onednn_pool_free(void *memory)
{
    for (int i = 0; i < BLOCKS; i++)
        if (memory && blocks[i].memory == memory) {
            blocks[i].used = false;
            return;
        }
    free(memory);
}

void attn_onednn_pool_empty(void)
{
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].memory && !blocks[i].used) {
            free(blocks[i].memory);
            blocks[i].memory = NULL;
        }
}
