/*
 * The text form of problems: what is refused, where and with which remedy.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "problem/parse.h"

#define TREE_ALONE \
    "mask=tree goes with no causal mask, window or alibi: places in a tree are depths"
#define KEYS                                                                                   \
    "keys are b, hq, hkv, sq, skv, d, dv, dtype, kv_dtype, kv_group, kv_zeros, mask, window, " \
    "softcap, scale, layout, sinks, alibi, ragged, packed, page, shared_kv, keys, outputs, h, s"
#define LISTS "expected all, index:COUNT or index:COUNT:QUERIES"
#define MASKS "expected none, or a sum of causal, causal_top_left, bias, bool, tree"

static const struct refusal {
    const char *text;
    size_t position;
    const char *message;
} refusals[] = {
    {"", 0, "the problem is empty; expected key=value,..."},
    {"b=1,hq=2,hkw=2", 9, "unknown key 'hkw'; did you mean 'hkv'?"},
    {"sacle=1", 0, "unknown key 'sacle'; did you mean 'scale'?"},
    {"headdim=64", 0, "unknown key 'headdim'; " KEYS},
    {"D=64", 0, "unknown key 'D'; " KEYS},
    {"d=64,", 5, "an empty item; expected key=value"},
    {",d=64", 0, "an empty item; expected key=value"},
    {"d=64,,b=1", 5, "an empty item; expected key=value"},
    {"d=64,causal", 5, "'causal' has no value; expected key=value"},
    {"d=", 2, "d has an empty value; expected N >= 1"},
    {"d=64 ", 2, "d='64 ' is not a whole number; expected N >= 1"},
    {"d=64, ", 6, "an empty item; expected key=value"},
    {"d=64 ,b=1", 2, "d='64 ' is not a whole number; expected N >= 1"},
    {"d= 64", 2, "d=' 64' is not a whole number; expected N >= 1"},
    {"sk=64", 0, "unknown key 'sk'; did you mean 'skv'?"},
    {"s=k", 2, "s='k' is not a whole number; expected N >= 1"},
    {"s=16kb", 2, "s='16kb' is not a whole number; expected N >= 1"},
    {"s=0k", 2, "s='0k' is less than 1; expected N >= 1"},
    {"d=8796093022208M", 2, "d='8796093022208M' is too large; expected N >= 1"},
    {"d=0", 2, "d='0' is less than 1; expected N >= 1"},
    {"d=-1", 2, "d='-1' is not a whole number; expected N >= 1"},
    {"d=1.5", 2, "d='1.5' is not a whole number; expected N >= 1"},
    {"d=0x10", 2, "d='0x10' is not a whole number; expected N >= 1"},
    {"d=9223372036854775808", 2, "d='9223372036854775808' is too large; expected N >= 1"},
    {"d=18446744073709551617", 2, "d='18446744073709551617' is too large; expected N >= 1"},
    {"d=64,b=2,d=64", 9, "d is given twice, first at position 0"},
    {"h=8,h=8", 4, "h is given twice, first at position 0"},
    {"h=8,hq=8", 4, "hq sets hq, which h at position 0 sets too; give one of them"},
    {"d=4,skv=8,s=8", 10, "s sets skv, which skv at position 4 sets too; give one of them"},
    {"hq=6,hkv=4", 5, "hq is not a multiple of hkv"},
    {"keys=foo", 5, "keys='foo' is neither all nor a list; " LISTS},
    {"keys=index", 5, "keys='index' is neither all nor a list; " LISTS},
    {"d=8,keys=index:0", 9, "keys='index:0' has a COUNT of 0; " LISTS},
    {"keys=index:8:0", 5, "keys='index:8:0' has QUERIES of 0; " LISTS},
    {"keys=index:x", 5, "keys='index:x' is not a whole number; " LISTS},
    {"hkv=4", 0, "hq is not a multiple of hkv"},
    {"dtype=i32", 6, "dtype='i32' is no such type; expected f32|bf16|f16|f64"},
    {"dtype=float", 6, "dtype='float' is no such type; did you mean 'f32'?"},
    {"dtype=fp16", 6, "dtype='fp16' is no such type; did you mean 'f16'?"},
    {"dtype=bfloat16", 6, "dtype='bfloat16' is no such type; did you mean 'bf16'?"},
    {"dtype=half", 6, "dtype='half' is no such type; did you mean 'f16'?"},
    {"dtype=int8", 6, "dtype='int8' is no such type; expected f32|bf16|f16|f64"},
    {"kv_dtype=i4,kv_group=16", 21, "kv_group='16' is no such size; expected 32|64"},
    {"kv_group=32", 0, "kv_group needs kv_dtype=i4"},
    {"kv_dtype=i8,kv_zeros=1", 12, "kv_zeros needs kv_dtype=i4"},
    {"kv_dtype=int8", 9, "kv_dtype='int8' is no such type; did you mean 'i8'?"},
    {"d=8,kv_dtype=bf16", 4,
     "kv_dtype=bf16 is neither dtype, which is f32, nor i8, f8e4m3, f8e5m2 or i4"},
    {"kv_dtype=f32,dtype=f64", 0,
     "kv_dtype=f32 is neither dtype, which is f64, nor i8, f8e4m3, f8e5m2 or i4"},
    {"kv_dtype=bool", 9,
     "kv_dtype='bool' is no such type; expected dtype, i8, f8e4m3, f8e5m2 or i4"},
    {"mask=causel", 5, "mask='causel' is unknown; did you mean 'causal'?"},
    {"mask=casual", 5, "mask='casual' is unknown; did you mean 'causal'?"},
    {"mask=causal+bais", 5, "mask='causal+bais' is unknown; did you mean 'bias'?"},
    {"mask=diagonal", 5, "mask='diagonal' is unknown; " MASKS},
    {"layout=bhds", 7, "layout='bhds' is unknown; expected bhsd|bshd"},
    {"mask=causal+", 5, "mask='causal+' is unknown; " MASKS},
    {"mask=none+causal", 5, "mask='none+causal' is unknown; " MASKS},
    {"mask=causal+none", 5, "mask='causal+none' is unknown; " MASKS},
    {"mask=bias+bias", 5, "mask='bias+bias' has a part twice; " MASKS},
    {"d=8,mask=causal+causal_top_left", 4, "mask is causal in two ways; expected one of them"},
    {"d=8,mask=tree+causal", 4, TREE_ALONE},
    {"mask=tree,d=8,window=3", 0, TREE_ALONE},
    {"d=8,alibi=1,mask=bias+tree", 12, TREE_ALONE},
    {"d=8,packed=2", 11, "packed='2' is neither 0 nor 1; expected 0|1"},
    {"d=8,shared_kv=1,dv=9", 4, "shared_kv needs a dv of at most d"},
    {"window=-2", 7, "window='-2' is not a whole number; expected L or L:R, -1 = no limit"},
    {"window=1:2:3", 7, "window='1:2:3' is not a whole number; expected L or L:R, -1 = no limit"},
    {"window=:3", 7, "window=':3' is not a whole number; expected L or L:R, -1 = no limit"},
    {"window=9223372036854775807", 7,
     "window='9223372036854775807' is too large; expected L or L:R, -1 = no limit"},
    {"softcap=-1", 8, "softcap='-1' is negative; expected X >= 0"},
    {"scale=nan", 6, "scale='nan' is not a decimal number; expected X"},
    {"scale=inf", 6, "scale='inf' is not a decimal number; expected X"},
    {"scale=1e39", 6, "scale='1e39' is too large for f32; expected X"},
    {"scale=1e-60", 6, "scale='1e-60' is too small for f32; expected X"},
    {"scale=+1", 6, "scale='+1' is not a decimal number; expected X"},
    {"scale=1e", 6, "scale='1e' is not a decimal number; expected X"},
    {"scale=.", 6, "scale='.' is not a decimal number; expected X"},
    {"scale=0x1p3", 6, "scale='0x1p3' is not a decimal number; expected X"},
    {"layout=sbhd", 7, "layout='sbhd' is unknown; expected bhsd|bshd"},
    {"sinks=yes", 6, "sinks='yes' is neither 0 nor 1; expected 0|1"},
    {"outputs=", 8, "outputs has an empty value; expected a sum of o, lse, weights, scores"},
    {"pass=forward", 0, "unknown key 'pass'; did you mean 'mask'?"},
    {"d=\xc3\xa4\n", 2, "d='\\xc3\\xa4\\x0a' is not a whole number; expected N >= 1"},
    {"b=3037000500,h=3037000500,s=3037000500", 0, "an operand does not fit in the address space"},
};

TEST(refusals_name_key_position_and_remedy)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        struct attn_problem problem, untouched;
        struct parse_error error = {.position = 999};
        memset(&problem, 0x5a, sizeof problem);
        untouched = problem;
        if (parse_problem(r->text, &problem, &error))
            fail_msg("accepted: %s", r->text);
        assert_string_equal(error.message, r->message);
        if (error.position != r->position)
            fail_msg("%s: position %zu, not %zu", r->text, error.position, r->position);
        assert_memory_equal(&problem, &untouched, sizeof problem);
    }
}

TEST(long_values_are_cut_in_messages)
{
    char text[300];
    struct attn_problem problem;
    struct parse_error error;
    snprintf(text, sizeof text, "d=%0200d", 0);
    memset(text + 2, 'x', 200);
    assert_false(parse_problem(text, &problem, &error));
    assert_int_equal(error.position, 2);
    assert_non_null(strstr(error.message, "xxx...' is not a whole number; expected N >= 1"));
    assert_true(strlen(error.message) < 120);
}

TEST(the_longest_text_is_accepted_and_one_byte_more_is_not)
{
    char text[PARSE_TEXT + 1] = "d=";
    struct attn_problem problem;
    struct parse_error error;
    memset(text + 2, '0', PARSE_TEXT - 2);
    text[PARSE_TEXT - 2] = '7';
    text[PARSE_TEXT - 1] = 0;
    assert_true(parse_problem(text, &problem, &error));
    assert_int_equal(problem.qk_dim, 7);
    text[PARSE_TEXT - 1] = '7';
    text[PARSE_TEXT] = 0;
    assert_false(parse_problem(text, &problem, &error));
    assert_string_equal(error.message, "a problem text has at most 511 bytes");
    assert_int_equal(error.position, PARSE_TEXT - 1);
}

TEST(every_key_has_help_and_is_known)
{
    size_t n = 0;
    for (const struct parse_key_help *help; (help = parse_key_help(n)); n++) {
        struct attn_problem problem;
        struct parse_error error;
        char text[64], start[64];
        snprintf(text, sizeof text, "%s=", help->name);
        snprintf(start, sizeof start, "%s has an empty value", help->name);
        assert_false(parse_problem(text, &problem, &error));
        assert_memory_equal(error.message, start, strlen(start));
        assert_true(strlen(help->form) && strlen(help->meaning));
    }
    assert_int_equal(n, 26);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_name_key_position_and_remedy),
        cmocka_unit_test(long_values_are_cut_in_messages),
        cmocka_unit_test(the_longest_text_is_accepted_and_one_byte_more_is_not),
        cmocka_unit_test(every_key_has_help_and_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
