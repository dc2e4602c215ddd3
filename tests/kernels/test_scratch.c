/*
 * How much scratch flash and split_kv ask for: what their header comments and docs/library.md say.
 */
#include "testing.h"

#include "isa.h"
#include "problem/filled_tensors.h"

static void each_variant(const char *name, void (*judge)(const struct attn_kernel *))
{
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
        const struct attn_kernel *kernel = attn_find(name, (enum attn_isa)isa);
        if (kernel && attn_isa_available((enum attn_isa)isa))
            judge(kernel);
    }
}

/* The problem of a text in a type that the kernel has. */
static struct attn_problem problem_for(const struct attn_kernel *kernel, const char *text)
{
    struct attn_problem p = problem_of(text);
    const enum attn_dtype kv_dtype = p.kv_dtype;
    const bool scaled = attn_dtype_scaled(kv_dtype);
    p.dtype = kernel->caps.dtypes & 1U << ATTN_BF16 ? ATTN_BF16 : ATTN_F16;
    p.kv_dtype = scaled ? kv_dtype : p.dtype;
    return p;
}

/* 0 where the variant does not compute the problem. */
static size_t scratch(const struct attn_kernel *kernel, const struct attn_problem *p, int threads)
{
    const char *why;
    return attn_supports(kernel, p, &why) ? attn_workspace_size(kernel, p, threads) : 0;
}

static void at_most(const struct attn_kernel *kernel, const char *text, size_t got, size_t most)
{
    if (got > most)
        fail_msg("%s/%s, %s: %zu bytes, not at most %zu", kernel->name, attn_isa_name(kernel->isa),
                 text, got, most);
}

/* ---- flash ----------------------------------------------------------------------------------- */

/* A thread's in bytes, at any length. */
static void judge_flash(const struct attn_kernel *kernel)
{
    static const struct {
        const char *problem;
        size_t most, most_of_unit; /* in vectors; on a matrix unit */
    } cases[] = {
        {"d=64", 330000, 1240000},
        {"d=128", 590000, 1640000},
        {"d=576", 2430000, 5070000},
        {"d=64,ragged=1", 331000, 1760000},
        {"d=64,kv_dtype=i8,mask=bias", 330000, 1530000},
        {"d=128,kv_dtype=i8,mask=bias", 590000, 2170000},
        {"d=576,kv_dtype=f8e4m3,mask=bias", 2430000, 7440000},
        {"d=576,kv_dtype=i8,mask=bool+bias,alibi=1,softcap=30,sinks=1,outputs=o+lse+weights",
         2430000, 7440000},
        {"hq=128,hkv=1,d=576,dv=512,kv_dtype=i8", 2430000, 7110000},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_problem p = problem_for(kernel, cases[i].problem);
        const size_t most = kernel->isa == ATTN_ISA_AMX ? cases[i].most_of_unit : cases[i].most;
        size_t bytes[2];
        for (int n = 0; n < 2; n++) {
            p.q_len = p.kv_len = n ? 1 << 20 : 1 << 16;
            bytes[n] = scratch(kernel, &p, 1);
            at_most(kernel, cases[i].problem, bytes[n], most);
            assert_int_equal(scratch(kernel, &p, 16), 16 * bytes[n]);
        }
        assert_int_equal(bytes[0], bytes[1]);
    }
}

/* Bytes of a thread for each sequence beyond the first thousand. */
static size_t each_sequence(const struct attn_kernel *kernel, const char *text)
{
    struct attn_problem p = problem_for(kernel, text);
    p.batch = 1000;
    const size_t thousand = scratch(kernel, &p, 2);
    p.batch = 5000;
    return (scratch(kernel, &p, 2) - thousand) / 2 / 4000;
}

static void judge_sequences(const struct attn_kernel *kernel)
{
    assert_int_equal(each_sequence(kernel, "s=64"), 0);
    assert_int_equal(each_sequence(kernel, "s=64,ragged=1"), 16);
    assert_int_equal(each_sequence(kernel, "s=64,packed=1"), 16);
    assert_int_equal(each_sequence(kernel, "s=64,ragged=1,page=16"),
                     kernel->isa == ATTN_ISA_AMX ? 16 : 24);
}

TEST(flash_needs_as_much_at_any_length)
{
    each_variant("flash", judge_flash);
}

TEST(flash_has_a_table_of_sequences)
{
    each_variant("flash", judge_sequences);
}

/* ---- split_kv -------------------------------------------------------------------------------- */

/* What 64k keys more cost, in parts of `rows` rows of 512 values. */
static void judge_parts(const struct attn_kernel *kernel)
{
    static const struct {
        const char *problem;
        int threads;
        size_t units; /* that have parts of their own */
    } cases[] = {
        {"b=4,hq=128,hkv=1,sq=1,d=576,dv=512", 1, 1},
        {"b=4,hq=128,hkv=1,sq=1,d=576,dv=512", 2, 4},
        {"b=4,hq=128,hkv=1,sq=1,d=576,dv=512", 16, 4},
        {"b=1000,hq=128,hkv=1,sq=1,d=576,dv=512", 16, 16}, /* whole ones for each thread */
        {"b=1000,hq=128,hkv=1,sq=1,d=576,dv=512,ragged=1", 2, 2 + 16},
        {"b=1000,hq=16,hkv=1,sq=1,d=512,page=64", 1, 1 * 8}, /* 8 sequences of 16 rows */
    };
    const size_t keys = kernel->isa == ATTN_ISA_AMX ? 1024 : 512;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_problem p = problem_for(kernel, cases[i].problem);
        const size_t rows = p.q_heads, part = rows * (p.v_dim + 2) * sizeof(float);
        p.kv_len = 1 << 16;
        const size_t short_bytes = scratch(kernel, &p, cases[i].threads);
        p.kv_len = 1 << 17;
        const size_t bytes = scratch(kernel, &p, cases[i].threads);
        if (bytes - short_bytes != cases[i].units * ((1 << 16) / keys) * part)
            fail_msg("%s/%s, %s, %d threads: %zu bytes, not %zu parts of %zu", kernel->name,
                     attn_isa_name(kernel->isa), cases[i].problem, cases[i].threads,
                     bytes - short_bytes, cases[i].units * ((1 << 16) / keys), part);
    }
}

TEST(split_kv_has_a_part_for_each_split)
{
    each_variant("split_kv", judge_parts);
}

/* Latent attention of four sequences of 131072 keys, as docs/library.md has it. */
static void judge_long_cache(const struct attn_kernel *kernel)
{
    static const struct {
        int threads;
        size_t megabytes;
    } cases[] = {{1, 34}, {2, 136}, {16, 148}};
    const struct attn_problem p =
        problem_for(kernel, "b=4,hq=128,hkv=1,sq=1,skv=131072,d=576,dv=512");
    for (size_t i = 0; i < COUNT(cases) && kernel->isa == ATTN_ISA_AMX; i++)
        assert_int_equal((scratch(kernel, &p, cases[i].threads) + 500000) / 1000000,
                         cases[i].megabytes);
}

TEST(a_long_cache_takes_megabytes)
{
    each_variant("split_kv", judge_long_cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flash_needs_as_much_at_any_length),
        cmocka_unit_test(flash_has_a_table_of_sequences),
        cmocka_unit_test(split_kv_has_a_part_for_each_split),
        cmocka_unit_test(a_long_cache_takes_megabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
