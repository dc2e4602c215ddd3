/*
 * loses_block: a rank computes all blocks of the keys that have travelled to it but the last.
 */
#include "ring.h"

size_t __real_ring_blocks(const struct attn_problem *problem, const struct ring_part *queries,
                          const struct ring_part *keys, struct ring_block blocks[RING_BLOCKS]);
size_t __wrap_ring_blocks(const struct attn_problem *problem, const struct ring_part *queries,
                          const struct ring_part *keys, struct ring_block blocks[RING_BLOCKS]);

size_t __wrap_ring_blocks(const struct attn_problem *problem, const struct ring_part *queries,
                          const struct ring_part *keys, struct ring_block blocks[RING_BLOCKS])
{
    const size_t count = __real_ring_blocks(problem, queries, keys, blocks);
    return count && keys->first[0] > 0 ? count - 1 : count; /* not those of rank 0 */
}
