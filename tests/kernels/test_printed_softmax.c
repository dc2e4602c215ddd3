/*
 * The reference against numbers that other people's programs printed.
 */
#include "testing.h"

#include <jansson.h>

#include "judged_row.h"

static json_t *printed(void)
{
    json_t *file = json_load_file(TEST_DATA "/printed-softmax.json", 0, NULL);
    assert_non_null(file);
    return file;
}

static double number(const json_t *table, const char *name, size_t i, size_t j)
{
    return json_number_value(json_array_get(json_array_get(json_object_get(table, name), i), j));
}

/* Scores of row i are read from dimension i of the keys. */
static void the_printed_causal_softmax(void **state)
{
    (void)state;
    json_t *file = printed();
    const json_t *table = json_object_get(file, "causal_softmax_printed");
    struct judged *t = open_judged("s=6,d=6,dv=6,scale=1,mask=causal");
    for (size_t i = 0; i < 6; i++)
        for (size_t j = 0; j < 6; j++) {
            tensors_set(&t->set.tensors.q, 0, 0, i, j, i == j);
            tensors_set(&t->set.tensors.v, 0, 0, i, j, i == j);
            tensors_set(&t->set.tensors.k, 0, 0, j, i,
                        j <= i ? number(table, "scaled_scores", i, j) : 1e30);
        }
    for (size_t i = 0; i < 6; i++) {
        judge(t, 0, 0, i);
        for (size_t j = 0; j < 6; j++) {
            const double expected = j <= i ? number(table, "weights", i, j) : 0;
            assert_near(t->weights[j], expected, 5e-8);
            assert_near(t->o[j], expected, 5e-8);
        }
    }
    close_judged(t);
    json_decref(file);
}

/* Inputs are printed to 4 decimals as well, so that outputs can differ by a few units there. */
static void the_printed_layer(void **state)
{
    (void)state;
    json_t *file = printed();
    const json_t *table = json_object_get(file, "layer_linear_seed42");
    struct judged *t = open_judged("s=3,d=2");
    struct attn_tensor *operands[] = {&t->set.tensors.q, &t->set.tensors.k, &t->set.tensors.v};
    for (size_t n = 0; n < 3; n++)
        for (size_t i = 0; i < 3; i++)
            for (size_t d = 0; d < 2; d++)
                tensors_set(operands[n], 0, 0, i, d,
                            number(table, (const char *[]){"q", "k", "v"}[n], i, d));
    for (size_t i = 0; i < 3; i++) {
        judge(t, 0, 0, i);
        for (size_t j = 0; j < 3; j++)
            assert_near(t->weights[j], number(table, "weights", i, j), 1.5e-4);
        for (size_t d = 0; d < 2; d++)
            assert_near(t->o[d], number(table, "output", i, d), 3e-4);
    }
    close_judged(t);
    json_decref(file);
}

static void the_printed_peaky_softmax(void **state)
{
    (void)state;
    json_t *file = printed();
    const json_t *table = json_object_get(file, "softmax_peaky");
    for (int peaky = 0; peaky < 2; peaky++) {
        struct judged *t = open_judged(peaky ? "sq=1,skv=5,d=1,scale=8" : "sq=1,skv=5,d=1,scale=1");
        tensors_set(&t->set.tensors.q, 0, 0, 0, 0, 1);
        for (size_t j = 0; j < 5; j++)
            tensors_set(&t->set.tensors.k, 0, 0, j, 0,
                        json_number_value(json_array_get(json_object_get(table, "x"), j)));
        judge(t, 0, 0, 0);
        for (size_t j = 0; j < 5; j++) {
            const double expected = json_number_value(
                json_array_get(json_object_get(table, peaky ? "softmax_of_8x" : "softmax"), j));
            assert_near(t->weights[j] / expected, 1, peaky ? 3e-5 : 4e-4);
        }
        close_judged(t);
    }
    json_decref(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_printed_causal_softmax),
        cmocka_unit_test(the_printed_layer),
        cmocka_unit_test(the_printed_peaky_softmax),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
