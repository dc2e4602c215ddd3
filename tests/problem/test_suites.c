/*
 * Built-in suites: that they are the files of suites/, and that each name says what its problem is.
 */
#include "testing.h"

#include <glob.h>
#include <string.h>

#include "loaded_cases.h"
#include "same_problem.h"

TEST(all_is_every_builtin_suite_each_case_once)
{
    struct case_list all = {0}, each = {0};
    assert_true(cases_load(&all, "all", MESSAGE(message)));
    for (const struct suite *s = cases_builtin; s->name; s++)
        assert_true(cases_load(&each, s->name, MESSAGE(message)));
    assert_int_equal(all.count, each.count);
    for (size_t i = 0; i < all.count; i++) {
        assert_string_equal(all.items[i].name, each.items[i].name);
        assert_int_equal(cases_find(&all, all.items[i].name), i);
    }
    cases_free(&all);
    cases_free(&each);
}

/* Name, problem and input of some built-in cases, by hand. */
static const struct {
    const char *suite, *name, *problem, *input;
} builtin[] = {
    {"quick", "prefill-f32-s256-d64", "b=1,hq=8,hkv=8,sq=256,skv=256,d=64", "normal:1"},
    {"default", "decode-f32-s4096-g4-d128", "b=1,hq=32,hkv=8,sq=1,skv=4096,d=128", "normal:1"},
    {"default", "real-minilm-layer0", "b=1,hq=4,hkv=4,sq=256,skv=256,d=32",
     "file:minilm-gettysburg.safetensors:layer0."},
    {"prefill", "prefill-f32-s1024-d64-causal", "b=1,hq=8,hkv=8,sq=1024,skv=1024,d=64,mask=causal",
     "normal:1"},
    {"prefill", "prefill-bf16-s32768-d128", "b=1,hq=1,hkv=1,sq=32768,skv=32768,d=128,dtype=bf16",
     "normal:1"},
    {"gqa", "gqa-f32-h32x8-s1024-d128-causal", "b=1,hq=32,hkv=8,sq=1024,skv=1024,d=128,mask=causal",
     "normal:1"},
    {"decode", "decode-bf16-s65536-g8-d64", "b=1,hq=64,hkv=8,sq=1,skv=65536,d=64,dtype=bf16",
     "normal:1"},
    {"rivals", "batched-bf16-b64-s512-g4-d128", "b=64,hq=32,hkv=8,sq=1,skv=512,d=128,dtype=bf16",
     "normal:1"},
    {"decode", "decode-f32-s1024-g1-d128", "b=1,hq=8,hkv=8,sq=1,skv=1024,d=128", "normal:1"},
    {"short", "short-f32-b32-h12-s128-d64", "b=32,hq=12,hkv=12,sq=128,skv=128,d=64", "normal:1"},
    {"tiny", "tiny-f32-s1-d64", "b=1,hq=1,hkv=1,sq=1,skv=1,d=64", "normal:1"},
    {"conformance", "check-f32-page5-int8",
     "b=3,hq=3,hkv=1,sq=9,skv=71,d=24,kv_dtype=i8,mask=causal,page=5", "normal:1"},
    {"layer", "layer-f32-m1024-s256", "b=1,hq=16,hkv=16,sq=256,skv=256,d=64", "normal:1"},
};

TEST(builtin_cases_are_what_their_names_say)
{
    for (size_t i = 0; i < COUNT(builtin); i++) {
        struct case_list list = {0};
        assert_true(cases_load(&list, builtin[i].suite, MESSAGE(message)));
        const size_t at = cases_find(&list, builtin[i].name);
        if (at == list.count)
            fail_msg("%s has no case %s", builtin[i].suite, builtin[i].name);
        assert_problem(&list.items[at], builtin[i].problem);
        assert_input(&list.items[at], builtin[i].input);
        cases_free(&list);
    }
}

/* Families of built-in cases: how name and problem are written from the same letters, letter(). */
static const struct {
    const char *prefix, *name, *problem;
} families[] = {
    {"prefill-", "prefill-$T-s$S-d$D$c", "h=$P,s=$S,d=$D,dtype=$T$C"},
    {"gqa-", "gqa-$T-h$Qx$K-s$S-d$D$c", "hq=$Q,hkv=$K,s=$S,d=$D,dtype=$T$C"},
    {"decode-", "decode-$T-s$S-g$G-d$D$i", "hq=$Q,hkv=8,sq=1,skv=$S,d=$D,dtype=$T$I"},
    {"batched-", "batched-$T-b$B-s$S-g$G-d$D", "b=$B,hq=$Q,hkv=8,sq=1,skv=$S,d=$D,dtype=$T"},
    {"short-", "short-$T-b$B-h$Q-s$S-d$D$c", "b=$B,h=$Q,s=$S,d=$D,dtype=$T$C"},
    {"tiny-", "tiny-$T-s$S-d$D", "h=1,s=$S,d=$D,dtype=$T"},
    {"layer-", "layer-$T-m$M-s$S", "h=$Q,s=$S,d=64,dtype=$T"},
};

/* What a letter behind a $ stands for. */
static void letter(char which, const struct attn_problem *p, char text[32])
{
    const bool causal = p->mask == ATTN_MASK_CAUSAL;
    const struct {
        char letter;
        size_t number;
    } numbers[] = {
        {'B', p->batch},
        {'D', p->qk_dim},
        {'G', p->q_heads / 8}, /* query heads per KV head */
        {'K', p->kv_heads},
        {'M', 64 * p->q_heads},
        {'P', p->kv_len < 8192 ? 8 : 1}, /* heads of a prefill */
        {'Q', p->q_heads},
        {'S', p->kv_len},
    };
    if (which == 'T')
        snprintf(text, 32, "%s", attn_dtype_name(p->dtype));
    if (which == 'c' || which == 'C')
        snprintf(text, 32, "%s", !causal ? "" : which == 'c' ? "-causal" : ",mask=causal");
    if (which == 'i' || which == 'I')
        snprintf(text, 32, "%s",
                 p->kv_dtype != ATTN_I8 ? ""
                 : which == 'i'         ? "-int8"
                                        : ",kv_dtype=i8");
    for (size_t i = 0; i < COUNT(numbers); i++)
        if (numbers[i].letter == which)
            snprintf(text, 32, "%zu", numbers[i].number);
}

static void write_from(const char *form, const struct attn_problem *p, char text[PARSE_TEXT])
{
    size_t n = 0;
    for (; *form; form++) {
        char piece[32] = {*form, 0};
        if (*form == '$')
            letter(*++form, p, piece);
        n += (size_t)snprintf(text + n, PARSE_TEXT - n, "%s", piece);
    }
}

/* `real-MODEL-LAYER` is input=file:MODEL-TEXT.safetensors:LAYER. of the data. */
static void real_name(const struct input *input, char text[PARSE_TEXT])
{
    assert_int_equal(input->kind, INPUT_FILE);
    snprintf(text, PARSE_TEXT, "real-%.*s-%.*s", (int)strcspn(input->path, "-"), input->path,
             (int)strcspn(input->prefix, "."), input->prefix);
}

/* The name of a case is its identity in results: name and problem may not disagree. */
TEST(builtin_names_follow_from_problems)
{
    struct case_list list = {0};
    assert_true(cases_load(&list, "all", MESSAGE(message)));
    for (size_t i = 0; i < list.count; i++) {
        const struct problem_case *c = &list.items[i];
        struct case_list written = {0};
        char name[PARSE_TEXT] = "no family of this name", problem[PARSE_TEXT];
        if (strncmp(c->name, "real-", 5) == 0)
            real_name(&c->input, name);
        if (strncmp(c->name, "mask-", 5) == 0 || strncmp(c->name, "serve-", 6) == 0 ||
            strncmp(c->name, "check-", 6) == 0 || strncmp(c->name, "invariant-", 10) == 0)
            continue; /* below */
        for (size_t f = 0; f < COUNT(families); f++) {
            if (strncmp(c->name, families[f].prefix, strlen(families[f].prefix)) != 0)
                continue;
            write_from(families[f].name, &c->problem, name);
            write_from(families[f].problem, &c->problem, problem);
            assert_true(cases_add_problem(&written, problem, MESSAGE(message)));
            assert_true(same_problem(&c->problem, &written.items[0].problem));
            assert_input(c, "normal:1");
        }
        assert_string_equal(c->name, name);
        cases_free(&written);
    }
    cases_free(&list);
}

/* What the end of a name of suite masks says. */
static const struct {
    const char *end, *problem, *input;
} options[] = {
    {"", "", "normal:1"},
    {"-causal", ",mask=causal", "normal:1"},
    {"-window128", ",mask=causal,window=127", "normal:1"}, /* the query's own key and 127 before */
    {"-window256", ",mask=causal,window=255", "normal:1"},
    {"-window1024", ",mask=causal,window=1023", "normal:1"},
    {"-window4096", ",mask=causal,window=4095", "normal:1"},
    {"-blocks25", ",mask=bool", "normal:1+mask:blocks:64:0.25"},
    {"-blocks50", ",mask=bool", "normal:1+mask:blocks:64:0.5"},
    {"-blocks75", ",mask=bool", "normal:1+mask:blocks:64:0.75"},
    {"-elements50", ",mask=bool", "normal:1"}, /* half of the elements: what is left out */
    {"-bias", ",mask=bias", "normal:1"},
    {"-bias-keys", ",mask=bias", "normal:1+bias:keys"},
    {"-softcap", ",softcap=30", "normal:1"},
    {"-alibi", ",alibi=1", "normal:1"},
    {"-sinks", ",sinks=1", "normal:1"},
};

TEST(names_of_masks_say_their_option)
{
    struct case_list list = {0};
    size_t found = 0;
    assert_true(cases_load(&list, "masks", MESSAGE(message)));
    for (size_t i = 0; i < list.count; i++)
        for (size_t n = 0; n < COUNT(options); n++) {
            const struct problem_case *c = &list.items[i];
            const size_t s = c->problem.kv_len, d = c->problem.qk_dim;
            char name[PARSE_TEXT], problem[PARSE_TEXT];
            snprintf(name, sizeof name, "mask-f32-s%zu-d%zu%s", s, d, options[n].end);
            if (strcmp(c->name, name) != 0)
                continue;
            snprintf(problem, sizeof problem, "b=1,hq=%d,hkv=%d,sq=%zu,skv=%zu,d=%zu%s",
                     s < 8192 ? 8 : 1, s < 8192 ? 8 : 1, s, s, d, options[n].problem);
            assert_problem(c, problem);
            assert_input(c, options[n].input);
            found++;
        }
    size_t named = 0;
    for (size_t i = 0; i < list.count; i++)
        named += strncmp(list.items[i].name, "mask-f32-", 9) == 0;
    assert_true(named >= 30);
    assert_int_equal(found, named);
    cases_free(&list);
}

/* Type, pages and int8 of a case that is named after a model or a task. */
TEST(names_of_models_say_their_types)
{
    struct case_list list = {0};
    assert_true(cases_load(&list, "masks,serving,conformance", MESSAGE(message)));
    for (size_t i = 0; i < list.count; i++) {
        const struct problem_case *c = &list.items[i];
        const char *type = strchr(c->name, '-') + 1, *page = strstr(c->name, "-page");
        const char *dtype = attn_dtype_name(c->problem.dtype);
        assert_int_equal(strncmp(type, dtype, strlen(dtype)), 0);
        assert_int_equal(c->problem.page_size, page ? strtoul(page + 5, NULL, 10) : 0);
        assert_int_equal(c->problem.kv_dtype == ATTN_I8, strstr(c->name, "-int8") != NULL);
        assert_int_equal(c->problem.kv_dtype == ATTN_I4, strstr(c->name, "-i4") != NULL);
        assert_int_equal(c->problem.kv_dtype == ATTN_F8E4M3, strstr(c->name, "-f8e4m3") != NULL);
    }
    cases_free(&list);
}

/* Each file of suites/ is in the program, byte for byte, with its first line as the summary. */
TEST(builtin_suites_are_the_files)
{
    glob_t files;
    size_t count = 0;
    assert_int_equal(glob(TEST_SUITES "/*.suite", 0, NULL, &files), 0);
    for (const struct suite *s = cases_builtin; s->name; s++, count++) {
        char path[CASES_PATH], first[256], bytes[1 << 14] = "";
        snprintf(path, sizeof path, TEST_SUITES "/%s.suite", s->name);
        snprintf(first, sizeof first, "# %s\n", s->summary);
        FILE *file = fopen(path, "rb");
        assert_non_null(file);
        assert_true(fread(bytes, 1, sizeof bytes - 1, file) < sizeof bytes - 1);
        fclose(file);
        assert_string_equal(s->text, bytes);
        assert_memory_equal(bytes, first, strlen(first));
    }
    assert_int_equal(count, files.gl_pathc);
    globfree(&files);
}

TEST(builtin_suites_come_in_f32_and_bf16)
{
    static const struct {
        const char *name;
        size_t count;
    } sizes[] = {{"prefill", 56}, {"gqa", 16},  {"decode", 48},
                 {"short", 16},   {"tiny", 28}, {"rivals", 32}};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        struct case_list list = {0};
        assert_true(cases_load(&list, sizes[i].name, MESSAGE(message)));
        assert_int_equal(list.count, sizes[i].count);
        for (size_t j = 0; j < list.count; j++)
            assert_int_equal(list.items[j].problem.dtype,
                             j < list.count / 2 ? ATTN_F32 : ATTN_BF16);
        cases_free(&list);
    }
}

/* What the cases of a suite have between them. */
struct kinds {
    unsigned masks, options, outputs, dtypes, kv_dtypes, layouts, lengths;
    uint64_t groups;
    bool batch, decode, unequal_dims, odd_dims, dim_1, dim_256;
};

static void note(struct kinds *kinds, const struct attn_problem *p)
{
    kinds->masks |= p->mask ? p->mask : 1u << 31;
    kinds->options |= p->options;
    kinds->outputs |= p->outputs;
    kinds->dtypes |= 1u << p->dtype;
    kinds->kv_dtypes |= 1u << p->kv_dtype;
    kinds->layouts |= 1u << p->layout;
    kinds->groups |= UINT64_C(1) << p->q_heads / p->kv_heads;
    kinds->lengths |= p->q_len < p->kv_len ? 1 : p->q_len == p->kv_len ? 2 : 4;
    kinds->batch |= p->batch > 1;
    kinds->decode |= p->q_len == 1 && p->kv_len > 256;
    kinds->unequal_dims |= p->qk_dim != p->v_dim;
    kinds->odd_dims |= p->qk_dim % 4 == 3;
    kinds->dim_1 |= p->qk_dim == 1;
    kinds->dim_256 |= p->qk_dim == 256;
}

/* What a kernel can be asked is in the suite that its author relies on; types but for f32 with some of it. */
TEST(conformance_has_every_kind_of_problem)
{
    struct case_list list = {0};
    struct kinds all = {0}, of[ATTN_DTYPE_COUNT] = {{0}};
    assert_true(cases_load(&list, "conformance", MESSAGE(message)));
    for (size_t i = 0; i < list.count; i++) {
        note(&all, &list.items[i].problem);
        note(&of[list.items[i].problem.dtype], &list.items[i].problem);
    }
    assert_int_equal(all.masks, 1u << 31 | ATTN_MASK_CAUSAL | ATTN_MASK_CAUSAL_TOP_LEFT |
                                    ATTN_MASK_BIAS | ATTN_MASK_BOOL | ATTN_MASK_TREE);
    assert_int_equal(all.options, (ATTN_OPTION_INDEX << 1) - 1);
    assert_int_equal(all.outputs,
                     ATTN_OUTPUT_O | ATTN_OUTPUT_LSE | ATTN_OUTPUT_WEIGHTS | ATTN_OUTPUT_SCORES);
    assert_int_equal(all.dtypes,
                     1u << ATTN_F32 | 1u << ATTN_BF16 | 1u << ATTN_F16 | 1u << ATTN_F64);
    assert_int_equal(all.kv_dtypes, all.dtypes | 1u << ATTN_I8 | 1u << ATTN_F8E5M2 | 1u << ATTN_I4);
    assert_true(all.dim_1 && all.dim_256);
    for (int dtype = ATTN_F32; dtype <= ATTN_F64; dtype++) {
        const struct kinds *kinds = &of[dtype];
        assert_int_equal(kinds->layouts, 1u << ATTN_BHSD | 1u << ATTN_BSHD);
        assert_int_equal(kinds->groups & (1u << 1 | 1u << 3 | 1u << 8),
                         1u << 1 | 1u << 3 | 1u << 8);
        assert_int_equal(kinds->lengths, 7);
        assert_true(kinds->batch && kinds->decode && kinds->unequal_dims && kinds->odd_dims);
    }
    cases_free(&list);
}

TEST(builtin_files_are_found)
{
    struct case_list list = {0};
    size_t files = 0;
    unsetenv("ATTNBENCH_DATA");
    assert_true(cases_load(&list, "all", MESSAGE(message)));
    for (size_t i = 0; i < list.count; i++) {
        char path[CASES_PATH];
        if (list.items[i].input.kind != INPUT_FILE)
            continue;
        files++;
        assert_true(cases_find_file(list.items[i].input.path, path, MESSAGE(message)));
        assert_int_equal(access(path, R_OK), 0);
    }
    assert_int_equal(files, 2);
    cases_free(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_every_builtin_suite_each_case_once),
        cmocka_unit_test(builtin_cases_are_what_their_names_say),
        cmocka_unit_test(builtin_names_follow_from_problems),
        cmocka_unit_test(names_of_masks_say_their_option),
        cmocka_unit_test(names_of_models_say_their_types),
        cmocka_unit_test(builtin_suites_are_the_files),
        cmocka_unit_test(builtin_suites_come_in_f32_and_bf16),
        cmocka_unit_test(conformance_has_every_kind_of_problem),
        cmocka_unit_test(builtin_files_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
