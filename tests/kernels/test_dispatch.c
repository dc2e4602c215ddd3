/*
 * attn_kernel_best(): the kernel that each kind of shape gets.
 */
#include "testing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wisdom.h"
#include "isa.h"
#include "problem/filled_tensors.h"

static const struct attn_kernel *best(const char *text, int threads)
{
    const struct attn_problem problem = problem_of(text);
    return attn_kernel_best(&problem, threads);
}

struct choice {
    const char *problem;
    int threads;
    const char *kernel;
};

static void assert_chosen(const struct choice *choices, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct attn_kernel *kernel = best(choices[i].problem, choices[i].threads);
        assert_non_null(kernel);
        if (strcmp(kernel->name, choices[i].kernel) != 0)
            fail_msg("%s, %d threads: %s, not %s", choices[i].problem, choices[i].threads,
                     kernel->name, choices[i].kernel);
    }
}

/* Whatever the width of the vectors. */
static void on_every_host(void **state)
{
    (void)state;
    static const struct choice choices[] = {
        /* many queries */
        {"h=8,s=1024,d=64", 1, "flash"},
        {"h=8,s=1024,d=64", 2, "flash"},
        {"h=8,s=1024,d=128,mask=causal", 2, "flash"},
        {"h=8,s=1024,d=64,dtype=bf16", 1, "flash"},
        {"b=32,h=12,s=128,d=64", 2, "flash"},
        {"h=1,s=64,d=64", 1, "flash"},
        {"hq=32,hkv=1,sq=1024,skv=1024,d=128,mask=causal", 1, "flash"},
        {"hq=8,hkv=8,sq=256,skv=65536,d=64", 2, "flash"},
        /* few against many */
        {"h=8,sq=1,skv=65536,d=128", 1, "split_kv"},
        {"h=8,sq=1,skv=1024,d=64", 2, "split_kv"},
        {"hq=16,hkv=8,sq=1,skv=4096,d=128", 1, "split_kv"},
        {"h=8,sq=2,skv=4096,d=128", 1, "split_kv"},
        {"h=8,sq=1,skv=1024,d=64,dtype=bf16", 1, "split_kv"},
        /* threads that flash cannot employ, and splits can */
        {"h=1,sq=64,skv=65536,d=64", 64, "split_kv"},
        {"h=1,sq=64,skv=65536,d=64", 1, "flash"},
        {"h=64,sq=64,skv=65536,d=64", 64, "flash"},
        {"h=1,sq=64,skv=512,d=64", 64, "flash"}, /* one split */
        /* a window leaves a row as few keys as if there were no more */
        {"h=8,sq=2,skv=65536,d=64,window=8:0", 1, "row_parallel"},
        /* next to nothing */
        {"s=1,d=64", 1, "naive"},
        {"s=2,d=64", 2, "naive"},
        {"s=2,d=512", 1, "split_kv"},
        {"h=8,s=2,d=64", 1, "row_parallel"},
        {"sq=1,skv=64,d=64", 1, "split_kv"},
        {"sq=1,skv=64,d=64,dtype=f64", 1, "row_parallel"}, /* which split_kv does not have */
        {"sq=1,skv=8192,d=64,window=16:0", 1, "row_parallel"},
        {"h=8,sq=1,skv=64,d=64", 1, "row_parallel"},
        /* what the first choice cannot do */
        {"s=1024,d=64,outputs=o+weights", 1, "flash"},
        {"s=1,d=64,dtype=bf16", 1, "split_kv"},
    };
    assert_chosen(choices, COUNT(choices));
}

/* From vectors of 16 lanes on. */
static void with_wide_vectors(void **state)
{
    (void)state;
    static const struct choice choices[] = {
        {"hq=64,hkv=8,sq=1,skv=8192,d=128", 1, "split_kv"}, /* 8 rows */
        {"hq=96,hkv=8,sq=1,skv=8192,d=128", 1, "split_kv"}, /* 12 */
        {"hq=128,hkv=8,sq=1,skv=256,d=128", 1, "flash"},    /* 16 */
        {"hq=192,hkv=8,sq=1,skv=256,d=64", 1, "split_kv"},  /* 24 */
        {"hq=64,hkv=8,sq=1,skv=64,d=64", 1, "flash"},
        {"hq=96,hkv=8,sq=1,skv=64,d=64", 1, "flash"},
        {"hq=32,hkv=8,sq=1,skv=64,d=64", 1, "split_kv"},
        {"hq=16,hkv=8,sq=1,skv=30,d=64", 1, "row_parallel"},
        {"hq=16,hkv=8,sq=1,skv=31,d=64", 1, "split_kv"},
        {"hq=24,hkv=8,sq=1,skv=31,d=64", 1, "row_parallel"}, /* two tiles */
        {"hq=2,hkv=1,sq=1,skv=16,d=64", 1, "split_kv"},
        {"hq=4,hkv=1,sq=1,skv=8,d=64", 1, "flash"},
        {"hq=4,hkv=1,sq=1,skv=16,d=64", 1, "split_kv"},
        {"sq=8,skv=48,d=64", 1, "flash"},
        {"sq=8,skv=80,d=64", 1, "split_kv"},
        {"hq=16,hkv=8,sq=1,skv=17,d=128", 2, "split_kv"},
        {"hq=32,hkv=1,sq=1,skv=8192,d=128", 1, "flash"},
        {"hq=32,hkv=1,sq=1,skv=8192,d=128", 2, "split_kv"},
        {"hq=64,hkv=1,sq=1,skv=8192,d=128", 2, "flash"},
        {"s=5,d=64", 1, "flash"},
        {"s=8,d=64", 1, "flash"},
    };
    if (!attn_isa_available(ATTN_ISA_AVX512) || !attn_find("flash", ATTN_ISA_AVX512))
        skip();
    assert_chosen(choices, COUNT(choices));
}

/* Vectors of 8 lanes where half of one of 16 would be empty; with two multiply-add units up to 8 rows.  One
 * query of 8 heads is row_parallel's, which has no variant for two units. */
static void in_narrow_vectors(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        int threads;
        bool with_one_unit, with_two;
    } narrow[] = {
        {"s=5,d=64", 1, true, true},        {"h=8,sq=1,skv=64,d=64", 1, false, true},
        {"s=8,d=64", 1, true, true},        {"s=9,d=64", 1, false, false},
        {"s=16,d=64", 2, false, false},     {"s=24,d=64", 1, true, false},
        {"s=25,d=64", 1, false, false},     {"s=32,d=64", 2, false, false},
        {"h=2,s=32,d=64", 2, false, false}, {"s=33,d=64", 2, false, false},
    };
    if (!attn_isa_available(ATTN_ISA_AVX512) || !attn_find("flash", ATTN_ISA_AVX512))
        skip();
    for (int two = 0; two < 2; two++) {
        setenv("ATTN_ISA_MASK", two ? "avx2,avx512_2fma" : "avx2,avx512", 1);
        for (size_t i = 0; i < COUNT(narrow); i++) {
            const enum attn_isa isa = best(narrow[i].problem, narrow[i].threads)->isa;
            const bool wanted = two ? narrow[i].with_two : narrow[i].with_one_unit;
            if ((isa == ATTN_ISA_AVX2) != wanted)
                fail_msg("%s, %d threads, %d units: %s", narrow[i].problem, narrow[i].threads,
                         two + 1, attn_isa_name(isa));
        }
    }
    unsetenv("ATTN_ISA_MASK");
}

/* The instruction set that this host prefers of those that a kernel is built for. */
static enum attn_isa preferred_for(const char *name)
{
    const enum attn_isa *isa = attn_isa_preference();
    while (!attn_isa_available(*isa) || !attn_find(name, *isa))
        isa++;
    return *isa;
}

static void with_products_of_pairs(void **state)
{
    (void)state;
    static const struct choice choices[] = {
        {"hq=64,hkv=8,sq=1,skv=8192,d=128,dtype=bf16", 1, "split_kv"},
        {"hq=96,hkv=8,sq=1,skv=8192,d=128,dtype=bf16", 1, "split_kv"},
        {"hq=128,hkv=8,sq=1,skv=64,d=64,dtype=bf16", 1, "flash"},
        {"sq=24,skv=128,d=64,dtype=bf16", 1, "flash"},
        {"sq=24,skv=512,d=64,dtype=bf16", 1, "split_kv"},
    };
    if (!attn_isa_available(ATTN_ISA_AVX512_BF16) || !attn_find("flash", ATTN_ISA_AVX512_BF16) ||
        !attn_find("flash", ATTN_ISA_AVX512))
        skip();
    setenv("ATTN_ISA_MASK", "baseline,avx2,avx512,avx512_bf16", 1); /* no matrix unit */
    assert_chosen(choices, COUNT(choices));
    assert_int_equal(best("h=8,s=512,d=64,dtype=bf16", 1)->isa, preferred_for("flash"));
    assert_int_equal(best("h=8,sq=1,skv=8192,d=128,dtype=bf16", 1)->isa, preferred_for("split_kv"));
    const enum attn_isa isa = best("h=8,s=512,d=64", 1)->isa; /* bf16 only */
    assert_int_equal(isa, ATTN_ISA_AVX512);
    unsetenv("ATTN_ISA_MASK");
}

/* With two multiply-add units, few rows of i4 still take products of pairs. */
static void with_caches_in_pairs(void **state)
{
    (void)state;
    static const struct {
        const char *problem;
        bool in_pairs;
    } caches[] = {
        {"hq=8,hkv=8,kv_dtype=i4", true},      {"hq=24,hkv=8,kv_dtype=i4", true},
        {"hq=32,hkv=8,kv_dtype=i4", false},    {"hq=8,hkv=8,kv_dtype=i4,kv_zeros=1", false},
        {"hq=8,hkv=8,kv_dtype=f8e4m3", false}, {"hq=8,hkv=8", false},
    };
    if (!attn_isa_available(ATTN_ISA_AVX512_BF16) || !attn_find("split_kv", ATTN_ISA_AVX512_BF16))
        skip();
    for (int there = 0; there < 2; there++) {
        setenv("ATTN_ISA_MASK", there ? "avx2,avx512_2fma,avx512_bf16" : "avx2,avx512_2fma", 1);
        for (size_t i = 0; i < COUNT(caches); i++) {
            char text[128];
            snprintf(text, sizeof text, "%s,sq=1,skv=8192,d=128,dtype=bf16", caches[i].problem);
            const enum attn_isa isa = best(text, 1)->isa;
            const enum attn_isa usual = preferred_for("split_kv");
            if (isa != (caches[i].in_pairs && there ? ATTN_ISA_AVX512_BF16 : usual))
                fail_msg("%s: %s", text, attn_isa_name(isa));
        }
    }
    unsetenv("ATTN_ISA_MASK");
}

/* Up to 16 rows, or 128 of latent attention, are for split_kv, from 8 on in tiles of the unit, too. */
static void with_a_matrix_unit(void **state)
{
    (void)state;
    static const struct choice choices[] = {
        {"hq=32,hkv=8,sq=1,skv=8192,d=128,dtype=bf16", 1, "split_kv"},  /* 4 rows */
        {"hq=64,hkv=8,sq=1,skv=8192,d=128,dtype=bf16", 1, "split_kv"},  /* 8 */
        {"hq=128,hkv=8,sq=1,skv=8192,d=128,dtype=bf16", 1, "split_kv"}, /* 16 */
        {"hq=128,hkv=8,sq=1,skv=8192,d=128,dtype=bf16,kv_dtype=i8", 1, "split_kv"},
        {"hq=512,hkv=8,sq=1,skv=2048,d=128,dtype=bf16", 1, "flash"}, /* 64 */
        {"hq=512,hkv=8,sq=1,skv=2048,d=64,dtype=bf16,kv_dtype=f8e4m3", 1, "flash"},
        {"hq=128,hkv=1,sq=1,skv=4096,d=576,dv=512,dtype=bf16", 1, "split_kv"},
        {"hq=128,hkv=1,sq=1,skv=4096,d=576,dv=512,dtype=bf16", 2, "split_kv"},
        {"hq=128,hkv=1,sq=1,skv=512,d=576,dv=512,dtype=bf16", 2, "flash"}, /* one split */
        {"h=1,sq=128,skv=65536,d=64,dtype=bf16", 1, "flash"},
        {"h=1,sq=128,skv=65536,d=64,dtype=bf16", 64,
         "split_kv"}, /* threads that four blocks cannot employ */
        {"h=1,sq=64,skv=1024,d=64,dtype=bf16", 8, "flash"}, /* nor can one split */
        {"h=8,s=64,d=64,dtype=bf16", 1, "flash"},
    };
    if (!attn_isa_available(ATTN_ISA_AMX) || !attn_find("flash", ATTN_ISA_AMX))
        skip();
    assert_chosen(choices, COUNT(choices));
    assert_int_equal(best("h=8,s=512,d=64,dtype=bf16", 1)->isa, ATTN_ISA_AMX);
    assert_int_not_equal(best("h=8,s=512,d=64", 1)->isa, ATTN_ISA_AMX); /* bf16 only */
    assert_string_equal(best("h=1,s=16,d=64,dtype=bf16", 1)->name, "flash");
    assert_string_equal(best("h=8,sq=16,skv=64,d=64,dtype=bf16", 1)->name, "split_kv");
    /* 16 rows, for which split_kv has no tiles */
    const char *nibbles = "hq=128,hkv=8,sq=1,skv=8192,d=128,dtype=bf16,kv_dtype=i4";
    assert_int_not_equal(best(nibbles, 1)->isa, ATTN_ISA_AMX);
    /* lists of keys, for which flash has none, from 8 rows of a list on */
    const char *many = "hq=16,hkv=2,sq=128,skv=8192,d=128,dtype=bf16,keys=index:2048:64";
    const char *four = "hq=8,hkv=2,sq=128,skv=8192,d=128,dtype=bf16,keys=index:2048";
    assert_string_equal(best(many, 1)->name, "split_kv");
    assert_int_equal(best(many, 1)->isa, ATTN_ISA_AMX);
    assert_int_not_equal(best(four, 1)->isa, ATTN_ISA_AMX);
    assert_int_equal(best("hq=8,hkv=1,sq=1,skv=8192,d=128,dtype=bf16", 1)->isa, ATTN_ISA_AMX);
    assert_int_not_equal(best("hq=7,hkv=1,sq=1,skv=8192,d=128,dtype=bf16", 1)->isa, ATTN_ISA_AMX);
    assert_int_not_equal(best("h=1,s=2,d=128,dtype=bf16", 1)->isa, ATTN_ISA_AMX);
    assert_int_not_equal(best("h=1,s=4,d=64,dtype=bf16", 1)->isa, ATTN_ISA_AMX);
}

/* ---- measured choices ----------------------------------------------------------------------- */

static const char *why;

/* The text of a host on which tiled/baseline has won where flash is the rule. */
static const char *tuned(void)
{
    static char text[4096];
    static const char *const won[] = {"h=8,s=200,d=64", "h=8,s=600,d=64"};
    struct attn_problem problems[] = {problem_of(won[0]), problem_of(won[1])};
    const struct attn_kernel *tiled = attn_find("tiled", ATTN_ISA_BASELINE);
    const struct attn_kernel *flash = attn_find("flash", ATTN_ISA_BASELINE);
    const struct attn_wisdom_point points[] = {{&problems[0], 1, tiled}, {&problems[1], 1, flash}};
    const size_t length = attn_wisdom_print(points, 2, text, sizeof text);
    assert_true(length < sizeof text);
    assert_int_equal(strlen(text), length);
    assert_true(attn_wisdom_print(points, 2, (char[8]){0}, 8) > 8);
    return text;
}

static void a_measured_choice_goes_before_the_rules(void **state)
{
    (void)state;
    static const struct choice measured[] = {
        {"h=8,s=200,d=64", 1, "tiled"},
        {"h=8,s=220,d=64", 1, "tiled"},
        {"h=12,s=200,d=64", 1, "tiled"}, /* as far as a point reaches */
    };
    static const struct choice by_rule[] = {
        {"h=8,s=200,d=64", 2, "flash"},            /* other threads */
        {"h=8,s=200,d=128", 1, "flash"},           /* dimensions */
        {"h=8,s=200,d=64,dtype=bf16", 1, "flash"}, /* types */
        {"h=8,s=300,d=64", 1, "flash"},            /* too far in rows and keys together */
        {"h=8,s=500,d=64", 1, "flash"},            /* nearer to another point */
    };
    assert_true(attn_wisdom_load(tuned(), &why));
    assert_chosen(measured, COUNT(measured));
    assert_chosen(by_rule, COUNT(by_rule));
    assert_int_equal(best("h=8,s=200,d=64", 1)->isa, attn_find("tiled", ATTN_ISA_BASELINE)->isa);
    assert_true(attn_wisdom_load(NULL, &why));
    assert_string_equal(best("h=8,s=200,d=64", 1)->name, "flash");
}

/* Refused, and the rules stand. */
static void assert_refused(const char *text, const char *reason)
{
    assert_true(attn_wisdom_load(tuned(), &why));
    assert_false(attn_wisdom_load(text, &why));
    assert_non_null(strstr(why, reason));
    assert_string_equal(best("h=8,s=200,d=64", 1)->name, "flash");
}

static void a_text_of_elsewhere_or_edited_is_refused(void **state)
{
    (void)state;
    char text[4096];
    assert_refused("", "no file of attnbench tune");
    assert_refused("{\"schema\":1}\n", "no file of attnbench tune");
    const char *whole = tuned();
    for (const char *at = whole; (at = strchr(at, '\n'));
         at++) { /* cut behind any line but the last */
        snprintf(text, sizeof text, "%.*s", (int)(at - whole + 1), whole);
        if (at[1] && at > whole)
            assert_refused(text, "was changed");
    }
    snprintf(text, sizeof text, "%s", whole);
    *strstr(text, "tiled") = 'T';
    assert_refused(text, "was changed");
    snprintf(text, sizeof text, "%s ", whole);
    assert_refused(text, "was changed");
    setenv("ATTN_ISA_MASK", "baseline", 1);
    char *elsewhere = strdup(tuned());
    unsetenv("ATTN_ISA_MASK");
    const bool other = attn_isa_preferred() != attn_find("flash", ATTN_ISA_BASELINE)->isa;
    if (other) /* has more than the baseline */
        assert_refused(elsewhere, "another host");
    free(elsewhere);
}

static void invalid_problems_get_none(void **state)
{
    (void)state;
    struct attn_problem problem;
    attn_problem_init(&problem);
    problem.kv_len = 0;
    assert_null(attn_kernel_best(&problem, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_every_host),
        cmocka_unit_test(with_wide_vectors),
        cmocka_unit_test(in_narrow_vectors),
        cmocka_unit_test(with_products_of_pairs),
        cmocka_unit_test(with_caches_in_pairs),
        cmocka_unit_test(a_measured_choice_goes_before_the_rules),
        cmocka_unit_test(a_text_of_elsewhere_or_edited_is_refused),
        cmocka_unit_test(with_a_matrix_unit),
        cmocka_unit_test(invalid_problems_get_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
