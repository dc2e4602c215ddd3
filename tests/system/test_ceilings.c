/*
 * ceilings: the probes do the work they claim (values), and the rates are rates of that work.
 */
#include "testing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

TEST(baseline_is_there)
{
    assert_true(probe_count >= 1);
    assert_int_equal(probes[0]->isa, attn_find("naive", ATTN_ISA_BASELINE)->isa);
}

/* From 1, n-fold, exact in float: x * 1/2 + 1 gives 2 - 2^-n; apart, x * 1/2 gives 2^-n and x + 1
 * gives 1 + n.  A chain left out, or done twice, shows. */
TEST(every_chain_runs_every_round)
{
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
TEST(every_chain_runs_every_round_in_f64)
{
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

TEST(each_product_of_bf16_counts_two)
{
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

/* Of small integers, so exactly. */
TEST(a_product_from_l1_is_that_of_its_operands)
{
    _Alignas(64) float b[PROBE_DEPTH * PROBE_COLUMNS];
    float a[PROBE_DEPTH * PROBE_ROWS], c[PROBE_ROWS * PROBE_COLUMNS];
    for (int i = 0; i < PROBE_DEPTH * PROBE_COLUMNS; i++)
        b[i] = (float)(i * 7 % 31 - 15);
    for (int i = 0; i < PROBE_DEPTH * PROBE_ROWS; i++)
        a[i] = (float)(i * 5 % 17 - 8);
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));) {
        const int rows = probe->rows, columns = probe->columns;
        assert_true(rows <= PROBE_ROWS && columns <= PROBE_COLUMNS);
        assert_close(probe->fma_f32_from_l1(3, a, b, c), 3 * 2.0 * PROBE_DEPTH * rows * columns, 0);
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < columns; j++) {
                double sum = 0;
                for (int k = 0; k < PROBE_DEPTH; k++)
                    sum += (double)a[k * rows + i] * (double)b[k * columns + j];
                assert_close((double)c[i * columns + j], 3 * sum, 0);
            }
    }
}

/* Operands of two tiles of A and two of B, and what four products of them are: exact in float, as the numbers
 * have 8 bits and no more than 128 of their products are summed. */
enum { SIDE = 16, ROUNDS = 3 };

static float bf16_value(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* C[2 i + j] = A[i] B[j] of bf16; element k of column n of B is B[k / 2][2 n + k % 2]. */
static void multiply_bf16(const uint16_t operands[4][SIDE][32], double c[4][SIDE][SIDE])
{
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < SIDE; m++)
            for (int n = 0; n < SIDE; n++)
                for (int k = 0; k < 32; k++)
                    c[t][m][n] += (double)bf16_value(operands[t / 2][m][k]) *
                                  (double)bf16_value(operands[2 + t % 2][k / 2][2 * n + k % 2]);
}

/* The same of int8, four to a group. */
static void multiply_i8(const int8_t operands[4][SIDE][64], double c[4][SIDE][SIDE])
{
    for (int t = 0; t < 4; t++)
        for (int m = 0; m < SIDE; m++)
            for (int n = 0; n < SIDE; n++)
                for (int k = 0; k < 64; k++)
                    c[t][m][n] += operands[t / 2][m][k] * operands[2 + t % 2][k / 4][4 * n + k % 4];
}

TEST(tiles_multiply_what_they_are_given)
{
    static _Alignas(64) uint16_t steps[PROBE_TILE_DEPTH][4][SIDE][32];
    const uint16_t(*operands)[SIDE][32] = steps[0];
    _Alignas(64) float floats[4][SIDE][SIDE];
    _Alignas(64) int32_t integers[4][SIDE][SIDE];
    uint32_t bits = 1;
    for (size_t i = 0; i < sizeof steps / sizeof ****steps; i++) {
        bits = bits * 1664525 + 1013904223;
        (&steps[0][0][0][0])[i] = (uint16_t)(0x3f80 | (bits >> 16 & 0x807f));
    }
    double c[4][SIDE][SIDE] = {{{0}}}, c8[4][SIDE][SIDE] = {{{0}}}, all[4][SIDE][SIDE] = {{{0}}};
    multiply_bf16(operands, c);
    for (int step = 0; step < PROBE_TILE_DEPTH; step++)
        multiply_bf16((const uint16_t(*)[SIDE][32])steps[step], all);
    multiply_i8((const int8_t(*)[SIDE][64])operands, c8);
    size_t at = 0;
    for (const struct probe *probe; (probe = next_probe(&at));) {
        if (!probe->tiles_bf16)
            continue;
        assert_close(probe->tiles_bf16(ROUNDS, operands, floats), ROUNDS * 4 * 2.0 * 16 * 16 * 32,
                     0);
        assert_close(probe->tiles_i8(ROUNDS, operands, integers), ROUNDS * 4 * 2.0 * 16 * 16 * 64,
                     0);
        for (size_t i = 0; i < 4 * SIDE * SIDE; i++) {
            assert_close((double)(&floats[0][0][0])[i], ROUNDS * (&c[0][0][0])[i], 0);
            assert_close((&integers[0][0][0])[i], ROUNDS * (&c8[0][0][0])[i], 0);
        }
        assert_close(probe->tiles_bf16_from_l1(1, steps, floats),
                     PROBE_TILE_DEPTH * 4 * 2.0 * 16 * 16 * 32, 0);
        for (size_t i = 0; i < 4 * SIDE * SIDE; i++)
            assert_close((double)(&floats[0][0][0])[i], (&all[0][0][0])[i], 0);
    }
}

TEST(exp2_is_good_to_three_units)
{
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

TEST(read_sees_every_word)
{
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

TEST(a_copy_has_the_same_words)
{
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
TEST(rates_are_positive_and_finite)
{
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
        const double fma = ceilings_fma((enum attn_isa)isa, ATTN_F32, 2, 1e-3);
        const double f64 = ceilings_fma((enum attn_isa)isa, ATTN_F64, 2, 1e-3);
        const double exp = ceilings_exp((enum attn_isa)isa, 1, 1e-3);
        assert_true(isfinite(fma) && isfinite(f64) && isfinite(exp));
        size_t at = 0;
        bool there = false;
        for (const struct probe *probe; (probe = next_probe(&at));)
            there |= probe->isa == attn_isa_instructions(attn_isa_built_as((enum attn_isa)isa));
        assert_int_equal(fma > 0, there);
        assert_int_equal(ceilings_fma_from_l1((enum attn_isa)isa, ATTN_F32, 2, 1e-3) > 0, there);
        assert_true(ceilings_fma_from_l1((enum attn_isa)isa, ATTN_F64, 2, 1e-3) == 0);
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
    const bool tiles = attn_isa_available(ATTN_ISA_AMX) && !ceilings_emulated(ATTN_ISA_AMX);
    assert_true(ceilings_fma_host(ATTN_BF16, 1, 1e-3) > 0);
    assert_int_equal(ceilings_fma_host(ATTN_I8, 1, 1e-3) > 0, tiles);
    assert_int_equal(ceilings_fma(ATTN_ISA_AMX, ATTN_I8, 1, 1e-3) > 0, tiles);
    assert_true(ceilings_fma(ATTN_ISA_BASELINE, ATTN_I8, 1, 1e-3) == 0);
    assert_int_equal(ceilings_fma_from_l1(ATTN_ISA_AMX, ATTN_BF16, 1, 1e-3) > 0, tiles);
}

/* Calls of waits_at_first(), and how long it took from the first to the second. */
struct waiting {
    int calls;
    double first, took;
};

/* Work that lasts 1 ms a unit.  Its second call waits for longer than all repeats should take together, as
 * one does that loses its CPU. */
static double waits_at_first(const void *context, size_t amount, int thread, int threads)
{
    struct waiting *w = *(struct waiting *const *)context;
    const double start = clock_now();
    (void)thread, (void)threads;
    if (++w->calls == 1)
        w->first = start;
    else if (w->calls == 2)
        w->took = start - w->first;
    const double until = start + (w->calls == 2 ? 0.5 : 1e-3) * (double)amount;
    while (clock_now() < until)
        continue;
    return (double)amount;
}

/* Calls in 0.4 s, one way.  If the first one, which finds out how long a repeat is, lost its CPU, there are fewer
 * repeats: then again. */
static int calls_undisturbed(bool together)
{
    struct waiting w, *context = &w;
    const void *const way = &context;
    do {
        w = (struct waiting){0};
        if (together)
            rate_together(waits_at_first, &way, 1, 1, 0.4);
        else
            rate_apart(waits_at_first, way, 1, 0.4);
    } while (w.took > 0.4 / 8);
    return w.calls;
}

TEST(one_interruption_is_not_the_rate)
{
    assert_int_equal(calls_undisturbed(false), 1 + 8);
    assert_int_equal(calls_undisturbed(true), 1 + 8);
    struct waiting w = {0}, *context = &w;
    const void *const ways[] = {&context, &context, &context};
    rate_together(waits_at_first, ways, 3, 1, 1e-4); /* a long pass: once each way */
    assert_int_equal(w.calls, 1 + 3);
}

static double no_pairs(size_t rounds, float a, float b, float *sink)
{
    (void)rounds, (void)a, (void)b, (void)sink;
    return 0;
}

static double no_tiles(size_t rounds, const void *operands, void *results)
{
    (void)rounds, (void)operands, (void)results;
    return 0;
}

/* Of hosts made up of these, in their order of preference: where they have f32's and bf16's best rate. */
TEST(best_rates_are_not_measured_twice)
{
    static const struct probe baseline = {.isa = ATTN_ISA_BASELINE, .vector_bytes = 16},
                              avx2 = {.isa = ATTN_ISA_AVX2, .vector_bytes = 32},
                              avx512 = {.isa = ATTN_ISA_AVX512, .vector_bytes = 64},
                              pairs = {.isa = ATTN_ISA_AVX512_BF16,
                                       .vector_bytes = 64,
                                       .fma_bf16 = no_pairs},
                              amx = {.isa = ATTN_ISA_AMX,
                                     .vector_bytes = 64,
                                     .fma_bf16 = no_pairs,
                                     .tiles_bf16 = no_tiles,
                                     .tiles_i8 = no_tiles},
                              in_c = {.isa = ATTN_ISA_AMX,
                                      .vector_bytes = 16,
                                      .tiles_emulated = true,
                                      .tiles_bf16 = no_tiles,
                                      .tiles_i8 = no_tiles};
    static const struct {
        const struct probe *host[6];
        size_t count;
        /* bits 1u << isa: best in f32 and f64; in bf16 of variants that widen to f32; of those that do not */
        unsigned singles, widening, bf16;
    } known[] = {
        {{&baseline}, 1, 1, 1, 1},
        {{&avx2, &baseline}, 2, 2, 2, 2},
        {{&avx512, &avx2, &baseline}, 3, 4, 4, 4},
        {{&pairs, &avx512, &avx2, &baseline}, 4, 12, 0, 8},  /* Zen 4 */
        {{&avx512, &pairs, &avx2, &baseline}, 4, 12, 12, 4}, /* Xeons prefer no pairs */
        {{&amx, &avx512, &pairs, &avx2, &baseline}, 5, 28, 0, 16},
        {{&in_c, &pairs, &avx512, &avx2, &baseline}, 5, 12, 0, 8}, /* tests emulate tiles */
        {{&in_c, &avx512, &pairs, &avx2, &baseline}, 5, 12, 12, 4},
    };
    for (size_t n = 0; n < sizeof known / sizeof *known; n++) {
        unsigned singles = 0, doubles = 0, widening = 0, bf16 = 0, i8 = 0;
        for (size_t i = 0; i < known[n].count; i++) {
            const struct probe *p = known[n].host[i], *const *host = known[n].host;
            const size_t count = known[n].count;
            const unsigned bit = 1u << p->isa;
            singles |= ceilings_fma_is_best(p, ATTN_F32, ATTN_F32, host, count) ? bit : 0;
            doubles |= ceilings_fma_is_best(p, ATTN_F64, ATTN_F64, host, count) ? bit : 0;
            widening |= ceilings_fma_is_best(p, ATTN_F32, ATTN_BF16, host, count) ? bit : 0;
            bf16 |= ceilings_fma_is_best(p, ATTN_BF16, ATTN_BF16, host, count) ? bit : 0;
            i8 |= p->tiles_i8 && ceilings_fma_is_best(p, ATTN_BF16, ATTN_I8, host, count);
        }
        if (singles != known[n].singles || doubles != singles || widening != known[n].widening ||
            bf16 != known[n].bf16 || i8)
            fail_msg("host %zu: f32 %x, f64 %x, bf16 widened %x, bf16 %x, int8 %x", n, singles,
                     doubles, widening, bf16, i8);
    }
}

TEST(footprint_stops_growing)
{
    char message[256];
    struct machine *machine = machine_open(NULL, MESSAGE(message));
    assert_non_null(machine);
    assert_int_equal(ceilings_footprint(machine, 4096), 4096);
    const size_t huge = ceilings_footprint(machine, (size_t)1 << 40);
    assert_true(huge < (size_t)1 << 40);
    assert_true(huge >= 4 * machine_last_level_bytes(machine));
    machine_close(machine);
}

TEST(roofline_names_what_binds)
{
    /* 100 GFLOP/s and 20 GB/s meet at 5 flop per byte */
    assert_false(ceilings_compute_bound(4e9, 1e9, 100, 20));
    assert_true(ceilings_compute_bound(6e9, 1e9, 100, 20));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baseline_is_there),
        cmocka_unit_test(every_chain_runs_every_round),
        cmocka_unit_test(every_chain_runs_every_round_in_f64),
        cmocka_unit_test(each_product_of_bf16_counts_two),
        cmocka_unit_test(a_product_from_l1_is_that_of_its_operands),
        cmocka_unit_test(tiles_multiply_what_they_are_given),
        cmocka_unit_test(exp2_is_good_to_three_units),
        cmocka_unit_test(read_sees_every_word),
        cmocka_unit_test(a_copy_has_the_same_words),
        cmocka_unit_test(rates_are_positive_and_finite),
        cmocka_unit_test(one_interruption_is_not_the_rate),
        cmocka_unit_test(best_rates_are_not_measured_twice),
        cmocka_unit_test(footprint_stops_growing),
        cmocka_unit_test(roofline_names_what_binds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
