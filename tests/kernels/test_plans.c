/*
 * Every variant as a plan: any strides, any set of outputs, any number of threads, used again; and
 * a workspace whose size does not overflow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "judged_problem.h"
#include "tested_kernel.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void unusual_strides(void **state)
{
    (void)state;
    for (size_t c = 0; c < 5; c++) {
        /* rows that overlap would read the poison of padding */
        const struct tensors_layout layout = {.guard = TENSORS_GUARD_BACK};
        struct attn_problem problem;
        struct parse_error error;
        assert_true(parse_problem("b=2,hq=4,hkv=2,sq=37,skv=81,d=24,mask=causal,"
                                  "outputs=o+lse+weights",
                                  &problem, &error));
        tested_type(&problem);
        struct judged_problem *t = judged_open(&problem, &layout);
        struct attn_tensor *k = &t->tensors.k, *v = &t->tensors.v, *q = &t->tensors.q;
        switch (c) {
        case 0: /* one K and V for all heads, one for all sequences */
            k->stride[1] = v->stride[1] = 0;
            k->stride[0] = v->stride[0] = 0;
            break;
        case 1: /* keys backwards in memory */
            k->data = attn_row(k, 0, 0, 80);
            v->data = attn_row(v, 0, 0, 80);
            k->stride[2] = -k->stride[2];
            v->stride[2] = -v->stride[2];
            break;
        case 2: /* one key for all, one value for all */
            k->stride[2] = v->stride[2] = 0;
            break;
        case 3: /* one query for all; heads backwards */
            q->data = attn_row(q, 0, 3, 0);
            q->stride[1] = -q->stride[1];
            q->stride[2] = 0;
            break;
        default: /* rows that overlap */
            k->stride[2] = v->stride[2] = 1;
            q->stride[2] = 2;
        }
        judged_changed(t);
        tested_compare(t, 2);
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* Every set of outputs gives what all of them together give; the others may be NULL. */
static void outputs_in_any_set(void **state)
{
    (void)state;
    static const char *const shapes[] = {"sq=37,skv=300,d=24,mask=causal,outputs=",
                                         "hq=4,hkv=1,sq=1,skv=700,d=64,outputs="};
    static const char *const sets[] = {"o",         "lse",         "o+lse",        "weights",
                                       "o+weights", "lse+weights", "o+lse+weights"};
    for (size_t p = 0; p < COUNT(shapes); p++)
        for (size_t s = 0; s < COUNT(sets); s++) {
            char text[PARSE_TEXT];
            snprintf(text, sizeof text, "%s%s", shapes[p], sets[s]);
            struct judged_problem *t = tested_open(text);
            tested_compare(t, 2);
            judged_close(t);
        }
    tested_skip_unless_ran();
}

struct bits {
    unsigned char *o;
    size_t bytes;
};

/* O and LSE of the last execution, bit by bit. */
static struct bits copy_bits(const struct judged_problem *t)
{
    const struct attn_problem *p = &t->c.problem;
    const size_t row = p->v_dim * attn_dtype_size(p->dtype);
    struct bits bits = {.bytes = p->batch * p->q_heads * p->q_len * (row + 4)};
    unsigned char *at = bits.o = calloc(bits.bytes, 1);
    assert_non_null(at);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++) {
                memcpy(at, attn_row(&t->tensors.o, b, h, i), row);
                at += row;
                if (t->outputs & ATTN_OUTPUT_LSE)
                    memcpy(at, attn_row(&t->tensors.lse, b, h, i), 4);
                at += 4;
            }
    return bits;
}

static const char *const shapes[] = {
    "b=2,hq=3,hkv=3,sq=130,skv=257,d=40,mask=causal,outputs=o+lse",
    "hq=8,hkv=2,sq=1,skv=900,d=64,outputs=o+lse",
    "hq=2,sq=200,skv=200,d=64,outputs=o+lse",
    "b=3,hq=4,hkv=1,sq=7,skv=70,d=80,window=30:3,outputs=o+lse",
};

/* Repeats and thread counts agree to the last bit, unless the kernel says that they may not. */
static void threads_and_repeats_agree(void **state)
{
    (void)state;
    if (tested->caps.varies)
        skip();
    for (size_t p = 0; p < COUNT(shapes); p++) {
        struct judged_problem *t = tested_open(shapes[p]);
        if (judged_run(t, tested, 1)) {
            tested_ran++;
            struct bits first = copy_bits(t);
            for (int run = 0; run < 6; run++) {
                assert_true(judged_run(t, tested, 1 + run % 4));
                struct bits again = copy_bits(t);
                assert_memory_equal(first.o, again.o, first.bytes);
                free(again.o);
            }
            free(first.o);
        }
        judged_close(t);
    }
    tested_skip_unless_ran();
}

/* A plan knows nothing of the tensors: other ones in between, with other strides, change nothing. */
static void plans_are_reusable(void **state)
{
    (void)state;
    for (size_t p = 0; p < COUNT(shapes); p++) {
        struct judged_problem *t = tested_open(shapes[p]);
        struct attn_problem problem = t->c.problem, other_problem = t->c.problem;
        other_problem.layout = ATTN_BSHD;
        const struct tensors_layout layout = {.guard = TENSORS_GUARD_FRONT};
        struct judged_problem *other = judged_open(&other_problem, &layout);
        judged_magnify(other, &other->set.tensors.q, 3);
        judged_changed(other);
        struct attn_plan plan;
        const char *why;
        problem.outputs &= tested->caps.outputs;
        struct lent_workspace lent = judged_lend(attn_workspace_size(tested, &problem, 2));
        if (attn_plan_init(&plan, tested, &problem, 2, judged_workspace(&lent), lent.bytes, &why)) {
            struct judged_problem *const turns[] = {t, other, t, t, other};
            for (size_t i = 0; i < COUNT(turns); i++) {
                judged_execute(turns[i], &plan);
                judged_compare(turns[i], tested);
            }
            attn_plan_destroy(&plan);
            tested_ran++;
        }
        judged_take_back(&lent);
        judged_close(t);
        judged_close(other);
    }
    tested_skip_unless_ran();
}

/* The scratch of a problem too large for any memory is not less than that of a small one. */
static void workspace_does_not_overflow(void **state)
{
    (void)state;
    struct attn_problem p;
    attn_problem_init(&p);
    size_t *const fields[] = {&p.batch, &p.q_len, &p.kv_len, &p.qk_dim, &p.v_dim};
    for (int threads = 1; threads <= 1 << 12; threads *= 16) {
        const size_t small = attn_workspace_size(tested, &p, threads);
        for (size_t f = 0; f < COUNT(fields); f++)
            for (int bits = 31; bits < 60; bits++) {
                const char *why;
                *fields[f] = (size_t)1 << bits;
                if (attn_supports(tested, &p, &why))
                    assert_true(attn_workspace_size(tested, &p, threads) >= small);
                *fields[f] = 1;
            }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(unusual_strides, tested_start),
        cmocka_unit_test_setup(outputs_in_any_set, tested_start),
        cmocka_unit_test_setup(threads_and_repeats_agree, tested_start),
        cmocka_unit_test_setup(plans_are_reusable, tested_start),
        cmocka_unit_test_setup(workspace_does_not_overflow, tested_start),
    };
    const int status = tested_choose(argc, argv);
    return status ? status : cmocka_run_group_tests(tests, NULL, NULL);
}
