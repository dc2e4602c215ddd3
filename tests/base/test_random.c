/*
 * Random numbers: the same whichever part is asked for, and distributed as they say.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "base/random.h"

#define N 200000

static float numbers[N], part[N];

/* SplitMix64 with seed 1234567 prints these first five numbers (rosettacode.org, "Pseudo-random
 * numbers/Splitmix64"); a key is its state. */
TEST(bits_are_splitmix64)
{
    static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
                                        9817491932198370423u, 4593380528125082431u,
                                        16408922859458223821u};
    for (size_t n = 0; n < COUNT(expected); n++)
        assert_true(random_bits(1234567, n) == expected[n]);
}

TEST(any_part_is_the_same)
{
    void (*const kinds[])(float *, size_t, uint64_t, uint64_t) = {random_normal, random_uniform};
    for (size_t k = 0; k < COUNT(kinds); k++) {
        kinds[k](numbers, 2000, 42, 0);
        for (size_t first = 0; first < 300; first += 7)
            for (size_t n = 1; n < 1500; n = 2 * n + 1) {
                memset(part, 0, sizeof part);
                kinds[k](part, n, 42, first);
                assert_memory_equal(part, numbers + first, n * sizeof *part);
                assert_true(part[n] == 0);
            }
    }
}

TEST(keys_and_streams_differ)
{
    assert_true(random_key(1, 0) != random_key(1, 1));
    assert_true(random_key(1, 0) != random_key(2, 0));
    assert_true(random_key(0, 1) != random_key(1, 0));
    random_normal(numbers, 1000, random_key(1, 0), 0);
    random_normal(part, 1000, random_key(1, 1), 0);
    double correlation = 0;
    for (size_t n = 0; n < 1000; n++)
        correlation += (double)(numbers[n] * part[n]) / 1000;
    assert_true(fabs(correlation) < 0.15); /* 4.7 standard errors */
}

/* Box and Muller's transform of the same bits by the mathematical library, in double. */
TEST(normal_is_box_and_muller)
{
    random_normal(numbers, 2000, 42, 0);
    for (size_t k = 0; k < 1000; k++) {
        const uint64_t bits = random_bits(42, k);
        const double radius = sqrt(-2 * log(((double)(bits >> 33) + 0.5) * 0x1p-31));
        const double rest = ((double)(bits & 0x3fffffff) * 0x1p-29 - 1) * (acos(-1) / 4);
        const bool swapped = bits >> 30 & 1, negative = bits >> 31 & 1;
        const double sign = negative ? -radius : radius;
        assert_true(fabs((double)numbers[2 * k] - sign * (swapped ? sin(rest) : cos(rest))) < 3e-6);
        assert_true(fabs((double)numbers[2 * k + 1] - sign * (swapped ? cos(rest) : sin(rest))) <
                    3e-6);
    }
}

/* By whatever vectors they are drawn, and wherever a processor could fuse a multiplication and an addition. */
TEST(normal_is_the_same_everywhere)
{
    uint32_t hash = 2166136261; /* FNV-1a */
    random_normal(numbers, 2000, 42, 0);
    for (size_t k = 0; k < 2000; k++) {
        uint32_t bits;
        memcpy(&bits, &numbers[k], sizeof bits);
        hash = (hash ^ bits) * 16777619;
    }
    assert_int_equal(hash, 0xf2030202);
}

/* Moments within 5 standard errors, and the shares beyond 1, 2 and 3 standard deviations. */
TEST(normal_is_normal)
{
    random_normal(numbers, N, random_key(7, 0), 0);
    double moment[5] = {0}, neighbours = 0;
    size_t beyond[4] = {0};
    for (size_t n = 0; n < N; n++) {
        const double x = (double)numbers[n];
        for (int m = 1; m <= 4; m++)
            moment[m] += pow(x, m) / N;
        for (int s = 1; s <= 3; s++)
            beyond[s] += fabs(x) > s;
        neighbours += n ? x * (double)numbers[n - 1] / N : 0;
    }
    const double error = 5 / sqrt((double)N);
    assert_true(fabs(moment[1]) < error);
    assert_true(fabs(moment[2] - 1) < error * sqrt(2));
    assert_true(fabs(moment[3]) < error * sqrt(15));
    assert_true(fabs(moment[4] - 3) < error * sqrt(96));
    assert_true(fabs(neighbours) < error);
    for (int s = 1; s <= 3; s++) {
        const double share = erfc(s / sqrt(2));
        assert_true(fabs((double)beyond[s] / N - share) < error * sqrt(share));
    }
}

TEST(uniform_is_uniform)
{
    random_uniform(numbers, N, random_key(7, 1), 0);
    size_t bins[20] = {0};
    for (size_t n = 0; n < N; n++) {
        assert_true(numbers[n] >= -1 && numbers[n] <= 1);
        const int bin = (int)((numbers[n] + 1) * 10);
        bins[bin < 20 ? bin : 19]++;
    }
    for (int k = 0; k < 20; k++)
        assert_true(fabs((double)bins[k] - N / 20.0) < 5 * sqrt(N / 20.0));
}

TEST(integers_stay_below)
{
    size_t seen[7] = {0};
    for (uint64_t n = 0; n < 7000; n++)
        seen[random_below(3, n, 7)]++;
    for (int k = 0; k < 7; k++)
        assert_in_range(seen[k], 850, 1150);
    for (uint64_t n = 0; n < 1000; n++)
        assert_true(random_unit(3, n) >= 0 && random_unit(3, n) < 1);
}

TEST(tokens_differ)
{
    char one[RANDOM_TOKEN], other[RANDOM_TOKEN];
    assert_true(random_token(one) && random_token(other));
    assert_int_equal(strspn(one, "0123456789abcdef"), RANDOM_TOKEN - 1);
    assert_string_not_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_are_splitmix64),     cmocka_unit_test(any_part_is_the_same),
        cmocka_unit_test(keys_and_streams_differ), cmocka_unit_test(normal_is_box_and_muller),
        cmocka_unit_test(normal_is_normal),        cmocka_unit_test(normal_is_the_same_everywhere),
        cmocka_unit_test(uniform_is_uniform),      cmocka_unit_test(integers_stay_below),
        cmocka_unit_test(tokens_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
