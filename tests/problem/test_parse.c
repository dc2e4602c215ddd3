/*
 * The text form of problems: what it means, and that printing and parsing undo each other.
 */
#include "testing.h"

#include <math.h>
#include <string.h>

#include "problem/parse.h"
#include "base/random.h"
#include "same_problem.h"

#define RANDOM_PROBLEMS 20000

static struct attn_problem parsed(const char *text)
{
    struct attn_problem problem;
    struct parse_error error;
    if (!parse_problem(text, &problem, &error))
        fail_msg("%s: position %zu: %s", text, error.position, error.message);
    return problem;
}

/* ---- meaning ------------------------------------------------------------------------------- */

TEST(every_key_sets_its_field)
{
    const struct attn_problem p =
        parsed("b=2,hq=12,hkv=3,sq=5,skv=7,d=40,dv=48,dtype=bf16,kv_dtype=i8,"
               "mask=causal+bias+bool,window=256:-1,softcap=30,scale=0.125,layout=bshd,sinks=1,"
               "alibi=1,ragged=1,packed=1,page=16,outputs=o+lse+weights+scores");
    assert_int_equal(p.size, sizeof p);
    assert_int_equal(p.batch, 2);
    assert_int_equal(p.q_heads, 12);
    assert_int_equal(p.kv_heads, 3);
    assert_int_equal(p.q_len, 5);
    assert_int_equal(p.kv_len, 7);
    assert_int_equal(p.qk_dim, 40);
    assert_int_equal(p.v_dim, 48);
    assert_int_equal(p.dtype, ATTN_BF16);
    assert_int_equal(p.kv_dtype, ATTN_I8);
    assert_int_equal(p.mask, ATTN_MASK_CAUSAL | ATTN_MASK_BIAS | ATTN_MASK_BOOL);
    assert_int_equal(p.options, ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP | ATTN_OPTION_SINKS |
                                    ATTN_OPTION_ALIBI | ATTN_OPTION_RAGGED | ATTN_OPTION_PAGED |
                                    ATTN_OPTION_PACKED);
    assert_int_equal(parsed("d=64,dv=32,shared_kv=1").options, ATTN_OPTION_SHARED_KV);
    assert_int_equal(p.window_left, 256);
    assert_int_equal(p.window_right, -1);
    assert_true(p.softcap == 30);
    assert_true(p.scale == 0.125f);
    assert_int_equal(p.layout, ATTN_BSHD);
    assert_int_equal(p.page_size, 16);
    assert_int_equal(p.outputs,
                     ATTN_OUTPUT_O | ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES);
}

TEST(sizes_have_units_and_blanks_follow_commas)
{
    const struct attn_problem p = parsed("d=64, sq=16k,\t skv=2M,window=1k:2k,page=1k");
    assert_int_equal(p.q_len, 16384);
    assert_int_equal(p.kv_len, 2097152);
    assert_int_equal(p.window_left, 1024);
    assert_int_equal(p.window_right, 2048);
    assert_int_equal(p.page_size, 1024);
    assert_true(parse_gives("d=64, s=1k", "skv"));
    assert_false(parse_gives("d=64, s=1k", "b"));
    char differs[2 * PARSE_TEXT];
    assert_true(parse_agrees_with_file("d=64, skv=2M", &p, MESSAGE(differs)));
    assert_false(parse_agrees_with_file("d=64, skv=2k", &p, MESSAGE(differs)));
    assert_string_equal(differs, "skv=2k, but skv=2097152");
}

TEST(what_is_left_out_follows_its_partner)
{
    const struct attn_problem p = parsed("hq=8,sq=100,dtype=f16");
    assert_int_equal(p.batch, 1);
    assert_int_equal(p.kv_heads, 8);
    assert_int_equal(p.kv_len, 100);
    assert_int_equal(p.qk_dim, 64);
    assert_int_equal(p.v_dim, 64);
    assert_int_equal(p.kv_dtype, ATTN_F16);
    assert_int_equal(p.options, 0);
    assert_int_equal(p.mask, ATTN_MASK_NONE);
    assert_int_equal(p.outputs, ATTN_OUTPUT_O);
    assert_int_equal(p.window_left, -1);
    assert_int_equal(p.window_right, -1);
}

/* Text, and its canonical form. */
static const char *const canonical[][2] = {
    {"d=64", "b=1,hq=1,hkv=1,sq=1,skv=1,d=64"},
    {"h=8,s=1024,d=64", "b=1,hq=8,hkv=8,sq=1024,skv=1024,d=64"},
    {"d=128,hkv=8,hq=32,skv=4096", "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128"},
    {"b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dv=128,dtype=bf16,mask=causal,window=256,softcap=30,"
     "scale=0.125,layout=bshd",
     "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128,dtype=bf16,mask=causal,window=256,softcap=30,"
     "scale=0.125,layout=bshd"},
    {"d=8,dv=4", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,dv=4"},
    {"s=3,d=8,mask=none,window=-1,softcap=0,scale=0,layout=bhsd,sinks=0,alibi=0,ragged=0,packed=0,"
     "page=0,shared_kv=0,outputs=o,dtype=f32,kv_dtype=f32",
     "b=1,hq=1,hkv=1,sq=3,skv=3,d=8"},
    {"d=8,mask=bool+causal_top_left", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,mask=causal_top_left+bool"},
    {"shared_kv=1,page=16,packed=1,ragged=1,alibi=1,sinks=1,d=8",
     "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,sinks=1,alibi=1,ragged=1,packed=1,page=16,shared_kv=1"},
    {"d=8,mask=tree+bias", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,mask=bias+tree"},
    {"keys=index:2k,d=8", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,keys=index:2048"},
    {"d=8,keys=index:3:1", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,keys=index:3"},
    {"outputs=lse,keys=index:9:16,mask=tree,d=8",
     "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,mask=tree,keys=index:9:16,outputs=lse"},
    {"d=8,keys=all", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8"},
    {"d=8,outputs=lse+o", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,outputs=o+lse"},
    {"d=8,window=0", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,window=0"},
    {"d=8,window=3:-1", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,window=3"},
    {"d=8,window=-1:2", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,window=-1:2"},
    {"d=8,window=-1:-1", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8"},
    {"d=8,scale=0.10000000149011612", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,scale=0.1"},
    {"d=8,scale=16777217", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,scale=16777216"},
    {"d=8,scale=-1e-45", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,scale=-1e-45"},
    {"d=8,scale=-0", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8"},
    {"d=8,softcap=3e38", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,softcap=3e+38"},
    {"d=007", "b=1,hq=1,hkv=1,sq=1,skv=1,d=7"},
    {"d=8,dtype=bf16,kv_dtype=bf16", "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,dtype=bf16"},
};

TEST(printing_gives_the_canonical_form)
{
    for (size_t i = 0; i < COUNT(canonical); i++) {
        const struct attn_problem p = parsed(canonical[i][0]);
        char text[PARSE_TEXT];
        parse_print_problem(&p, text);
        assert_string_equal(text, canonical[i][1]);
        const struct attn_problem again = parsed(text);
        assert_true(same_problem(&again, &p));
    }
}

/* Values of options that are off are not part of the problem. */
TEST(options_that_are_off_are_not_printed)
{
    struct attn_problem p = parsed("d=8");
    char text[PARSE_TEXT];
    p.window_left = 5;
    p.window_right = 0;
    p.softcap = 30;
    p.page_size = 16;
    parse_print_problem(&p, text);
    assert_string_equal(text, "b=1,hq=1,hkv=1,sq=1,skv=1,d=8");
    p.options = ATTN_OPTION_WINDOW | ATTN_OPTION_SOFTCAP | ATTN_OPTION_PAGED;
    parse_print_problem(&p, text);
    assert_string_equal(text, "b=1,hq=1,hkv=1,sq=1,skv=1,d=8,window=5:0,softcap=30,page=16");
}

TEST(the_longest_canonical_text_fits)
{
    struct attn_problem p =
        parsed("mask=causal_top_left+bias+bool,window=4611686018427387903:4611686018427387903,"
               "softcap=1.17549435e-38,scale=-1.17549435e-38,layout=bshd,sinks=1,alibi=1,ragged=1,"
               "packed=1,page=1,shared_kv=1,outputs=o+lse+weights+scores,dtype=bf16,"
               "kv_dtype=i8,dv=1");
    char text[PARSE_TEXT];
    p.batch = p.q_heads = p.kv_heads = p.q_len = p.kv_len = p.qk_dim = p.page_size = SIZE_MAX;
    parse_print_problem(&p, text);
    assert_true(strlen(text) > 300);
    assert_non_null(strstr(text, ",outputs=o+lse+weights+scores"));
}

/* ---- round trip ---------------------------------------------------------------------------- */

static uint64_t drawn;

static size_t below(size_t n)
{
    return random_below(1, drawn++, n);
}

/* Any finite float: bits, not values. */
static float random_float(void)
{
    for (;;) {
        const uint32_t bits = (uint32_t)random_bits(1, drawn++);
        float x;
        memcpy(&x, &bits, sizeof x);
        if (isfinite(x) && x != 0)
            return x;
    }
}

static void random_options(struct attn_problem *p)
{
    const enum attn_dtype dtypes[] = {ATTN_F32, ATTN_BF16, ATTN_F16, ATTN_F64};
    const unsigned causal[] = {0, ATTN_MASK_CAUSAL, ATTN_MASK_CAUSAL_TOP_LEFT};
    p->dtype = dtypes[below(4)];
    p->kv_dtype = below(4) ? p->dtype
                           : (const enum attn_dtype[]){ATTN_I8, ATTN_F8E4M3, ATTN_F8E5M2}[below(3)];
    p->layout = (enum attn_layout)below(2);
    p->outputs = 1 + (unsigned)below(7);
    if (below(2))
        p->outputs |= ATTN_OUTPUT_SCORES;
    p->mask = causal[below(3)] | (unsigned)below(4) << 2;
    p->options = (unsigned)below(256);
    if (p->options & ATTN_OPTION_SHARED_KV && p->v_dim > p->qk_dim)
        p->v_dim = p->qk_dim;
    p->scale = below(2) ? random_float() : 0;
    if (p->options & ATTN_OPTION_SOFTCAP)
        p->softcap = fabsf(random_float());
    if (p->options & ATTN_OPTION_PAGED)
        p->page_size = 1 + below(300);
    if (p->options & ATTN_OPTION_WINDOW) {
        p->window_left = (ptrdiff_t)below(100) - 1;
        p->window_right = below(2) && p->window_left >= 0 ? -1 : (ptrdiff_t)below(9);
    }
}

static void random_problem(struct attn_problem *p)
{
    attn_problem_init(p);
    p->batch = 1 + below(300);
    p->kv_heads = 1 + below(20);
    p->q_heads = p->kv_heads * (1 + below(9));
    p->q_len = 1 + below(70000);
    p->kv_len = below(3) ? p->q_len : 1 + below(70000);
    p->qk_dim = 1 + below(300);
    p->v_dim = below(2) ? p->qk_dim : 1 + below(300);
    if (below(4))
        random_options(p);
}

TEST(random_problems_survive_the_round_trip)
{
    for (int i = 0; i < RANDOM_PROBLEMS; i++) {
        struct attn_problem p;
        char text[PARSE_TEXT], again[PARSE_TEXT];
        random_problem(&p);
        parse_print_problem(&p, text);
        const struct attn_problem q = parsed(text);
        assert_true(same_problem(&q, &p));
        parse_print_problem(&q, again);
        assert_string_equal(again, text);
    }
}

/* Keys that follow others where they are left out, as hkv follows hq, stay too. */
TEST(a_change_leaves_all_other_keys)
{
    struct attn_problem p = parsed("h=4,s=64,d=32,mask=causal,softcap=2");
    const struct attn_problem expected =
        parsed("hq=8,hkv=4,sq=64,skv=128,d=32,mask=causal,softcap=2,sinks=1");
    parse_change("hq=8, skv=128,sinks=1", &p);
    assert_true(same_problem(&p, &expected));
    parse_change("", &p);
    assert_true(same_problem(&p, &expected));
}

/* The same keys in any order mean the same. */
TEST(the_order_of_keys_means_nothing)
{
    for (int i = 0; i < 2000; i++) {
        struct attn_problem p;
        char text[PARSE_TEXT], shuffled[PARSE_TEXT] = "";
        char *items[32], *rest = text;
        size_t n = 0;
        random_problem(&p);
        parse_print_problem(&p, text);
        for (char *item; (item = strsep(&rest, ","));)
            items[n++] = item;
        while (n) {
            const size_t pick = below(n);
            strcat(strcat(shuffled, *shuffled ? "," : ""), items[pick]);
            items[pick] = items[--n];
        }
        const struct attn_problem q = parsed(shuffled);
        assert_true(same_problem(&q, &p));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_sets_its_field),
        cmocka_unit_test(sizes_have_units_and_blanks_follow_commas),
        cmocka_unit_test(what_is_left_out_follows_its_partner),
        cmocka_unit_test(printing_gives_the_canonical_form),
        cmocka_unit_test(options_that_are_off_are_not_printed),
        cmocka_unit_test(random_problems_survive_the_round_trip),
        cmocka_unit_test(a_change_leaves_all_other_keys),
        cmocka_unit_test(the_order_of_keys_means_nothing),
        cmocka_unit_test(the_longest_canonical_text_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
