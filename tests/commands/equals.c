/*
 * equals: attnbench with the same kernel under two names, and once more slowed (3 % unless built
 * otherwise).
 *
 * For the experiments of docs/measuring.md (scripts/dev/studies/pairs.py): two names must not be
 * told apart more often than chance does, and the slow one must be.
 */
#include "problem/catalogue.h"
#include "base/clock.h"
#include "commands/program.h"

#ifndef SLOWER
#define SLOWER 1.03
#endif

/* Every kernel here is flash, in the strongest variant that any x86-64 of the last decade has. */
static const struct attn_kernel *base;

static void execute_equal(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    base->execute(plan, tensors);
}

/* Busy until 3 % more than the call itself took has passed. */
static void execute_slower(const struct attn_plan *plan, const struct attn_tensors *tensors)
{
    const double start = clock_now();
    base->execute(plan, tensors);
    const double until = start + SLOWER * (clock_now() - start);
    while (clock_now() < until)
        ;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name, *summary;
        void (*execute)(const struct attn_plan *, const struct attn_tensors *);
    } names[] = {
        {"equal_a", "flash under another name", execute_equal},
        {"equal_b", "flash under a third name", execute_equal},
        {"slower", "flash, slower by a busy loop", execute_slower},
    };
    enum { COUNT = sizeof names / sizeof *names };
    static struct attn_kernel kernels[COUNT];
    static const struct attn_kernel *list[COUNT];
    const bool avx2 = attn_isa_available(ATTN_ISA_AVX2);
    base = attn_find("flash", avx2 ? ATTN_ISA_AVX2 : ATTN_ISA_BASELINE);
    for (int i = 0; i < COUNT; i++) {
        kernels[i] = *base;
        kernels[i].name = names[i].name;
        kernels[i].summary = names[i].summary;
        kernels[i].source = "tests/commands/equals.c";
        kernels[i].execute = names[i].execute;
        list[i] = &kernels[i];
    }
    catalogue_add(NULL, list, COUNT);
    return program_main(argc, argv);
}
