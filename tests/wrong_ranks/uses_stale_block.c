/*
 * uses_stale_block: each step computes with the keys of the step before, as if it had not waited for those
 * that arrive.
 */
#include "ring.h"

struct ring_travel;
void __real_ring_compute(struct ring *ring, const void *q, const void *kv,
                         const struct ring_part *keys, bool first, struct ring_travel *travel);
void __wrap_ring_compute(struct ring *ring, const void *q, const void *kv,
                         const struct ring_part *keys, bool first, struct ring_travel *travel);

void __wrap_ring_compute(struct ring *ring, const void *q, const void *kv,
                         const struct ring_part *keys, bool first, struct ring_travel *travel)
{
    static const void *before;
    __real_ring_compute(ring, q, first ? kv : before, keys, first, travel);
    before = kv;
}
