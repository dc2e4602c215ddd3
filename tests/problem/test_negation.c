/*
 * negation: columns of O follow those of V to the last bit in every kernel, nothing else changes, and a
 * mapped set changes in this process alone.
 */
#define _GNU_SOURCE
#include "testing.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "filled_tensors.h"
#include "problem/negation.h"

#define CACHE "b=4,hq=4,hkv=2,sq=9,skv=70,d=24,dv=17"

static const char *const problems[] = {
    "h=3,sq=65,skv=130,d=40",
    "b=2,hq=4,hkv=2,sq=1,skv=300,d=128,layout=bshd",
    "b=2,hq=4,hkv=2,s=70,d=64,dtype=bf16,mask=causal",
    "hq=8,hkv=2,s=33,d=64,dtype=f16",
    "h=2,s=33,d=40,dtype=f64",
    CACHE ",mask=bool+causal,softcap=2,sinks=1",
    CACHE ",ragged=1,page=16",
    CACHE ",ragged=1,page=16,kv_dtype=i8",
    CACHE ",packed=1,mask=bias,alibi=1",
    "b=2,hq=8,hkv=2,sq=3,skv=70,d=40,dv=24,shared_kv=1",
};

static uint64_t computed(const struct attn_plan *plan, struct tensor_set *set)
{
    tensors_poison(set, &plan->problem);
    attn_execute(plan, &set->tensors);
    return tensors_results_hash(set, &plan->problem);
}

/* What a kernel gives for a set stays the same, but for what is negated. */
static void follows(const struct attn_kernel *kernel, const struct problem_case *c, bool all)
{
    struct tensor_set set = filled(c, (struct tensors_layout){0}, 0);
    const size_t bytes = attn_workspace_size(kernel, &c->problem, 2);
    void *workspace = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    struct attn_plan plan;
    struct negation n;
    const char *why;
    assert_true(attn_plan_init(&plan, kernel, &c->problem, 2, workspace, bytes, &why));
    assert_true(negation_open(&n, &c->problem, all, 5));
    computed(&plan, &set);
    negation_undo(&n, &set, &c->problem);
    const uint64_t first = tensors_results_hash(&set, &c->problem);
    for (uint64_t turn = 0; turn < 3; turn++) {
        negation_turn(&n, &set, &c->problem, turn);
        const uint64_t raw = computed(&plan, &set);
        negation_undo(&n, &set, &c->problem);
        if (turn == 0 && raw == tensors_results_hash(&set, &c->problem))
            fail_msg("%s/%s: nothing is negated", kernel->name, attn_isa_name(kernel->isa));
        if (tensors_results_hash(&set, &c->problem) != first)
            fail_msg("%s/%s: O does not follow V", kernel->name, attn_isa_name(kernel->isa));
    }
    negation_close(&n);
    attn_plan_destroy(&plan);
    free(workspace);
    tensors_free(&set);
}

TEST(every_kernel_follows)
{
    size_t count, ran = 0;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    for (size_t p = 0; p < sizeof problems / sizeof *problems; p++) {
        struct problem_case c = case_of(problems[p], "normal:1");
        for (size_t k = 0; k < count; k++) {
            const char *why;
            c.problem.outputs = ATTN_OUTPUT_O | ATTN_OUTPUT_LSE;
            if (kernels[k]->library || !attn_isa_available(kernels[k]->isa) ||
                !attn_supports(kernels[k], &c.problem, &why))
                continue;
            follows(kernels[k], &c, p % 2);
            ran++;
        }
    }
    assert_true(ran > 0);
}

/* The columns that are said to be negated are, in V of the chosen head alone, and turning never
 * leaves all as it was. */
TEST(columns_are_those_of_one_head)
{
    struct problem_case c;
    struct tensor_set set = made("b=2,h=3,s=5,d=8", "normal:1", &c),
                      before = made("b=2,h=3,s=5,d=8", "normal:1", &c);
    struct negation n;
    size_t negated = 0;
    assert_true(negation_open(&n, &c.problem, false, 3));
    negation_turn(&n, &set, &c.problem, 1);
    for (size_t b = 0; b < 2; b++)
        for (size_t h = 0; h < 3; h++)
            for (size_t j = 0; j < 5; j++)
                for (size_t d = 0; d < 8; d++) {
                    const bool turned = negation_is_of(&n, &c.problem, b, h, d);
                    negated += turned;
                    assert_true(tensors_get(&set.tensors.v, b, h, j, d) ==
                                (turned ? -1 : 1) * tensors_get(&before.tensors.v, b, h, j, d));
                }
    assert_in_range(negated, 5, 5 * 8);
    negation_close(&n);
    tensors_free(&set);
    tensors_free(&before);
}

/* A set of a file that may be read alone: V changes here, and nowhere else. */
TEST(the_file_stays)
{
    const struct problem_case c = case_of("h=2,s=300,d=64", "normal:1");
    struct tensor_set mine, others;
    struct negation n;
    char message[256];
    const int fd = memfd_create("operands", MFD_CLOEXEC);
    assert_true(tensors_fill_file(&c, 2, fd, MESSAGE(message)));
    assert_true(tensors_map(&mine, &c.problem, fd, 1, 0, false, MESSAGE(message)));
    assert_true(tensors_map(&others, &c.problem, fd, 1, 0, false, MESSAGE(message)));
    assert_true(negation_open(&n, &c.problem, false, 1));
    assert_true(negation_own(&n, &mine, &c.problem, MESSAGE(message)));
    assert_null(tensors_changed(&mine, &c.problem));
    negation_turn(&n, &mine, &c.problem, 1);
    assert_string_equal(tensors_changed(&mine, &c.problem), "v");
    assert_null(tensors_changed(&others, &c.problem));
    negation_close(&n);
    tensors_free(&mine);
    tensors_free(&others);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kernel_follows),
        cmocka_unit_test(columns_are_those_of_one_head),
        cmocka_unit_test(the_file_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
