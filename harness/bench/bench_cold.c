/*
 * bench_cold: how many sets are more than caches and TLB can hold, and a test of that.
 */
#include <math.h>
#include <unistd.h>

#include "bench.h"
#include "system/ceilings.h"

/* Four times the last-level cache, because pseudo-LRU replacement would keep some lines of twice as much.
 * And four times as many pages as any TLB has entries, 2048 to 4096 in processors of 2025 (Zen 5, Golden
 * Cove); pages have 4 KiB on x86, 4 to 64 KiB on AArch64. */
size_t bench_cold_sets(const struct machine *machine, double bytes)
{
    static const double unknown = 64 << 20;
    const double tlb_reach = 4096 * (double)sysconf(_SC_PAGESIZE);
    const double cache = (double)machine_last_level_bytes(machine);
    const double rotation = 4 * fmax(cache > 0 ? cache : unknown, tlb_reach);
    return (size_t)fmax(2, ceil(rotation / bytes) + 1);
}

void bench_cold_probe(const struct attn_plan *plan, const struct tensor_set *sets, size_t set_count,
                      size_t next, struct bench_result *result)
{
    enum { PROBES = 16 };
    const size_t probes = set_count / 2 < PROBES ? set_count / 2 : PROBES;
    double first = 0, again = 0;
    for (size_t i = 0; i < probes; i++) {
        const struct ceilings_kv kv = tensors_kv(&sets[(next + i) % set_count], &plan->problem);
        first += ceilings_read_once(kv.k, kv.v, kv.bytes);
        again += ceilings_read_once(kv.k, kv.v, kv.bytes);
    }
    result->cold_first_s = first / (double)probes;
    result->cold_again_s = again / (double)probes;
}
