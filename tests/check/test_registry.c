/*
 * Every variant of the registry passes the check: on the own input of many drawn problems, of lengths around
 * the edges of tiles, dimensions of models and all that the variant claims; and in full on problems of every
 * kind, as what a check takes for an error may be one on some problems alone.
 */
#include "testing.h"

#include <stdio.h>
#include <string.h>

#include "passes.h"
#include "kernels/drawn_search.h"
#include "kernels/tested.h"
#include "problem/draw.h"
#include "problem/filled_tensors.h"

#define DRAWS 100
#define WORK 2e6         /* multiply-adds: a millisecond or two of reference */
#define EACH_IN_FULL 200 /* draws */

#define CACHE "b=2,hq=4,hkv=2,sq=9,skv=70,d=12,dv=9"

/* ---- drawn problems ------------------------------------------------------------------------------ */

/* Leaves of a problem what the variant claims. */
static void claim(struct attn_problem *p)
{
    p->mask &= tested->caps.masks;
    p->options &= tested->caps.options;
    p->outputs &= tested->caps.outputs;
    if (!(p->options & ATTN_OPTION_WINDOW))
        p->window_left = p->window_right = -1;
    if (!(p->options & ATTN_OPTION_SOFTCAP))
        p->softcap = 0;
    if (!(p->options & ATTN_OPTION_PAGED))
        p->page_size = 0;
    if (p->kv_dtype != p->dtype && !(tested->caps.kv_dtypes & 1u << p->kv_dtype))
        p->kv_dtype = p->dtype;
    tested_type(p);
}

/* Of every four problems one in a type of 16 bits at least, where the variant has one; of every three one
 * without LSE, and one with weights. */
static void draw(struct problem_case *c, uint64_t seed, size_t n)
{
    struct attn_problem *p = &c->problem;
    draw_case(c, seed, n, WORK);
    if (n % 4 == 2)
        p->dtype = p->kv_dtype = n % 8 == 2 ? ATTN_BF16 : ATTN_F16;
    p->outputs = n % 3 ? ATTN_OUTPUT_O | ATTN_OUTPUT_LSE : ATTN_OUTPUT_O;
    if (n % 3 == 2)
        p->outputs |= ATTN_OUTPUT_WEIGHTS;
    claim(p);
    parse_fit_input(&c->input, p);
}

/* In full now and then. */
static bool passes_draw(const struct drawn_property *property, const struct problem_case *c)
{
    struct check_result result;
    unsigned number = 1;
    if (!drawn_passes(property, c))
        return false;
    const bool numbered = sscanf(c->name, "draw-%u", &number) == 1;
    const int threads = property->kernel->caps.parallel ? drawn_threads(c) : 1;
    if (numbered && number % EACH_IN_FULL == 0 &&
        !check_kernel(property->kernel, c, threads, CHECK_FULL, &result))
        fail_msg("%s", result.why);
    return true;
}

TEST(drawn_problems_pass)
{
    const struct drawn_property property = {.kernel = tested, .holds = passes_draw};
    tested_ran +=
        drawn_hold(&property, &(struct drawn_series){.draw = draw, .seed = 1, .count = DRAWS});
    tested_skip_unless_ran();
}

/* Multi-head latent attention: one KV head, whose keys are wide and hold the values; and rows of 4 bits of more
 * groups than are loaded together. */
TEST(wide_heads_pass)
{
    static const char *const problems[] = {
        "hq=16,hkv=1,sq=1,skv=70,d=576,dv=512,shared_kv=1,outputs=o+lse",
        "b=2,hq=5,hkv=1,sq=3,skv=130,d=576,dv=512,shared_kv=1,ragged=1,mask=causal",
        "b=2,hq=32,hkv=1,sq=1,skv=300,d=576,dv=512,shared_kv=1,ragged=1,page=16,dtype=bf16",
        "b=2,hq=16,hkv=1,sq=1,skv=300,d=576,dv=512,shared_kv=1,ragged=1,dtype=f16",
        "hq=8,hkv=2,sq=1,skv=70,d=256,dv=288,dtype=bf16,kv_dtype=i4",
    };
    struct problem_case cases[sizeof problems / sizeof *problems];
    const struct drawn_property property = {.kernel = tested, .holds = drawn_passes};
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
        cases[n] = case_of(problems[n], "normal:1");
        cases[n].input.seed = n;
        tested_type(&cases[n].problem);
        cases[n].problem.outputs &= tested->caps.outputs;
    }
    tested_ran +=
        drawn_hold(&property, &(struct drawn_series){.cases = cases,
                                                     .count = sizeof problems / sizeof *problems});
    tested_skip_unless_ran();
}

/* ---- in full -------------------------------------------------------------------------------------
 *
 * The first variant of a kernel, as released, on every kind of problem; others compute the same on other vectors,
 * and are asked on fewer kinds.
 */

enum kind {
    MOST_OPTIONS, /* of every variant; in Clang's build of flash, split_kv and first variants */
    USUAL, /* of flash, split_kv and, unless sanitized, first variants; at night of every one */
    RARE   /* of first variants, unless sanitized */
};

static bool is_first(const struct attn_kernel *kernel)
{
    size_t count, n = 0;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    while (strcmp(kernels[n]->name, kernel->name) != 0)
        n++;
    return kernels[n] == kernel;
}

static bool is_asked(enum kind kind)
{
    const bool night = getenv("ATTNBENCH_DRAWS") != NULL, first = is_first(tested),
               fast = tested_is_fast();
    switch (kind) {
    case MOST_OPTIONS:
        return night || fast || first || !CLANG;
    case USUAL:
        return night || fast || (first && !SANITIZED);
    default:
        return first && !SANITIZED;
    }
}

TEST(problems_pass_in_full)
{
    static const struct {
        const char *problem;
        enum kind kind;
    } problems[] = {
        {"hq=4,hkv=2,sq=33,skv=70,d=24,dv=9,mask=causal", USUAL},
        {"hq=3,hkv=1,sq=1,skv=300,d=16", USUAL},
        {"h=2,s=70,d=32,mask=causal,layout=bshd,window=20,dtype=bf16", RARE},
        {"b=2,hq=4,hkv=2,sq=1,skv=70,d=20,dtype=f16", RARE},
        {CACHE ",mask=bool+causal,softcap=2,sinks=1", RARE},
        {CACHE ",ragged=1,page=16,kv_dtype=i8", MOST_OPTIONS},
        {CACHE ",packed=1,mask=bias,alibi=1", RARE},
    };
    /* What values do to scalar code, one variant shows for all; what memory each touches, drawn problems. */
    if (SANITIZED && tested->isa != ATTN_ISA_BASELINE)
        skip();
    for (size_t n = 0; n < sizeof problems / sizeof *problems; n++) {
        struct problem_case c = case_of(problems[n].problem, "normal:1");
        tested_type(&c.problem);
        if (!is_asked(problems[n].kind) || !tested_computes(tested, &c.problem, THREADS))
            continue;
        assert_passes(tested, &c);
        tested_ran++;
    }
    tested_skip_unless_ran();
}

TEST(small_caches_pass_in_full)
{
    static const char *const cases[][2] = {
        /* The scale multiplies results: weights that a matrix unit multiplies must be large enough without it. */
        {"hq=1,sq=8,skv=3,d=1,dtype=bf16,kv_dtype=i8", "normal:1+scales:tensor"},
        /* Each sequence makes scales of channels smaller, in the end so that parts of a query are subnormal. */
        {"b=2,hq=9,hkv=1,sq=2,skv=5,d=17,dv=3,dtype=bf16,kv_dtype=f8e5m2,packed=1", "normal:1"},
    };
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++) {
        struct problem_case c = case_of(cases[n][0], cases[n][1]);
        tested_type(&c.problem);
        if (!tested_is_fast() || !tested_computes(tested, &c.problem, THREADS))
            continue;
        assert_passes(tested, &c);
        tested_ran++;
    }
    tested_skip_unless_ran();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        /* first: in a child, which GCC's OpenMP does not survive once its parent has used it */
        cmocka_unit_test_setup(drawn_problems_pass, tested_start),
        cmocka_unit_test_setup(wide_heads_pass, tested_start),
        cmocka_unit_test_setup(small_caches_pass_in_full, tested_start),
        cmocka_unit_test_setup(problems_pass_in_full, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
