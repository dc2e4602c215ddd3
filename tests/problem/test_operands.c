/*
 * Operands beyond Q, K and V: int8, shared storage, and all of them together in one set.
 */
#include "testing.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "filled_tensors.h"
#include "problem/kv.h"
#include "system/memory_file.h"

static const struct tensors_layout usual;

/* ---- int8 ---------------------------------------------------------------------------------- */

/* A needle's logits with keys of int8: each row, or channel, has the scale that it needs. */
TEST(prescribed_scores_survive_int8)
{
    static const char *const inputs[] = {"needle:5", "needle:5+scales:channel"};
    for (size_t n = 0; n < COUNT(inputs); n++) {
        struct problem_case c;
        struct tensor_set set =
            made("b=2,hq=4,hkv=2,sq=3,skv=9,d=64,kv_dtype=i8,page=4", inputs[n], &c);
        const struct attn_problem *p = &c.problem;
        for (size_t j = 0; j < 9; j++) {
            double x = 0;
            const struct kv_place at = {1, 1, j};
            for (size_t d = 0; d < 64; d++)
                x += tensors_get(&set.tensors.q, 1, 3, 2, d) * kv_get(p, &set.tensors, KV_K, at, d);
            x *= (double)attn_problem_scale(p);
            assert_true(fabs(x - (j == 5 ? 40 : 0)) < 1.5);
            assert_true(fabs(kv_get(p, &set.tensors, KV_V, at, j) - (j == 5 ? 1 : -1)) < 1e-6);
        }
        tensors_free(&set);
    }
}

TEST(int8_keys_are_about_normal)
{
    static const char *const inputs[] = {"normal", "normal+scales:channel"};
    static const char *const problems[] = {"b=2,h=2,sq=1,skv=50,d=64,kv_dtype=i8",
                                           "b=2,h=2,sq=1,skv=50,d=64,kv_dtype=i8,packed=1"};
    for (size_t n = 0; n < 4; n++) {
        struct problem_case c;
        struct tensor_set set = made(problems[n / 2], inputs[n % 2], &c);
        const struct attn_problem *p = &c.problem;
        const struct attn_tensors *t = &set.tensors;
        const bool channel = n % 2, packed = n / 2;
        double square = 0, elements = 0;
        assert_int_equal(t->k.dtype, ATTN_I8);
        assert_int_equal(t->k_scale.stride[channel ? 2 : 3], 0);
        assert_int_equal(t->k_scale.stride[channel ? 3 : 2], 1);
        assert_int_equal(t->v_scale.stride[2], 1);
        assert_int_equal(t->v_scale.stride[0] == 0, packed);
        for (size_t b = 0; b < 2; b++)
            for (size_t j = 0; j < attn_sequence(p, t, b).kv_len; j++) {
                const struct kv_place at = {b, 1, j};
                double largest = 0;
                for (size_t d = 0; d < 64; d++, elements++) {
                    const double k = kv_get(p, t, KV_K, at, d);
                    square += k * k;
                    largest = fmax(largest, fabs(k / (double)*kv_scale(p, t, KV_K, at, d)));
                }
                assert_true(largest < 127.5 && (channel || largest > 126.5));
            }
        assert_true(fabs(square / elements - 1) < 0.15);
        tensors_free(&set);
    }
}

/* ---- shared storage ------------------------------------------------------------------------ */

TEST(shared_values_are_the_keys)
{
    static const char *const inputs[] = {"normal", "uniform", "needle:3", "negative"};
    for (size_t n = 0; n < COUNT(inputs); n++) {
        struct problem_case c;
        struct tensor_set set =
            made("hq=4,hkv=1,sq=1,skv=9,d=12,dv=8,shared_kv=1,dtype=bf16", inputs[n], &c);
        struct fault_region spans[TENSORS_SPANS];
        assert_ptr_equal(set.tensors.v.data, set.tensors.k.data);
        assert_memory_equal(set.tensors.v.stride, set.tensors.k.stride,
                            sizeof set.tensors.v.stride);
        assert_int_equal(tensors_spans(&set, &c.problem, spans), 3); /* q, k, o */
        assert_int_equal(spans[1].bytes, 9 * 12 * 2);
        struct tensor_set other = filled(&c, usual, 2);
        assert_memory_not_equal(set.tensors.v.data, other.tensors.v.data, spans[1].bytes);
        tensors_free(&other);
        tensors_free(&set);
    }
}

/* ---- all of them --------------------------------------------------------------------------- */

static const char everything[] =
    "b=3,hq=4,hkv=2,sq=5,skv=9,d=6,dv=4,kv_dtype=i8,mask=causal+bias+bool,sinks=1,alibi=1,ragged=1,"
    "packed=1,page=4,outputs=o+lse";

TEST(changes_of_any_operand_are_noticed)
{
    static const char *const names[] = {"q",          "k",           "v",       "bias",
                                        "mask",       "sinks",       "slopes",  "kv_lens",
                                        "cu_seqlens", "block_table", "k_scale", "v_scale"};
    const struct problem_case c = case_of(everything, "normal");
    struct tensor_set set = filled(&c, (struct tensors_layout){TENSORS_GUARD_BACK, 0, 3}, 0);
    struct fault_region spans[TENSORS_SPANS];
    assert_int_equal(tensors_spans(&set, &c.problem, spans), COUNT(names) + 2);
    for (size_t n = 0; n < COUNT(names); n++) {
        assert_string_equal(spans[n].name, names[n]);
        char *last = (char *)(uintptr_t)spans[n].data + spans[n].bytes - 1;
        *last ^= 1;
        assert_string_equal(tensors_changed(&set, &c.problem), names[n]);
        *last ^= 1;
        assert_null(tensors_changed(&set, &c.problem));
        /* flush against the guard page */
        assert_int_equal((uintptr_t)(last + 1) % (size_t)sysconf(_SC_PAGESIZE), 0);
    }
    tensors_free(&set);
}

TEST(every_operand_comes_through_a_memory_file)
{
    const struct problem_case c = case_of(everything, "normal:4+lens:1:9");
    char message[256];
    const int fd = memory_file_create("test");
    struct tensors_file file;
    struct tensor_set set;
    if (!tensors_fill_file(&c, 2, fd, MESSAGE(message)) ||
        !tensors_file_hold(&file, fd, MESSAGE(message)))
        fail_msg("%s", message);
    tensors_file_move(&file, 192);
    if (!tensors_map(&set, &c.problem, fd, 1, 192, false, MESSAGE(message)))
        fail_msg("%s", message);
    struct tensor_set fresh = filled(&c, usual, 1);
    struct fault_region mapped[TENSORS_SPANS], alone[TENSORS_SPANS];
    const size_t count = tensors_spans(&set, &c.problem, mapped);
    assert_int_equal(tensors_spans(&fresh, &c.problem, alone), count);
    for (size_t n = 0; n + 2 < count; n++) {
        assert_int_equal(mapped[n].bytes, alone[n].bytes);
        assert_memory_equal(mapped[n].data, alone[n].data, alone[n].bytes);
    }
    assert_null(tensors_changed(&set, &c.problem));
    assert_int_equal(set.tensors.pages, fresh.tensors.pages);
    assert_int_equal(set.tensors.q_rows, fresh.tensors.q_rows);
    tensors_free(&fresh);
    tensors_free(&set);
    tensors_file_release(&file);
    close(fd);
}

/* Packed results have no rows for queries that there are not. */
TEST(packed_results_are_the_rows_that_there_are)
{
    const struct problem_case c =
        case_of("b=3,h=2,sq=5,skv=9,d=6,packed=1,outputs=o+lse", "normal+qlens:0:5");
    struct tensor_set set = filled(&c, (struct tensors_layout){.row_padding = 2}, 0);
    struct tensors_spot spot;
    assert_false(tensors_last_written(&set, &c.problem, &spot));
    const size_t rows = tensors_rows(&c.problem, &set.tensors);
    for (size_t n = 0; n < rows; n++) {
        const struct tensors_place at = tensors_place(&c.problem, &set.tensors, n);
        assert_false(tensors_written(&set, &c.problem, &spot));
        for (size_t d = 0; d < 6; d++)
            tensors_set(&set.tensors.o, at.b, at.h, at.row, d, 1);
        tensors_set(&set.tensors.lse, at.b, at.h, at.row, 0, 1);
    }
    assert_true(tensors_written(&set, &c.problem, &spot));
    assert_true(tensors_padding_intact(&set, &c.problem, &spot));
    const struct tensors_place last = tensors_place(&c.problem, &set.tensors, rows - 1);
    assert_true(tensors_last_written(&set, &c.problem, &spot));
    assert_true(spot.b == last.b && spot.h == last.h && spot.i == last.i);
    tensors_free(&set);
}

TEST(operands_for_another_input_are_refused)
{
    const struct problem_case a = case_of("b=3,s=9,d=4,packed=1", "normal+qlens:1:9");
    const struct problem_case b = case_of("b=3,s=9,d=4,packed=1", "normal+qlens:9:9");
    struct tensor_set set = filled(&a, usual, 0);
    char message[256];
    assert_false(tensors_fill(&set, &b, 0, MESSAGE(message)));
    assert_string_equal(message, "the operands were made for another input");
    const struct problem_case large =
        case_of("b=3000,sq=1000000,skv=1,d=1,packed=1", "normal+qlens:1000000:1000000");
    struct tensors_shape shape;
    assert_false(tensors_shape_of(&large, &shape, MESSAGE(message)));
    assert_non_null(strstr(message, "more than 32-bit offsets can count"));
    tensors_free(&set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prescribed_scores_survive_int8),
        cmocka_unit_test(int8_keys_are_about_normal),
        cmocka_unit_test(shared_values_are_the_keys),
        cmocka_unit_test(changes_of_any_operand_are_noticed),
        cmocka_unit_test(every_operand_comes_through_a_memory_file),
        cmocka_unit_test(packed_results_are_the_rows_that_there_are),
        cmocka_unit_test(operands_for_another_input_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
