/*
 * dots: the distributions, and which variant to take.
 */
#include "dots.h"

#include <string.h>

#define DOTS(isa, ISA) extern const struct dots dots_##isa;
#include "dots_list.h"
#undef DOTS

const struct dots *const dots_variants[] = {
#define DOTS(isa, ISA) &dots_##isa,
#include "dots_list.h"
#undef DOTS
};
const size_t dots_variant_count = sizeof dots_variants / sizeof *dots_variants;

/* Student's t of n degrees: n / (n - 2) and 3 n^2 / ((n - 2) (n - 4)). */
const struct distribution_facts distributions[DISTRIBUTION_COUNT] = {
    [DISTRIBUTION_NORMAL] = {"normal", 1, 3},
    [DISTRIBUTION_UNIFORM] = {"uniform", 1.0 / 3, 1.0 / 5},
    [DISTRIBUTION_RADEMACHER] = {"rademacher", 1, 1},
    [DISTRIBUTION_HEAVY] = {"heavy", 5.0 / 3, 25},
};

const char *const distribution_names[] = {"normal", "uniform", "rademacher", "heavy", NULL};

enum distribution distribution_find(const char *name)
{
    int i = 0;
    while (i < DISTRIBUTION_COUNT && strcmp(distributions[i].name, name) != 0)
        i++;
    return (enum distribution)i;
}

const struct dots *dots_best(void)
{
    size_t best = 0;
    for (size_t i = 0; i < dots_variant_count; i++)
        if (attn_isa_available(dots_variants[i]->isa))
            best = i;
    return dots_variants[best];
}
