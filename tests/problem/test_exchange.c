/*
 * exchange: what the file looks like to another program, and what comes back.
 */
#include "testing.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "filled_tensors.h"
#include "problem/exchange.h"
#include "problem/safetensors.h"

static const struct tensors_shape plain; /* of problems of q, k and v */

static struct safetensors *look(const struct exchange *exchange)
{
    char path[64], message[256];
    snprintf(path, sizeof path, "/proc/self/fd/%d", exchange_file(exchange));
    struct safetensors *file = safetensors_open(path, MESSAGE(message));
    if (!file)
        fail_msg("%s", message);
    return file;
}

static void assert_shape(const struct safetensors *file, const char *name, const char *shape)
{
    char text[SAFETENSORS_SHAPE_TEXT];
    const struct safetensor *t = safetensors_find(file, "", name);
    if (!t) {
        fail_msg("no tensor %s", name);
        return;
    }
    safetensors_print_shape(t, text);
    assert_string_equal(text, shape);
    assert_int_equal((uintptr_t)t->data % 64, 0);
}

static struct exchange *opened(void)
{
    char message[256];
    struct exchange *exchange = exchange_open(MESSAGE(message));
    if (!exchange)
        fail_msg("%s", message);
    return exchange;
}

static void arrange(struct exchange *exchange, const struct attn_problem *p,
                    const struct tensors_shape *shape, size_t sets, size_t shift)
{
    char message[256];
    if (!exchange_arrange(exchange, p, shape, sets, shift, MESSAGE(message)))
        fail_msg("%s", message);
}

/* As docs/protocol.md states them, and nothing else: V that is part of K is not there. */
TEST(every_operand_has_its_shape)
{
    static const struct {
        const char *problem, *absent;
        struct {
            const char *name, *shape;
        } tensors[8];
    } table[] = {
        {"b=2,hq=4,hkv=2,sq=3,skv=5,d=6,dv=7,dtype=bf16,outputs=o+lse",
         "q.3",
         {{"q.0", "bf16 (2,4,3,6)"},
          {"k.1", "bf16 (2,2,5,6)"},
          {"v.2", "bf16 (2,2,5,7)"},
          {"o.2", "bf16 (2,4,3,7)"},
          {"lse.1", "f32 (2,4,3)"}}},
        {"b=2,hq=4,hkv=2,sq=3,skv=5,d=6,dv=7,layout=bshd,outputs=o+lse+weights+scores",
         "q.3",
         {{"q.0", "f32 (2,3,4,6)"},
          {"k.0", "f32 (2,5,2,6)"},
          {"v.0", "f32 (2,5,2,7)"},
          {"o.0", "f32 (2,3,4,7)"},
          {"lse.0", "f32 (2,4,3)"},
          {"weights.2", "f32 (2,4,3,5)"},
          {"scores.1", "f32 (2,4,3,5)"}}},
        {"h=1,s=1,d=1", "q.3", {{"q.0", "f32 (1,1,1,1)"}, {"o.2", "f32 (1,1,1,1)"}}},
        {"b=2,hq=4,hkv=2,sq=3,skv=5,d=6,dv=7,sinks=1,alibi=1,ragged=1",
         "cu_seqlens.0",
         {{"sinks.1", "f32 (4)"}, {"slopes.1", "f32 (4)"}, {"kv_lens.2", "i32 (2)"}}},
        {"b=2,hq=4,hkv=2,sq=3,skv=5,d=6,dv=7,packed=1,kv_dtype=i8,outputs=o+lse+weights",
         "kv_lens.0",
         {{"q.0", "f32 (1,4,6,6)"},
          {"k.0", "i8 (1,2,10,6)"},
          {"cu_seqlens.0", "i32 (3)"},
          {"cu_seqlens_kv.0", "i32 (3)"},
          {"k_scale.0", "f32 (1,2,10,6)"},
          {"v_scale.0", "f32 (1,2,10,1)"},
          {"lse.0", "f32 (1,4,6)"},
          {"weights.0", "f32 (1,4,6,5)"}}},
        {"b=2,hq=4,hkv=2,sq=3,skv=5,d=6,dv=4,packed=1,page=2,shared_kv=1,layout=bshd",
         "v.0",
         {{"q.0", "f32 (1,6,4,6)"},
          {"k.0", "f32 (8,2,2,6)"},
          {"block_table.0", "i32 (2,3)"},
          {"o.0", "f32 (1,6,4,4)"}}},
    };
    struct exchange *exchange = opened();
    for (size_t n = 0; n < 2 * COUNT(table); n++) {
        const struct attn_problem problem = problem_of(table[n / 2].problem);
        const struct tensors_shape shape = tensors_shape_most(&problem, NULL);
        arrange(exchange, &problem, &shape, 3, n % 2 * 192);
        struct safetensors *file = look(exchange);
        for (size_t t = 0; t < 8 && table[n / 2].tensors[t].name; t++)
            assert_shape(file, table[n / 2].tensors[t].name, table[n / 2].tensors[t].shape);
        assert_null(safetensors_find(file, "", table[n / 2].absent));
        safetensors_close(file);
    }
    exchange_close(exchange);
}

/* Distances between operands change with the shift, as they do in this program's own files. */
TEST(operands_are_shifted)
{
    ptrdiff_t apart[2];
    const struct attn_problem problem = problem_of("h=2,s=16,d=16");
    struct exchange *exchange = opened();
    for (int n = 0; n < 2; n++) {
        arrange(exchange, &problem, &plain, 1, n ? 320 : 0);
        struct safetensors *file = look(exchange);
        apart[n] = (const char *)safetensors_find(file, "", "k.0")->data -
                   (const char *)safetensors_find(file, "", "q.0")->data;
        safetensors_close(file);
    }
    assert_int_equal(apart[0], 2 * 16 * 16 * 4);
    assert_int_equal(apart[1], 2 * 16 * 16 * 4 + 3 * 320);
    exchange_close(exchange);
}

/* Fills q, k and v with numbers that say where they stand. */
static void number(struct tensor_set *set, const struct attn_problem *p)
{
    for (size_t b = 0; b < p->batch; b++)
        for (size_t h = 0; h < p->q_heads; h++)
            for (size_t i = 0; i < p->q_len; i++)
                for (size_t d = 0; d < p->qk_dim; d++)
                    tensors_set(&set->tensors.q, b, h, i, d,
                                (double)(b * 1000 + h * 100 + i * 10 + d));
}

/* Element (b, h, i, d) of a tensor of the file, in either layout. */
static double element(const struct safetensor *t, const struct attn_problem *p, const size_t at[4])
{
    const size_t heads = p->q_heads, rows = p->q_len;
    const size_t row = p->layout == ATTN_BSHD ? (at[0] * rows + at[2]) * heads + at[1]
                                              : (at[0] * heads + at[1]) * rows + at[2];
    return safetensors_get(t, row * t->shape[3] + at[3]);
}

TEST(operands_arrive)
{
    static const char *const texts[] = {"b=2,hq=3,hkv=3,sq=4,skv=2,d=5",
                                        "b=2,hq=3,hkv=3,sq=4,skv=2,d=5,layout=bshd"};
    const struct tensors_layout padded = {.guard = TENSORS_GUARD_BACK, .row_padding = 3};
    const size_t at[] = {1, 2, 3, 4};
    for (size_t n = 0; n < 2; n++) {
        const struct attn_problem problem = problem_of(texts[n]);
        struct exchange *exchange = opened();
        struct tensor_set set = allocated(&problem, padded);
        number(&set, &problem);
        arrange(exchange, &problem, &plain, 2, 0);
        exchange_write(exchange, 1, &set.tensors);
        struct safetensors *file = look(exchange);
        assert_true(element(safetensors_find(file, "", "q.1"), &problem, at) == 1234);
        assert_true(element(safetensors_find(file, "", "q.0"), &problem, at) == 0);
        assert_true(isnan(element(safetensors_find(file, "", "o.1"), &problem, at)));
        safetensors_close(file);
        tensors_free(&set);
        exchange_close(exchange);
    }
}

/* In a check every dimension is written out, of whatever shape the operands are; in a measurement what is
 * shared is there once. */
TEST(masks_arrive)
{
    const struct tensors_layout padded = {.guard = TENSORS_GUARD_BACK, .row_padding = 3};
    const struct problem_case c =
        case_of("b=2,h=3,sq=4,skv=5,d=2,dtype=bf16,mask=bias+bool", "normal:1+bias:keys");
    struct exchange *exchange = opened();
    struct tensor_set set = filled(&c, padded, 0);
    for (int widest = 0; widest < 2; widest++) {
        const struct tensors_shape shape =
            widest ? tensors_shape_most(&c.problem, NULL) : set.shape;
        arrange(exchange, &c.problem, &shape, 2, 0);
        exchange_write(exchange, 1, &set.tensors);
        struct safetensors *file = look(exchange);
        assert_shape(file, "bias.0", widest ? "f32 (2,3,4,5)" : "bf16 (1,1,1,5)");
        assert_shape(file, "mask.1", widest ? "bool (2,3,4,5)" : "bool (1,1,4,5)");
        const struct safetensor *bias = safetensors_find(file, "", "bias.1");
        const struct safetensor *mask = safetensors_find(file, "", "mask.1");
        for (size_t n = 0; n < 2 * 3 * 4 * 5; n++) {
            const size_t b = n / 60, h = n / 20 % 3, i = n / 5 % 4, j = n % 5;
            assert_true(safetensors_get(bias, widest ? n : j) ==
                        tensors_get(&set.tensors.bias, b, h, i, j));
            assert_true(safetensors_get(mask, widest ? n : i * 5 + j) ==
                        tensors_get(&set.tensors.mask, b, h, i, j));
        }
        safetensors_close(file);
    }
    tensors_free(&set);
    exchange_close(exchange);
}

/* What lies behind the rows, pages and entries that there are is nothing that anybody may read. */
TEST(fewer_rows_and_pages_than_there_is_room_for)
{
    static const struct tensors_layout padded = {.guard = TENSORS_GUARD_BACK, .row_padding = 3};
    const struct problem_case c =
        case_of("b=2,h=1,sq=4,skv=6,d=2,packed=1,ragged=1,page=2", "normal:1+qlens:1:3+lens:1:3");
    struct tensor_set set = filled(&c, padded, 0);
    const struct attn_tensors *t = &set.tensors;
    const struct tensors_shape shape = tensors_shape_most(&c.problem, t);
    assert_true(t->q_rows == 4 && shape.q_rows == 8 && t->pages < shape.pages);
    for (size_t i = 0; i < t->q_rows; i++)
        tensors_set(&t->q, 0, 0, i, 1, (double)i);
    struct exchange *exchange = opened();
    arrange(exchange, &c.problem, &shape, 3, 0);
    assert_true(exchange_holds(exchange, t));
    exchange_write(exchange, 1, t);
    struct safetensors *file = look(exchange);
    const struct safetensor *q = safetensors_find(file, "", "q.1"),
                            *k = safetensors_find(file, "", "k.1");
    const struct safetensor *table = safetensors_find(file, "", "block_table.1");
    for (size_t i = 0; i < 8; i++)
        assert_true(i < t->q_rows ? safetensors_get(q, 2 * i + 1) == (double)i
                                  : isnan(safetensors_get(q, 2 * i + 1)));
    assert_true(isnan(safetensors_get(k, shape.pages * 2 * 2 - 1)));
    for (size_t b = 0; b < 2; b++)
        for (size_t n = 0; n < 3; n++) {
            const bool used = 2 * n < (size_t)((const int32_t *)t->kv_lens.data)[b];
            const double page = safetensors_get(table, 3 * b + n);
            assert_true(used ? page == tensors_get(&t->block_table, b, 0, 0, n)
                             : page < 0 || page >= (double)shape.pages);
        }
    safetensors_close(file);
    exchange_read(exchange, 1, t);
    struct attn_tensors more = *t;
    more.pages = shape.pages + 1;
    assert_false(exchange_holds(exchange, &more));
    assert_true(tensors_shape_most(&c.problem, &more).pages == more.pages);
    tensors_free(&set);
    exchange_close(exchange);
}

/* Writes x over element number `index` of a tensor of the file, as another program would. */
static void write_f32(const struct exchange *exchange, const char *name, size_t index, float x)
{
    uint64_t header;
    struct safetensors *file = look(exchange);
    const char *first = safetensors_at(file, 0)->data;
    const ptrdiff_t at = (const char *)safetensors_find(file, "", name)->data - first;
    const int fd = exchange_file(exchange);
    assert_int_equal(pread(fd, &header, sizeof header, 0), sizeof header);
    const off_t place = (off_t)(8 + header + index * sizeof x) + at;
    assert_int_equal(pwrite(fd, &x, sizeof x, place), sizeof x);
    safetensors_close(file);
}

/* Results come back row by row; what was not written since the last time counts as unwritten. */
TEST(results_come_back_row_by_row)
{
    const struct tensors_layout padded = {.guard = TENSORS_GUARD_BACK, .row_padding = 3};
    const struct attn_problem problem = problem_of("hq=3,hkv=3,sq=4,skv=2,d=5,outputs=o+lse");
    struct tensors_spot spot;
    struct tensor_set set = allocated(&problem, padded);
    struct exchange *exchange = opened();
    arrange(exchange, &problem, &plain, 2, 64);
    for (size_t n = 0; n < 3 * 4 * 5; n++)
        write_f32(exchange, "o.1", n, (float)n);
    for (size_t n = 0; n < 3 * 4; n++)
        write_f32(exchange, "lse.1", n, (float)n + 0.5F);
    exchange_read(exchange, 1, &set.tensors);
    assert_true(tensors_written(&set, &problem, &spot));
    assert_true(tensors_padding_intact(&set, &problem, &spot));
    assert_true(tensors_get(&set.tensors.o, 0, 2, 1, 3) == (2 * 4 + 1) * 5 + 3);
    assert_true(tensors_get(&set.tensors.lse, 0, 2, 1, 0) == 2 * 4 + 1 + 0.5);
    write_f32(exchange, "o.1", 0, 7);
    exchange_read(exchange, 1, &set.tensors);
    assert_true(tensors_get(&set.tensors.o, 0, 0, 0, 0) == 7);
    assert_false(tensors_written(&set, &problem, &spot));
    assert_string_equal(spot.tensor, "o");
    assert_int_equal(spot.d, 1);
    tensors_free(&set);
    exchange_close(exchange);
}

/* A file that has grown stays as it is, because the other program may have it mapped. */
TEST(smaller_problems_follow)
{
    static const char *const texts[] = {"h=1,s=8,d=8", "h=4,s=512,d=64", "h=1,s=8,d=8"};
    struct exchange *exchange = opened();
    for (size_t n = 0; n < 3; n++) {
        const struct attn_problem problem = problem_of(texts[n]);
        arrange(exchange, &problem, &plain, 2, 64);
        safetensors_close(look(exchange)); /* which looks for holes */
    }
    exchange_close(exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operand_has_its_shape),
        cmocka_unit_test(fewer_rows_and_pages_than_there_is_room_for),
        cmocka_unit_test(operands_are_shifted),
        cmocka_unit_test(operands_arrive),
        cmocka_unit_test(masks_arrive),
        cmocka_unit_test(results_come_back_row_by_row),
        cmocka_unit_test(smaller_problems_follow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
