/*
 * The text form of inputs: what it means, what is refused and how, and that printing and parsing undo
 * each other.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "problem/parse.h"

static const char *const inputs[][2] = {
    {"normal", "normal:1"},
    {"normal:0", "normal:0"},
    {"normal:18446744073709551615", "normal:18446744073709551615"},
    {"uniform", "uniform:1"},
    {"uniform:7", "uniform:7"},
    {"needle:0", "needle:0"},
    {"needle:65535", "needle:65535"},
    {"negative", "negative"},
    {"ascending", "ascending"},
    {"descending", "descending"},
    {"sink", "sink"},
    {"sink+mask:blocks:8:0.5", "sink+mask:blocks:8:0.5"},
    {"file:a.safetensors:layer0.", "file:a.safetensors:layer0."},
    {"file:dir with blanks/a:b:", "file:dir with blanks/a:b:"},
    {"file:a+lens:1:2:p", "file:a+lens:1:2:p"},
    {"normal+lens:1:64", "normal:1+lens:1:64"},
    {"needle:1.5k+lens:1k:64k:16k", "needle:1536+lens:1024:65536:16384"},
    {"normal+mask:blocks:1k:0.25", "normal:1+mask:blocks:1024:0.25"},
    {"normal:3+lens:100:4096:1000", "normal:3+lens:100:4096:1000"},
    {"normal+lens:1:64:32", "normal:1+lens:1:64"}, /* the mean of both is left out */
    {"uniform+lens:7:7", "uniform:1+lens:7:7"},
    {"normal+decode:3+lens:0:9", "normal:1+lens:0:9+decode:3"},
    {"normal+qlens:0:9:1", "normal:1+qlens:0:9:1"},
    {"normal+lens:17,2048,511,511", "normal:1+lens:17,2048,511,511"},
    {"normal+decode:1+lens:1k,5", "normal:1+lens:1024,5+decode:1"},
    {"normal+batch:2q2048,32q1s4k,8q1s1M", "normal:1+batch:2q2k,32q1s4k,8q1s1M"},
    {"normal+batch:1q7s7,q7,3q1s1000,q1s1000", "normal:1+batch:2q7,4q1s1000"},
    {"normal+mask:elements:0.5", "normal:1"},
    {"normal+mask:elements:.5:full", "normal:1+mask:elements:0.5:full"},
    {"normal+mask:blocks:64:0.25", "normal:1+mask:blocks:64:0.25"},
    {"normal+mask:blocks:1:0.25", "normal:1+mask:elements:0.25"},
    {"normal+mask:elements:0", "normal:1+mask:elements:0"},
    {"normal+mask:file:dir/m.safetensors", "normal:1+mask:file:dir/m.safetensors"},
    {"uniform:3+mask:file:m:full+bias:keys", "uniform:3+mask:file:m:full+bias:keys"},
    {"normal+bias:keys", "normal:1+bias:keys"},
    {"normal+bias:causal+scales:channel", "normal:1+bias:causal+scales:channel"},
    {"normal+scales:token", "normal:1"},
    {"normal+scales:head", "normal:1+scales:head"},
    {"normal+scales:tensor", "normal:1+scales:tensor"},
    {"normal+tree:4x3x2", "normal:1+tree:4x3x2"},
    {"uniform+tree:-1,0,0,1+lens:1:9", "uniform:1+lens:1:9+tree:-1,0,0,1"},
    {"normal+tree:7", "normal:1+tree:7"},
    {"normal+prefix:4k+lens:4k:8k", "normal:1+lens:4096:8192+prefix:4096"},
    {"normal+index:blocks:64", "normal:1+index:blocks:64"},
    {"needle:4+mask:blocks:8:1:full+bias:full", "needle:4+mask:blocks:8:1:full+bias:full"},
};

TEST(inputs_survive_the_round_trip)
{
    for (size_t i = 0; i < COUNT(inputs); i++) {
        struct input input, again;
        struct parse_error error;
        char text[PARSE_TEXT];
        assert_true(parse_input(inputs[i][0], &input, &error));
        parse_print_input(&input, text);
        assert_string_equal(text, inputs[i][1]);
        assert_true(parse_input(text, &again, &error));
        parse_print_input(&again, text);
        assert_string_equal(text, inputs[i][1]);
    }
}

TEST(inputs_set_their_fields)
{
    struct input input;
    struct parse_error error;
    assert_true(parse_input("uniform:42", &input, &error));
    assert_int_equal(input.kind, INPUT_UNIFORM);
    assert_int_equal(input.seed, 42);
    assert_true(parse_input("needle:9", &input, &error));
    assert_int_equal(input.kind, INPUT_NEEDLE);
    assert_int_equal(input.needle, 9);
    assert_true(parse_input("file:x/y:z:p.", &input, &error));
    assert_int_equal(input.kind, INPUT_FILE);
    assert_string_equal(input.path, "x/y:z");
    assert_string_equal(input.prefix, "p.");
}

TEST(clauses_set_their_fields)
{
    struct input input;
    struct parse_error error;
    assert_true(parse_input("normal:9+lens:2:20:5+decode:3+mask:blocks:16:0.75:full+bias:keys+"
                            "scales:channel",
                            &input, &error));
    assert_int_equal(input.seed, 9);
    assert_true(input.lens.given && !input.qlens.given);
    assert_int_equal(input.lens.lo, 2);
    assert_int_equal(input.lens.hi, 20);
    assert_int_equal(input.lens.mean, 5);
    assert_int_equal(input.decode, 3);
    assert_int_equal(input.mask_block, 16);
    assert_true(input.mask_visible == 0.75F && input.mask_full);
    assert_int_equal(input.bias, INPUT_BIAS_KEYS);
    assert_int_equal(input.scales, INPUT_SCALES_CHANNEL);
    assert_true(parse_input("normal+qlens:1:8", &input, &error));
    assert_true(input.qlens.given && input.qlens.mean == 4);
    assert_true(!input.lens.given && !input.decode && !input.mask_block);
    assert_int_equal(input.bias, INPUT_BIAS_HEADS);
}

#define TREE_FORM "expected tree:4x3x2, children by level, or tree:-1,0,0,..., parents"
#define KINDS "inputs are normal, uniform, needle, negative, sink, ascending, descending, file"
#define LENS "expected lens:LO:HI, lens:LO:HI:MEAN or lens:A,B,..."
#define BATCH "expected batch:[N]qQ[sS],..., N sequences of Q queries on S keys"
#define MASK                                                                                     \
    "expected mask:elements:P, mask:blocks:N:P or mask:file:PATH, with :full for each sequence " \
    "and head"
#define FILE_FORM "expected file:PATH:PREFIX, PREFIX may be empty"

static const struct {
    const char *text;
    size_t position;
    const char *message;
} refusals[] = {
    {"", 0, "unknown input ''; " KINDS},
    {"gauss", 0, "unknown input 'gauss'; " KINDS},
    {"nedle:3", 0, "unknown input 'nedle'; did you mean 'needle'?"},
    {"normal:", 7, "input normal: '' is not a whole number; expected normal or normal:SEED"},
    {"normal:-1", 7, "input normal: '-1' is not a whole number; expected normal or normal:SEED"},
    {"normal:18446744073709551616", 7,
     "input normal: '18446744073709551616' is too large; expected normal or normal:SEED"},
    {"needle", 6, "input needle: '' is not a whole number; expected needle:J, the key's position"},
    {"negative:1", 9, "input negative: '1' takes no value; expected negative"},
    {"file:abc", 5, "input file: 'abc' has no PATH:PREFIX; " FILE_FORM},
    {"file:\xe4:p", 5, "input file: '\\xe4:p' is not plain UTF-8 text; " FILE_FORM},
    {"file::p", 5, "input file: ':p' has no PATH:PREFIX; " FILE_FORM},
    {"normal+", 7,
     "unknown clause ''; clauses are lens, batch, qlens, decode, mask, bias, scales, tree, prefix, "
     "index"},
    {"normal:2+lans:1:2", 9, "unknown clause 'lans'; did you mean 'lens'?"},
    {"normal+lens", 7, "clause lens: '' has no value; " LENS},
    {"normal+lens:5", 7, "clause lens: '5' is not two or three numbers; " LENS},
    {"normal+lens:1:2:3:4", 7, "clause lens: '1:2:3:4' is not two or three numbers; " LENS},
    {"normal+lens:5:4", 7, "clause lens: '5:4' does not rise from LO over MEAN to HI; " LENS},
    {"normal+lens:1:4:9", 7, "clause lens: '1:4:9' does not rise from LO over MEAN to HI; " LENS},
    {"normal+lens:1:2+lens:1:3", 16, "clause lens is given twice"},
    {"normal+lens:4,x", 7, "clause lens: '4,x' is not a whole number; " LENS},
    {"normal+lens:4,0", 7, "clause lens: '4,0' is less than 1; " LENS},
    {"normal+batch:q1s4,4", 7, "clause batch: 'q1s4,4' has no queries; " BATCH},
    {"normal+batch:0q1", 7, "clause batch: '0q1' is less than 1; " BATCH},
    {"normal+batch:q5s4", 7,
     "clause batch: 'q5s4' has more queries than keys, which include those of the queries; " BATCH},
    {"normal+lens:4,5+batch:q5", 16,
     "clause batch: 'q5' cannot stand beside lens, qlens or decode; " BATCH},
    {"normal+batch:q5+decode:1", 16,
     "clause decode: '1' cannot stand beside batch; expected decode:N"},
    {"normal+batch:q5+lens:1:2", 16, "clause lens: '1:2' cannot stand beside batch; " LENS},
    {"normal+decode:2+qlens:1:3", 16,
     "clause qlens: '1:3' cannot stand beside decode; expected qlens:LO:HI or qlens:LO:HI:MEAN"},
    {"normal+qlens:1:3+decode:2", 17,
     "clause decode: '2' cannot stand beside qlens; expected decode:N"},
    {"normal+decode:0", 7, "clause decode: '0' is less than 1; expected decode:N"},
    {"normal+mask:0.5", 7,
     "clause mask: '0.5' is none of elements:P, blocks:N:P and file:PATH; " MASK},
    {"normal+mask:file:", 7,
     "clause mask: 'file:' has no path of at most 100 bytes, or an ending other than full; " MASK},
    {"normal+mask:elements:1.5", 7,
     "clause mask: 'elements:1.5' has no blocks, a P outside 0..1, or an ending other than "
     "full; " MASK},
    {"normal+bias:head", 7,
     "clause bias: 'head' is no such bias; expected bias:keys, bias:full or bias:causal"},
    {"normal+scales:row", 7,
     "clause scales: 'row' is no such granularity; expected scales:token, channel, head or tensor"},
    {"normal+tree:", 7, "clause tree: '' is not a whole number; " TREE_FORM},
    {"normal+tree:4x0", 7, "clause tree: '4x0' has a level without drafts; " TREE_FORM},
    {"normal+tree:4x", 7, "clause tree: '4x' is not a whole number; " TREE_FORM},
    {"normal+tree:65536x2", 7, "clause tree: '65536x2' has more than 65536 drafts; " TREE_FORM},
    {"normal+tree:-1,1", 7,
     "clause tree: '-1,1' has a parent that is neither -1 nor a draft before; " TREE_FORM},
    {"normal+tree:0,0", 7,
     "clause tree: '0,0' has a parent that is neither -1 nor a draft before; " TREE_FORM},
    {"normal+tree:-2,0", 7, "clause tree: '-2,0' is not a whole number; " TREE_FORM},
    {"normal+tree:-1,0,", 7, "clause tree: '-1,0,' is not a whole number; " TREE_FORM},
    {"normal+index:64", 7, "clause index: '64' is not blocks:N; expected index:blocks:N"},
    {"normal+index:blocks:1", 7,
     "clause index: 'blocks:1' has blocks of fewer than 2 keys; expected index:blocks:N"},
    {"normal+tree:2+tree:2", 14, "clause tree is given twice"},
    {"normal+prefix:0", 7, "clause prefix: '0' is less than 1; expected prefix:N"},
    {"normal+prefix:-1", 7, "clause prefix: '-1' is not a whole number; expected prefix:N"},
    {"normal+prefix", 7, "clause prefix: '' has no value; expected prefix:N"},
};

TEST(bad_inputs_are_refused)
{
    for (size_t i = 0; i < COUNT(refusals); i++) {
        struct input input;
        struct parse_error error;
        if (parse_input(refusals[i].text, &input, &error))
            fail_msg("accepted: %s", refusals[i].text);
        assert_string_equal(error.message, refusals[i].message);
        assert_int_equal(error.position, refusals[i].position);
    }
}

/* A clause that a problem has no use for would be a typing error that nobody sees. */
TEST(clauses_must_suit_the_problem)
{
    static const struct {
        const char *problem, *input;
        const char *message; /* NULL: fits */
    } cases[] = {
        {"s=64,d=8", "normal+lens:1:64", "clause lens needs ragged=1, or packed=1 without pages"},
        {"s=64,d=8,packed=1,page=16", "normal+lens:1:64",
         "clause lens needs ragged=1, or packed=1 without pages"},
        {"s=64,d=8,packed=1", "normal+lens:1:64", NULL},
        {"s=64,d=8,packed=1,page=16,ragged=1", "normal+lens:1:64", NULL},
        {"b=2,s=64,d=8,packed=1,ragged=1", "normal+batch:q64,q1s9", NULL},
        {"b=3,sq=1,skv=64,d=8,ragged=1", "normal+batch:2q1s64,q1s9", NULL},
        {"b=2,s=64,d=8,packed=1", "normal+lens:64,9", NULL},
        {"b=2,s=64,d=8,packed=1,page=16", "normal+batch:q9s64,q1s64", NULL},
        {"b=2,s=64,d=8,packed=1,page=16", "normal+batch:q9s64,q1s63",
         "clause batch needs ragged=1, or packed=1 without pages"},
        {"b=2,s=64,d=8,ragged=1", "normal+batch:q64,q1s9",
         "clause batch has other numbers of queries than sq, which needs packed=1"},
        {"b=2,s=64,d=8,packed=1", "normal+batch:q64", "clause batch does not have b sequences"},
        {"b=2,s=64,d=8,packed=1", "normal+lens:64,65",
         "clause lens has a sequence of more than skv keys"},
        {"b=2,sq=8,skv=64,d=8,packed=1", "normal+batch:q9s64,q8",
         "clause batch has a sequence of more than sq queries"},
        {"s=64,d=8,ragged=1", "normal+lens:1:65",
         "clause lens has a sequence of more than skv keys"},
        {"s=64,d=8,ragged=1", "normal+qlens:1:64", "clause qlens needs packed=1"},
        {"s=64,d=8,packed=1", "normal+qlens:1:65",
         "clause qlens has a sequence of more than sq queries"},
        {"s=64,d=8", "normal+decode:1", "clause decode needs packed=1"},
        {"b=3,s=64,d=8,packed=1", "normal+decode:4", "clause decode has more sequences than b"},
        {"b=3,s=64,d=8,packed=1", "normal+decode:3", NULL},
        {"s=64,d=8,mask=bias", "normal+mask:elements:0.5", "clause mask needs mask=bool"},
        {"s=64,d=8,mask=bool", "normal+bias:full", "clause bias needs mask=bias"},
        {"s=64,d=8,mask=bool+bias", "normal+bias:full+mask:blocks:8:1", NULL},
        {"s=64,d=8", "normal+scales:token",
         "clause scales needs kv_dtype=i8, f8e4m3, f8e5m2 or i4"},
        {"s=64,d=8,kv_dtype=i4", "normal+scales:head", NULL},
        {"s=64,d=8,kv_dtype=i4", "normal+scales:channel",
         "clause scales is of channels, and kv_dtype=i4 has scales of groups"},
        {"s=64,d=8,kv_dtype=i8", "normal+scales:channel", NULL},
        {"s=64,d=8,kv_dtype=f8e5m2", "normal+scales:tensor", NULL},
        {"sq=40,skv=64,d=8,mask=tree", "normal+tree:4x3x2", NULL},
        {"sq=39,skv=64,d=8,mask=tree", "normal+tree:4x3x2",
         "clause tree has 40 drafts, but sq is 39"},
        {"sq=4,skv=64,d=8,mask=tree", "normal+tree:-1,0,0,1", NULL},
        {"sq=40,skv=64,d=8,mask=bool", "normal+tree:4x3x2", "clause tree needs mask=tree"},
        {"b=2,s=64,d=8,page=16", "normal+prefix:64", NULL},
        {"b=2,s=64,d=8", "normal+prefix:64", "clause prefix needs page=N"},
        {"b=2,s=64,d=8,page=16", "normal+prefix:40",
         "clause prefix has 40 keys, which fill no whole pages of 16"},
        {"b=2,s=64,d=8,page=16", "normal+prefix:80",
         "clause prefix has 80 keys, the shortest sequence 64"},
        {"b=2,s=64,d=8,page=16,ragged=1", "normal+prefix:16",
         "clause prefix has 16 keys, the shortest sequence 1"},
        {"b=2,s=64,d=8,page=16,ragged=1", "normal+prefix:32+lens:31:64",
         "clause prefix has 32 keys, the shortest sequence 31"},
        {"b=2,s=64,d=8,page=16,ragged=1", "normal+prefix:32+lens:32:64", NULL},
        {"b=2,s=64,d=8,page=16,ragged=1", "normal+prefix:32+lens:33,31",
         "clause prefix has 32 keys, the shortest sequence 31"},
        {"s=64,d=8,keys=index:9", "normal+index:blocks:4", NULL},
        {"s=64,d=8", "normal+index:blocks:4", "clause index needs keys=index:COUNT"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_problem problem;
        struct input input;
        struct parse_error error;
        assert_true(parse_problem(cases[i].problem, &problem, &error));
        assert_true(parse_input(cases[i].input, &input, &error));
        const bool fits = parse_input_for(cases[i].input, &problem, &input, &error);
        assert_int_equal(fits, !cases[i].message);
        if (fits)
            continue;
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.position, 7);
    }
}

/* What a check makes of an input for the problems that it makes up. */
TEST(inputs_are_fitted_to_other_problems)
{
    static const struct {
        const char *problem, *input, *fitted;
    } cases[] = {
        {"s=64,d=8", "uniform:3+lens:100:4096:1000+decode:9+bias:full", "uniform:3"},
        {"b=2,s=64,d=8,packed=1", "normal+lens:100:4096:1000+decode:9",
         "normal:1+lens:64:64+decode:2"},
        {"s=64,d=8,ragged=1", "normal+lens:10:4096:30", "normal:1+lens:10:64:30"},
        {"s=64,d=8,packed=1", "normal+qlens:10:4096:3000", "normal:1+qlens:10:64:64"},
        {"s=64,d=8,mask=bool,kv_dtype=i8", "normal+mask:blocks:64:0.25+bias:keys+scales:channel",
         "normal:1+mask:blocks:64:0.25+scales:channel"},
        {"sq=39,skv=64,d=8,mask=tree", "normal+tree:4x3x2", "normal:1"},
        {"sq=40,skv=64,d=8,mask=tree", "normal+tree:4x3x2", "normal:1+tree:4x3x2"},
        {"b=2,s=40,d=8,page=16", "normal+prefix:64", "normal:1+prefix:32"},
        {"b=2,s=40,d=8,page=16,ragged=1", "normal+prefix:64+lens:20:30",
         "normal:1+lens:20:30+prefix:16"},
        {"b=2,s=8,d=8,page=16", "normal+prefix:64", "normal:1"},
        {"b=2,s=40,d=8", "normal+prefix:32", "normal:1"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct attn_problem problem;
        struct input input;
        struct parse_error error;
        char text[PARSE_TEXT];
        assert_true(parse_problem(cases[i].problem, &problem, &error));
        assert_true(parse_input(cases[i].input, &input, &error));
        parse_fit_input(&input, &problem);
        parse_print_input(&input, text);
        assert_string_equal(text, cases[i].fitted);
        assert_true(parse_input_for(text, &problem, &input, &error));
    }
}

TEST(long_paths_and_prefixes_are_refused)
{
    char text[PARSE_TEXT];
    struct input input;
    struct parse_error error;
    snprintf(text, sizeof text, "file:%0255d:p", 0);
    assert_true(parse_input(text, &input, &error));
    snprintf(text, sizeof text, "file:%0256d:p", 0);
    assert_false(parse_input(text, &input, &error));
    assert_non_null(strstr(error.message, "is too long"));
    snprintf(text, sizeof text, "file:a:%063d", 0);
    assert_true(parse_input(text, &input, &error));
    snprintf(text, sizeof text, "file:a:%064d", 0);
    assert_false(parse_input(text, &input, &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_survive_the_round_trip),
        cmocka_unit_test(inputs_set_their_fields),
        cmocka_unit_test(clauses_set_their_fields),
        cmocka_unit_test(bad_inputs_are_refused),
        cmocka_unit_test(clauses_must_suit_the_problem),
        cmocka_unit_test(inputs_are_fitted_to_other_problems),
        cmocka_unit_test(long_paths_and_prefixes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
