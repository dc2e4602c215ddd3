/*
 * The tiles of tiles.h in C and those of the processor, bit for bit on random tiles, where this host has
 * them; why it may not have them; and that kernels give them back.
 */
#define _GNU_SOURCE /* sigaltstack */
#include "testing.h"

#include <signal.h>
#include <string.h>

#include "base/random.h"
#include "isa.h"
#include "tested.h"
#include "kernels/tiles/tile_unit.h"
#include "system/fault.h"

#ifdef TILES_HARDWARE

#include <xmmintrin.h>

/* A tile's words: rows of float, int32, pairs of bf16 or fours of int8. */
typedef uint32_t words[16][16];

static void skip_without_hardware(void)
{
    if (attn_isa_available(ATTN_ISA_AMX))
        return;
    print_message("skipped: this host lacks %s\n", attn_isa_needs(ATTN_ISA_AMX));
    skip();
}

/* How to draw: biased exponents of a and b, and of c, from `low` to `high`; significands & `mask`; one of
 * `one_in` elements is any of `specials`, 0: none. */
struct kind {
    const char *name;
    unsigned low, high, c_low, c_high, mask, one_in;
    unsigned specials[4];
};

static const struct kind kinds[] = {
    {"any bits", 0, 255, 0, 255, 0x7fffff, 0, {0}},
    {"ordinary", 120, 135, 120, 140, 0x7fffff, 0, {0}},
    {"ties and cancellation", 112, 127, 120, 130, 0x400000, 0, {0}},
    {"products near the smallest", 60, 67, 0, 3, 0x7fffff, 4, {0, 0x8000, 0x0001, 0x807f}},
    {"products below the smallest", 58, 66, 0, 0, 0x7fffff, 4, {0, 0x8000, 0x0001, 0x807f}},
    {"the smallest, and powers of 2", 0, 1, 0, 2, 0x7fffff, 2, {0x3f80, 0xbf80, 0x3f00, 0x4000}},
    {"the largest", 182, 190, 250, 254, 0x7fffff, 0, {0}},
    {"infinities and zeros", 120, 135, 120, 140, 0x7fffff, 16, {0x7f80, 0xff80, 0, 0x8000}},
    {"few infinities", 120, 135, 120, 140, 0x7fffff, 512, {0x7f80, 0xff80, 0x7f80, 0xff80}},
    {"few NaN", 120, 135, 120, 140, 0x7fffff, 256, {0x7f81, 0xff92, 0x7fc3, 0xffd4}},
};

static uint32_t drawn_float(const struct kind *kind, bool of_c, uint64_t bits)
{
    const unsigned low = of_c ? kind->c_low : kind->low, high = of_c ? kind->c_high : kind->high;
    if (kind->one_in && (bits >> 33) % kind->one_in == 0)
        return kind->specials[bits >> 31 & 3] << 16;
    return (uint32_t)(bits & 0x80000000) | (low + (uint32_t)(bits >> 33) % (high - low + 1)) << 23 |
           ((uint32_t)bits & kind->mask);
}

static void draw(const struct kind *kind, uint64_t key, words a, words b, words c)
{
    for (size_t i = 0; i < UNIT_WORDS; i++) {
        uint32_t x[5];
        for (size_t n = 0; n < COUNT(x); n++)
            x[n] = drawn_float(kind, n == 4, random_bits(key, COUNT(x) * i + n));
        a[i / 16][i % 16] = x[0] >> 16 | (x[1] & 0xffff0000);
        b[i / 16][i % 16] = x[2] >> 16 | (x[3] & 0xffff0000);
        c[i / 16][i % 16] = x[4];
    }
}

/* c += a b by a unit under some MXCSR, which must stay as it is but for the flags. */
static void dot_under(const struct tile_unit *unit, unsigned mxcsr, words c, const words a,
                      const words b, int times)
{
    const unsigned before = _mm_getcsr();
    _mm_setcsr(mxcsr);
    unit->dot_bf16(c, a, b, times);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    assert_int_equal(after, mxcsr);
}

/* What came out, so that a kind which draws nothing of interest shows. */
struct outcomes {
    size_t nans, infinities, zeros, numbers;
};

static void count_outcomes(struct outcomes *seen, words c)
{
    for (size_t i = 0; i < UNIT_WORDS; i++) {
        const uint32_t size = c[i / 16][i % 16] & 0x7fffffff;
        seen->nans += size > 0x7f800000;
        seen->infinities += size == 0x7f800000;
        seen->zeros += size == 0;
        seen->numbers += size >= 0x00800000 && size < 0x7f800000;
    }
}

static void compare_drawn(const struct kind *kind, uint64_t key, struct outcomes *seen)
{
    enum { MASKED = 0x1f80, ROUNDING = 0x6000, FLUSH = 0x8040 };
    words a, b, c, hardware, emulated;
    const uint64_t settings = random_bits(key, 1000000);
    const unsigned mxcsr = MASKED | ((unsigned)settings & (ROUNDING | FLUSH));
    const int times = settings >> 32 & 3 ? 1 : 2;
    draw(kind, key, a, b, c);
    memcpy(hardware, c, sizeof c);
    memcpy(emulated, c, sizeof c);
    dot_under(&tile_unit_hardware, mxcsr, hardware, a, b, times);
    dot_under(&tile_unit_emulated, mxcsr, emulated, a, b, times);
    for (size_t i = 0; i < UNIT_WORDS; i++)
        if (hardware[i / 16][i % 16] != emulated[i / 16][i % 16])
            fail_msg("%s, draw %zu, c[%zu][%zu] = 0x%08x: 0x%08x of the processor, 0x%08x in C",
                     kind->name, (size_t)key, i / 16, i % 16, c[i / 16][i % 16],
                     hardware[i / 16][i % 16], emulated[i / 16][i % 16]);
    count_outcomes(seen, hardware);
}

static void both_alike_in_bf16(void **state)
{
    (void)state;
    enum { DRAWS = 500 };
    struct outcomes all = {0};
    skip_without_hardware();
    for (size_t k = 0; k < COUNT(kinds); k++) {
        struct outcomes seen = {0};
        for (size_t i = 0; i < DRAWS; i++)
            compare_drawn(&kinds[k], k * DRAWS + i, &seen);
        print_message("%-28s %6zu numbers %6zu zeros %6zu infinities %6zu NaN\n", kinds[k].name,
                      seen.numbers, seen.zeros, seen.infinities, seen.nans);
        assert_int_equal(seen.numbers + seen.zeros + seen.infinities + seen.nans,
                         DRAWS * UNIT_WORDS);
        all.nans += seen.nans;
        all.infinities += seen.infinities;
        all.zeros += seen.zeros;
        all.numbers += seen.numbers;
    }
    const size_t enough = DRAWS * UNIT_WORDS / 20;
    assert_true(all.nans > enough && all.infinities > enough && all.zeros > enough &&
                all.numbers > enough);
}

static void both_alike_in_int8(void **state)
{
    (void)state;
    words a, b, hardware, emulated;
    skip_without_hardware();
    for (uint64_t key = 0; key < 500; key++) {
        for (size_t i = 0; i < UNIT_WORDS; i++) {
            a[i / 16][i % 16] = (uint32_t)random_bits(key, 3 * i);
            b[i / 16][i % 16] = (uint32_t)random_bits(key, 3 * i + 1);
            hardware[i / 16][i % 16] = (uint32_t)random_bits(key, 3 * i + 2);
        }
        memcpy(emulated, hardware, sizeof hardware);
        tile_unit_hardware.dot_i8(hardware, a, b, 2);
        tile_unit_emulated.dot_i8(emulated, a, b, 2);
        assert_memory_equal(hardware, emulated, sizeof hardware);
    }
}

/* As attention.h says: tiles that a caller had are gone after a call, and no thread keeps any.  How many
 * kernels computed the problem. */
static size_t callers_tiles_are_gone(struct operands *t)
{
    size_t count, ran = 0, held = 0;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t i = 0; i < count; i++) {
        tile_unit_hardware.configure();
        assert_true(tile_unit_hardware.configured());
        /* a library does as it likes: oneDNN keeps its tiles for the next call */
        if (kernels[i]->isa != ATTN_ISA_AMX || kernels[i]->library ||
            !operands_call(t, kernels[i], 2))
            continue;
        ran++;
#pragma omp parallel num_threads(2) reduction(+ : held)
        held += tile_unit_hardware.configured();
        if (held)
            fail_msg("%s/amx leaves tiles on %zu threads", kernels[i]->name, held);
    }
    return ran;
}

static void kernels_release_tiles(void **state)
{
    (void)state;
    skip_without_hardware();
    static const char *const problems[] = {
        "sq=70,skv=70,d=64,dtype=bf16",
        "hq=2,hkv=2,sq=8,skv=2100,d=64,dtype=bf16,outputs=o+weights", /* several splits */
    };
    for (size_t i = 0; i < COUNT(problems); i++) {
        struct operands t = operands_of(problems[i]);
        assert_true(callers_tiles_are_gone(&t) > 0);
        operands_close(&t);
    }
}

/* A call configures and releases tiles once, whatever its tasks find to do. */
static void calls_without_keys_release_tiles(void **state)
{
    (void)state;
    skip_without_hardware();
    struct operands t = operands_of("sq=70,skv=70,d=64,dtype=bf16,ragged=1");
    *(int32_t *)t.set.tensors.kv_lens.data = 0;
    assert_true(callers_tiles_are_gone(&t) > 0);
    operands_close(&t);
}

/* First of all tests, as nothing takes back what the kernel has granted: it grants no tiles to a process that
 * has a signal stack without room for them. */
static void small_signal_stacks_are_the_reason(void **state)
{
    (void)state;
    static char small[4096];
    const stack_t stack = {.ss_sp = small, .ss_size = sizeof small},
                  none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&stack, NULL), 0);
    const bool available = attn_isa_available(ATTN_ISA_AMX);
    const char *needs = attn_isa_needs(ATTN_ISA_AMX);
    assert_int_equal(sigaltstack(&none, NULL), 0);
    fault_thread(0); /* a stack of the harness, which is large enough */
    assert_false(available);
    skip_without_hardware();
    assert_non_null(strstr(needs, "signal stacks"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_signal_stacks_are_the_reason),
        cmocka_unit_test(both_alike_in_bf16),
        cmocka_unit_test(both_alike_in_int8),
        cmocka_unit_test(kernels_release_tiles),
        cmocka_unit_test(calls_without_keys_release_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

static void nothing_to_compare(void **state)
{
    (void)state;
    print_message("skipped: this build has tiles in C alone\n");
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_to_compare)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
