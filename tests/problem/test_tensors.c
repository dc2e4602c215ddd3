/*
 * Operands and results in memory: what lies where, what must not be touched, what is noticed.
 */
#include "testing.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "filled_tensors.h"

static const enum tensors_guard guards[] = {TENSORS_TIMING, TENSORS_GUARD_FRONT,
                                            TENSORS_GUARD_BACK};

/* ---- layout -------------------------------------------------------------------------------- */

/* Writes every element with a number of its own, then reads all back: no two share memory. */
TEST(elements_do_not_overlap)
{
    static const char *const problems[] = {
        "b=2,hq=4,hkv=2,sq=3,skv=5,d=7,dv=2,outputs=o+lse+weights+scores",
        "b=2,hq=4,hkv=2,sq=3,skv=5,d=7,dv=2,outputs=o+lse+weights,layout=bshd",
        "b=3,h=2,sq=1,skv=2,d=1,dtype=bf16,layout=bshd,outputs=o+lse",
        "b=1,h=2,sq=2,skv=2,d=3,dtype=f16,outputs=lse",
    };
    for (size_t n = 0; n < COUNT(problems) * COUNT(guards) * 2; n++) {
        const struct problem_case c = case_of(problems[n / 2 / COUNT(guards)], "normal");
        const struct attn_problem *p = &c.problem;
        struct tensor_set set =
            allocated(p, (struct tensors_layout){guards[n / 2 % COUNT(guards)], 0, n % 2 ? 3 : 0});
        const struct {
            struct attn_tensor *t;
            size_t heads, rows, cols;
        } all[] = {
            {&set.tensors.q, p->q_heads, p->q_len, p->qk_dim},
            {&set.tensors.k, p->kv_heads, p->kv_len, p->qk_dim},
            {&set.tensors.v, p->kv_heads, p->kv_len, p->v_dim},
            {&set.tensors.o, p->q_heads, p->q_len, p->v_dim},
            {&set.tensors.lse, p->q_heads, p->q_len, 1},
            {&set.tensors.weights, p->q_heads, p->q_len, p->kv_len},
            {&set.tensors.scores, p->q_heads, p->q_len, p->kv_len},
        };
        for (int pass = 0; pass < 2; pass++) {
            int number = 0;
            for (size_t k = 0; k < COUNT(all); k++)
                for (size_t at = 0; all[k].t->data && at < p->batch * all[k].heads * all[k].rows;
                     at++)
                    for (size_t d = 0; d < all[k].cols; d++, number++) {
                        const size_t b = at / all[k].rows / all[k].heads;
                        const size_t h = at / all[k].rows % all[k].heads, i = at % all[k].rows;
                        if (pass == 0)
                            tensors_set(all[k].t, b, h, i, d, number % 256);
                        else
                            assert_true(tensors_get(all[k].t, b, h, i, d) == number % 256);
                    }
        }
        tensors_free(&set);
    }
}

TEST(layouts_have_their_strides)
{
    const struct problem_case c = case_of("b=2,h=3,sq=5,skv=7,d=11,dv=13,outputs=o+lse", "normal");
    struct tensor_set set = allocated(&c.problem, (struct tensors_layout){.row_padding = 4});
    /* a row of padding behind those of each head, and twice as much behind each of V */
    const ptrdiff_t bhsd[] = {3 * 6 * 15, 6 * 15, 15, 1}, lse[] = {3 * 9, 9, 1};
    assert_memory_equal(set.tensors.q.stride, bhsd, sizeof bhsd);
    assert_memory_equal(set.tensors.lse.stride, lse, sizeof lse);
    tensors_free(&set);
    const struct problem_case s =
        case_of("b=2,h=3,sq=5,skv=7,d=11,dv=13,outputs=o+lse,layout=bshd", "normal");
    set = allocated(&s.problem, (struct tensors_layout){.row_padding = 2});
    const ptrdiff_t bshd[] = {8 * 3 * 17, 17, 3 * 17, 1};
    assert_memory_equal(set.tensors.v.stride, bshd, sizeof bshd);
    tensors_free(&set);
}

TEST(shifts_move_operands_apart)
{
    const struct problem_case c = case_of("h=2,s=64,d=64", "normal");
    for (size_t shift = 0; shift < 4096; shift += 64) {
        struct tensor_set set = allocated(&c.problem, (struct tensors_layout){.shift = shift});
        assert_int_equal((uintptr_t)set.tensors.q.data % 4096, shift);
        assert_int_equal((uintptr_t)set.tensors.o.data % 4096, shift);
        assert_int_equal((uintptr_t)set.tensors.v.data % 64, 0);
        if (shift % 1024)
            assert_int_not_equal((uintptr_t)set.tensors.k.data % 4096,
                                 (uintptr_t)set.tensors.v.data % 4096);
        tensors_free(&set);
    }
}

/* ---- guards and poison --------------------------------------------------------------------- */

/* Whether a child that reads (or writes) the byte dies of it. */
static bool touching_kills(char *byte, bool write)
{
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* also under a sanitizer */
        if (write)
            *(volatile char *)byte = 0;
        else
            (void)*(volatile char *)byte;
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

TEST(guard_pages_are_flush)
{
    const struct problem_case c = case_of("h=2,s=3,d=5,dv=7,outputs=o+lse+weights", "normal");
    for (size_t padding = 0; padding < 4; padding += 3)
        for (int back = 0; back < 2; back++) {
            struct tensor_set set = allocated(
                &c.problem, (struct tensors_layout){back ? TENSORS_GUARD_BACK : TENSORS_GUARD_FRONT,
                                                    0, padding});
            struct attn_tensors *t = &set.tensors;
            const struct {
                struct attn_tensor *t;
                size_t heads, rows, cols;
            } all[] = {{&t->q, 2, 3, 5}, {&t->k, 2, 3, 5},   {&t->v, 2, 3, 7},
                       {&t->o, 2, 3, 7}, {&t->lse, 2, 3, 1}, {&t->weights, 2, 3, 3}};
            for (size_t n = 0; n < COUNT(all); n++) {
                char *end = (char *)attn_row(all[n].t, 0, 1, 2) + 4 * all[n].cols;
                char *outside = back ? end : (char *)all[n].t->data - 1;
                assert_true(touching_kills(outside, false));
                assert_true(touching_kills(outside, true));
                assert_false(touching_kills(back ? end - 1 : all[n].t->data, true));
            }
            tensors_free(&set);
        }
}

TEST(results_must_be_written)
{
    static const char *const dtypes[] = {"f32", "bf16", "f16"};
    for (size_t n = 0; n < COUNT(dtypes); n++) {
        char text[128];
        snprintf(text, sizeof text, "b=2,h=2,s=3,d=5,dtype=%s,outputs=o+lse", dtypes[n]);
        const struct problem_case c = case_of(text, "normal");
        struct tensor_set set = allocated(&c.problem, (struct tensors_layout){.row_padding = 2});
        struct tensors_spot spot;
        assert_false(tensors_written(&set, &c.problem, &spot));
        assert_string_equal(spot.tensor, "o");
        assert_true(isnan(tensors_get(&set.tensors.o, 1, 1, 2, 4)));
        for (size_t at = 0; at < 12; at++)
            for (size_t d = 0; d < 5; d++)
                tensors_set(&set.tensors.o, at / 6, at / 3 % 2, at % 3, d, NAN);
        for (size_t at = 0; at < 12; at++)
            if (at != 10)
                tensors_set(&set.tensors.lse, at / 6, at / 3 % 2, at % 3, 0, -INFINITY);
        assert_false(tensors_written(&set, &c.problem, &spot));
        assert_string_equal(spot.tensor, "lse");
        assert_true(spot.b == 1 && spot.h == 1 && spot.i == 1);
        tensors_set(&set.tensors.lse, 1, 1, 1, 0, 0);
        assert_true(tensors_written(&set, &c.problem, &spot));

        assert_true(tensors_padding_intact(&set, &c.problem, &spot));
        tensors_set(&set.tensors.o, 1, 0, 2, 6, 0);
        assert_false(tensors_padding_intact(&set, &c.problem, &spot));
        assert_true(spot.b == 1 && spot.h == 0 && spot.i == 2);
        tensors_poison(&set, &c.problem);
        assert_true(tensors_padding_intact(&set, &c.problem, &spot));
        assert_false(tensors_written(&set, &c.problem, &spot));
        tensors_free(&set);
    }
}

TEST(changes_of_operands_are_noticed)
{
    const struct problem_case c = case_of("b=2,h=2,s=33,d=5,dtype=f16", "normal");
    struct tensor_set set = filled(&c, (struct tensors_layout){.row_padding = 1}, 0);
    assert_null(tensors_changed(&set, &c.problem));
    struct attn_tensor *const operands[] = {&set.tensors.q, &set.tensors.k, &set.tensors.v};
    static const char *const names[] = {"q", "k", "v"};
    for (size_t n = 0; n < 3; n++) {
        /* the first element, the last one, and padding */
        const struct tensors_spot spots[] = {{"", 0, 0, 0, 0}, {"", 1, 1, 32, 4}, {"", 1, 0, 7, 5}};
        for (size_t k = 0; k < COUNT(spots); k++) {
            uint16_t *row = attn_row(operands[n], spots[k].b, spots[k].h, spots[k].i);
            row[spots[k].d] ^= 1;
            assert_string_equal(tensors_changed(&set, &c.problem), names[n]);
            row[spots[k].d] ^= 1;
            assert_null(tensors_changed(&set, &c.problem));
        }
    }
    tensors_free(&set);
}

/* Exchanging words must change the checksum as well. */
TEST(the_checksum_knows_places)
{
    const struct problem_case c = case_of("s=16,d=16", "normal");
    struct tensor_set set = filled(&c, (struct tensors_layout){0}, 0);
    float *q = set.tensors.q.data;
    for (size_t other = 1; other < 256; other++) {
        const float first = q[0];
        q[0] = q[other];
        q[other] = first;
        assert_non_null(tensors_changed(&set, &c.problem));
        q[other] = q[0];
        q[0] = first;
    }
    tensors_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_do_not_overlap),
        cmocka_unit_test(layouts_have_their_strides),
        cmocka_unit_test(shifts_move_operands_apart),
        cmocka_unit_test(guard_pages_are_flush),
        cmocka_unit_test(results_must_be_written),
        cmocka_unit_test(changes_of_operands_are_noticed),
        cmocka_unit_test(the_checksum_knows_places),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
