/*
 * ceilings: the probes do the work they claim (values), and the rates are rates of that work.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "isa.h"
#include "system/ceilings.h"
#include "system/probe.h"
#include "system/rate.h"

/* Every probe of this build that this host can run. */
static const struct probe *next_probe(size_t *at)
{
    while (*at < probe_count) {
        const struct probe *probe = probes[(*at)++];
        if (attn_isa_available(probe->isa))
            return probe;
    }
    return NULL;
}

static void assert_close(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance * fabs(expected)))
        fail_msg("got %.9g, expected %.9g", got, expected);
}

static void baseline_is_there(void **state)
{
    (void)state;
    assert_true(probe_count >= 1);
    assert_int_equal(probes[0]->isa, attn_find("naive", ATTN_ISA_BASELINE)->isa);
}

/* From 1, n-fold, exact in float: x * 1/2 + 1 gives 2 - 2^-n; apart, x * 1/2 gives 2^-n and x + 1
 * gives 1 + n.  A chain left out, or done twice, shows. */
static void every_chain_runs_every_round(void **state)
{
    (void)state;
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));)
        for (size_t n = 0; n <= 20; n++) {
            float sink;
            const double flops = probe->fma_f32(n, 0.5f, 1.0f, &sink);
            const double half = ldexp(1, -(int)n), apart = (half + 1 + (double)n) / 2;
            assert_close(sink, probe->fused ? 2 - half : apart, probe->fused ? 0 : 0x1p-24);
            const double per_round = 2.0 * probe->vector_bytes / 4;
            assert_close(fmod(flops, per_round), 0, 0);
            assert_true(n == 0 ? flops == 0 : flops / (double)n >= 7 * per_round);
        }
}

/* The same in double, half as many lanes; so many rounds that float would not hold them. */
static void every_chain_runs_every_round_in_f64(void **state)
{
    (void)state;
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));)
        for (size_t n = 0; n <= 40; n++) {
            double sink;
            float f32_sink;
            const double flops = probe->fma_f64(n, 0.5, 1.0, &sink);
            const double half = ldexp(1, -(int)n), apart = (half + 1 + (double)n) / 2;
            assert_close(sink, probe->fused ? 2 - half : apart, probe->fused ? 0 : 0x1p-50);
            assert_close(2 * flops, probe->fma_f32(n, 0.5f, 1.0f, &f32_sink), 0);
        }
}

static void each_product_of_bf16_counts_two(void **state)
{
    (void)state;
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));)
        if (probe->fma_bf16) {
            float sink, f32_sink;
            const double flops = probe->fma_bf16(1000, 0.5f, 0.125f, &sink);
            const double products = flops / probe->fma_f32(1000, 1, 0, &f32_sink);
            assert_true(products == 2 || products == 4);
            assert_close(sink, 1 + products * 1000 * 0.0625, 0);
        }
}

static void exp2_is_good_to_three_units(void **state)
{
    (void)state;
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));)
        for (float x = -126; x <= 0; x += 0.37f) {
            float sink;
            const double done = probe->exp2_f32(1, x, &sink);
            assert_close(sink, exp2((double)x), 3 * 0x1p-23);
            assert_close(fmod(done, probe->vector_bytes / 4.0), 0, 0);
        }
}

static void fill(uint32_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        words[i] = (uint32_t)i * 2654435761u ^ (uint32_t)(i >> 7);
}

static void read_sees_every_word(void **state)
{
    (void)state;
    enum { BYTES = 16384, WORDS = BYTES / 4 };
    uint32_t *words = aligned_alloc(64, 2 * BYTES);
    assert_non_null(words);
    fill(words, 2 * WORDS);
    uint32_t expected = 0;
    for (size_t i = 0; i < 2 * WORDS; i++)
        expected ^= words[i];
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));) {
        uint32_t plain, ahead, touched;
        assert_close(probe->read(words, words + WORDS, BYTES, &plain), 2 * BYTES, 0);
        assert_close(probe->read_ahead(words, words + WORDS, BYTES, &ahead), 2 * BYTES, 0);
        assert_close(probe->read_touched(words, words + WORDS, BYTES, &touched), 2 * BYTES, 0);
        assert_int_equal(plain, expected);
        assert_int_equal(ahead, expected);
        assert_int_equal(touched, expected);
    }
    free(words);
}

static void copies_copy(void **state)
{
    (void)state;
    enum { BYTES = 16384, WORDS = BYTES / 4 };
    uint32_t *from = aligned_alloc(64, BYTES), *to = aligned_alloc(64, BYTES);
    assert_non_null(from);
    assert_non_null(to);
    fill(from, WORDS);
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));) {
        memset(to, 0, BYTES);
        assert_close(probe->copy(to, from, BYTES), 2 * BYTES, 0);
        assert_memory_equal(to, from, BYTES);
        memset(to, 0, BYTES);
        assert_close(probe->stream(to, from, BYTES), 2 * BYTES, 0);
        assert_memory_equal(to, from, BYTES);
    }
    free(from);
    free(to);
}

/* No bounds on speed: only that each rate exists, and 0 where the host lacks the ISA. */
static void rates_are_positive_and_finite(void **state)
{
    (void)state;
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
        const double fma = ceilings_fma((enum attn_isa)isa, ATTN_F32, 2, 1e-3);
        const double f64 = ceilings_fma((enum attn_isa)isa, ATTN_F64, 2, 1e-3);
        const double exp = ceilings_exp((enum attn_isa)isa, 1, 1e-3);
        assert_true(isfinite(fma) && isfinite(f64) && isfinite(exp));
        size_t at = 0;
        bool there = false;
        for (const struct probe *probe; (probe = next_probe(&at));)
            there |= probe->isa == attn_isa_built_as((enum attn_isa)isa);
        assert_int_equal(fma > 0, there);
        assert_int_equal(f64 > 0, there);
        assert_int_equal(exp > 0, there);
    }
    const double read = ceilings_read(1, 3, 1e-3), copy = ceilings_copy(100000, 2, 1e-3);
    assert_true(isfinite(read) && read > 0);
    assert_true(isfinite(copy) && copy > 0);
    assert_true(ceilings_read(1 << 20, 1, 1e-3) > 0); /* the room grows */
    char *operands = aligned_alloc(64, 8192);
    memset(operands, 1, 8192);
    struct ceilings_kv sets[2] = {{operands, operands + 4096, 4096},
                                  {operands + 4096, operands, 2048}};
    assert_true(ceilings_read_operands(sets, 2, 2, 1e-3) > 0);
    sets[1].bytes = 64;
    assert_true(ceilings_read_operands(sets, 1, 2, 1e-3) > 0);
    assert_true(ceilings_read_operands(sets, 2, 2, 1e-3) == 0);
    free(operands);
    assert_true(ceilings_fma_host(ATTN_BF16, 1, 1e-3) > 0);
}

/* Work that lasts 1 ms a unit.  Its second call waits for longer than all stretches should take together, as
 * one does that loses its CPU. */
static double waits_at_first(const void *context, size_t amount, int thread, int threads)
{
    int *calls = *(int *const *)context;
    (void)thread, (void)threads;
    const double until = clock_now() + (++*calls == 2 ? 0.5 : 1e-3) * (double)amount;
    while (clock_now() < until)
        continue;
    return (double)amount;
}

static void one_interruption_is_not_the_rate(void **state)
{
    (void)state;
    int calls, *counter = &calls;
    calls = 0;
    rate_apart(waits_at_first, &counter, 1, 0.4);
    assert_int_equal(calls, 1 + 8); /* one to find out how long a stretch is */
    calls = 0;
    rate_together(waits_at_first, &counter, 1, 0.4);
    assert_int_equal(calls, 1 + 8);
    calls = 0;
    rate_together(waits_at_first, &counter, 1, 1e-4); /* a long pass over memory is made once */
    assert_int_equal(calls, 1 + 1);
}

/* Only an ISA with the widest vectors, and in bf16 one that multiplies pairs where the host prefers such a one,
 * however wide others are. */
static void best_rates_are_not_measured_twice(void **state)
{
    (void)state;
    int widest = 0, pairs = 0; /* bytes of a vector; pairs: 0 where the host prefers none of them */
    bool f32_best = false, bf16_best = false;
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));) {
        widest = probe->vector_bytes > widest ? probe->vector_bytes : widest;
        if (probe->isa == attn_isa_preferred() && probe->fma_bf16)
            pairs = probe->vector_bytes;
    }
    at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));) {
        const bool wide = probe->vector_bytes == widest;
        assert_int_equal(ceilings_fma_is_host(probe->isa, ATTN_F32, ATTN_F32), wide);
        assert_int_equal(ceilings_fma_is_host(probe->isa, ATTN_F64, ATTN_F64), wide);
        assert_int_equal(ceilings_fma_is_host(probe->isa, ATTN_F32, ATTN_BF16), wide && !pairs);
        assert_int_equal(ceilings_fma_is_host(probe->isa, ATTN_BF16, ATTN_BF16),
                         pairs ? probe->fma_bf16 && probe->vector_bytes == pairs
                               : wide && !probe->fma_bf16);
        f32_best |= ceilings_fma_is_host(probe->isa, ATTN_F32, ATTN_F32);
        bf16_best |= ceilings_fma_is_host(probe->isa, ATTN_BF16, ATTN_BF16);
    }
    assert_true(f32_best && bf16_best);
}

static void footprint_stops_growing(void **state)
{
    (void)state;
    char message[256];
    struct machine *machine = machine_open(NULL, message, sizeof message);
    assert_non_null(machine);
    assert_int_equal(ceilings_footprint(machine, 4096), 4096);
    const size_t huge = ceilings_footprint(machine, (size_t)1 << 40);
    assert_true(huge < (size_t)1 << 40);
    assert_true(huge >= 4 * machine_last_level_bytes(machine));
    machine_close(machine);
}

static void roofline_names_what_binds(void **state)
{
    (void)state;
    /* 100 GFLOP/s and 20 GB/s meet at 5 flop per byte */
    const struct roofline low = ceilings_roofline(4e9, 1e9, 100, 20);
    assert_false(low.compute_bound);
    assert_close(low.seconds, 0.05, 1e-12);
    assert_close(low.intensity, 4, 1e-12);
    const struct roofline high = ceilings_roofline(6e9, 1e9, 100, 20);
    assert_true(high.compute_bound);
    assert_close(high.seconds, 0.06, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baseline_is_there),
        cmocka_unit_test(every_chain_runs_every_round),
        cmocka_unit_test(every_chain_runs_every_round_in_f64),
        cmocka_unit_test(each_product_of_bf16_counts_two),
        cmocka_unit_test(exp2_is_good_to_three_units),
        cmocka_unit_test(read_sees_every_word),
        cmocka_unit_test(copies_copy),
        cmocka_unit_test(rates_are_positive_and_finite),
        cmocka_unit_test(one_interruption_is_not_the_rate),
        cmocka_unit_test(best_rates_are_not_measured_twice),
        cmocka_unit_test(footprint_stops_growing),
        cmocka_unit_test(roofline_names_what_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
