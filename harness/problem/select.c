/*
 * select: parses lists of kernels and instruction sets.
 */
#include "select.h"

#include <stdio.h>
#include <string.h>

#include "isa.h"

#define ALL_ISAS ((1u << ATTN_ISA_COUNT) - 1)

/* ---- kernels --------------------------------------------------------------------------------- */

void select_add(struct selected selected[SELECT_MAX], size_t *count, const struct selected *one)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp(selected[i].name, one->name) == 0 && selected[i].variant == one->variant &&
            selected[i].isa == one->isa)
            return;
    if (*count < SELECT_MAX)
        selected[(*count)++] = *one;
}

/* Adds a group's members or a kernel, by name; returns how many. */
static size_t add_item(const char *item, struct selected *selected, size_t *count)
{
    const char *names[SELECT_MAX];
    const size_t known = catalogue_names(names, SELECT_MAX);
    const char *slash = strchr(item, '/');
    const size_t length = slash ? (size_t)(slash - item) : strlen(item);
    size_t matches = 0;
    if (strcmp(item, SELECT_BEST) == 0) {
        select_add(selected, count, &(struct selected){.name = SELECT_BEST});
        return 1;
    }
    for (size_t i = 0; i < known; i++) {
        struct selected one = {.variant = slash};
        const bool named = strlen(names[i]) == length && strncmp(names[i], item, length) == 0;
        if (!named && (slash || !catalogue_in_group(names[i], item)))
            continue;
        if (slash && !attn_isa_parse(slash + 1, &one.isa))
            return 0;
        snprintf(one.name, sizeof one.name, "%s", names[i]);
        select_add(selected, count, &one);
        matches++;
    }
    return matches;
}

static void unknown_kernel(struct piece item, struct message message)
{
    const char *names[SELECT_MAX];
    const size_t count = catalogue_names(names, SELECT_MAX);
    struct piece variant = item;
    const struct piece given = piece_split(&variant, "/", &(bool){false});
    struct scan_choice choice = {.given = given};
    char quoted[SCAN_QUOTED];
    for (size_t i = 0; i < count; i++) {
        if (piece_is(given, names[i])) {
            message_print(message, "kernel %s has no variant %s", names[i],
                          scan_quote(item, quoted));
            return;
        }
        scan_offer(&choice, names[i]);
    }
    for (size_t i = 0; catalogue_groups[i].name; i++)
        scan_offer(&choice, catalogue_groups[i].name);
    scan_refuse_message(&choice, "no kernel or group", "there are", message);
}

bool select_kernels(const char *list, struct selected selected[SELECT_MAX], size_t *count,
                    struct message message)
{
    char text[128];
    struct piece rest = piece_of(list ? list : "all"), item;
    *count = 0;
    while (piece_next(&rest, &item)) {
        const bool known = piece_copy(item, text, sizeof text) && add_item(text, selected, count);
        if (!known && catalogue_is_complete()) {
            unknown_kernel(item, message);
            return false;
        }
    }
    return true;
}

/* ---- instruction sets ------------------------------------------------------------------------ */

bool select_isa(struct piece name, enum attn_isa *isa, struct message message)
{
    struct scan_choice choice = {.given = name};
    char text[64];
    if (piece_copy(name, text, sizeof text) && attn_isa_parse(text, isa))
        return true;
    for (int i = 0; i < ATTN_ISA_COUNT; i++)
        scan_offer(&choice, attn_isa_name((enum attn_isa)i));
    return scan_refuse(&choice, "no instruction set", "there are", message);
}

bool select_isas(const char *list, unsigned *isas, struct message message)
{
    struct piece rest = piece_of(list && strcmp(list, "best") != 0 ? list : ""), item;
    enum attn_isa isa;
    *isas = 0;
    while (piece_next(&rest, &item)) {
        const bool all = piece_is(item, "all");
        if (!all && !select_isa(item, &isa, message))
            return false;
        *isas = all ? ALL_ISAS : *isas | 1u << isa;
    }
    return true;
}

/* Demands on a variant, bits. */
enum { HERE = 1, OF_TYPE = 2, ABLE = 4 };

static bool is_of_type(const struct attn_kernel *kernel, const struct attn_problem *problem)
{
    return kernel->caps.dtypes & 1u << problem->dtype;
}

/* The variant that this host prefers among those that meet the demands; -1: none does. */
static int preferred(const char *name, const struct attn_problem *problem, unsigned demands)
{
    const enum attn_isa *order = attn_isa_preference();
    const char *why;
    for (size_t i = 0; i < ATTN_ISA_COUNT; i++) {
        const struct attn_kernel *kernel = catalogue_find(name, order[i]);
        if (kernel && (!(demands & HERE) || attn_isa_available(kernel->isa)) &&
            (!(demands & OF_TYPE) || is_of_type(kernel, problem)) &&
            (!(demands & ABLE) || attn_supports(kernel, problem, &why)))
            return (int)order[i];
    }
    return -1;
}

/* The instruction sets, each replaced by the one under which the kernel is built for it here. */
static unsigned as_built(const char *name, unsigned isas)
{
    unsigned built = 0;
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
        const bool found = catalogue_find(name, (enum attn_isa)isa) != NULL;
        if (isas & 1u << isa)
            built |= 1u << (found ? isa : (int)attn_isa_built_as((enum attn_isa)isa));
    }
    return built;
}

unsigned select_variants(const struct selected *selected, unsigned isas,
                         const struct attn_problem *problem)
{
    if (selected->variant)
        return as_built(selected->name, 1u << selected->isa);
    if (isas == ALL_ISAS) {
        unsigned built = 0;
        for (int isa = 0; isa < ATTN_ISA_COUNT; isa++)
            if (catalogue_find(selected->name, (enum attn_isa)isa))
                built |= 1u << isa;
        return built;
    }
    if (isas)
        return as_built(selected->name, isas);
    static const unsigned demands[] = {HERE | ABLE, HERE | OF_TYPE, HERE, 0};
    int best = -1;
    for (size_t i = 0; best < 0; i++)
        best = preferred(selected->name, problem, demands[i]);
    return 1u << best;
}

/* Whether a variant of the kernel computes the problem in another data type. */
static bool taken_in_another_type(const char *name, const struct attn_problem *problem)
{
    struct attn_problem other = *problem;
    for (int dtype = 0; dtype < ATTN_DTYPE_COUNT; dtype++) {
        other.dtype = other.kv_dtype = (enum attn_dtype)dtype;
        if (preferred(name, &other, ABLE) >= 0)
            return true;
    }
    return false;
}

bool select_refusal(const struct attn_kernel *kernel, const struct attn_problem *problem,
                    struct message message)
{
    const char *why, *of_type = "";
    if (attn_supports(kernel, problem, &why))
        return false;
    if (!catalogue_named(kernel->name)) { /* a program's kernel gives its own reason */
        message_print(message, "%s", why);
        return true;
    }
    const int typed = preferred(kernel->name, problem, OF_TYPE);
    if (preferred(kernel->name, problem, ABLE) >= 0) {
        message_print(message, "another variant takes %s", why);
        return true;
    }
    if (typed >= 0) {
        attn_supports(catalogue_find(kernel->name, (enum attn_isa)typed), problem, &why);
        of_type =
            taken_in_another_type(kernel->name, problem) ? attn_dtype_name(problem->dtype) : "";
    }
    message_print(message, "no variant of it takes %s%s%s", why, *of_type ? " with dtype=" : "",
                  of_type);
    return true;
}
