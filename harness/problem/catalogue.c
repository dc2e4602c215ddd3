/*
 * catalogue: the variants and their groups.
 */
#include "catalogue.h"

#include <assert.h>
#include <string.h>

#define MAX_TABLES 16

struct table {
    const struct attn_kernel *const *kernels;
    size_t count;
};
static struct table added[MAX_TABLES], unlisted;
static size_t tables;

void catalogue_add(const struct attn_kernel *const *kernels, size_t count)
{
    assert(tables < MAX_TABLES);
    added[tables++] = (struct table){kernels, count};
}

void catalogue_add_unlisted(const struct attn_kernel *const *kernels, size_t count)
{
    assert(!unlisted.count);
    unlisted = (struct table){kernels, count};
}

const struct attn_kernel *catalogue_unlisted(const char *name, size_t length)
{
    for (size_t i = 0; i < unlisted.count; i++)
        if (strlen(unlisted.kernels[i]->name) == length &&
            strncmp(unlisted.kernels[i]->name, name, length) == 0)
            return unlisted.kernels[i];
    return NULL;
}

const struct attn_kernel *catalogue_at(size_t i)
{
    size_t count;
    const struct attn_kernel *const *kernels = attn_kernels(&count);
    if (i < count)
        return kernels[i];
    i -= count;
    for (size_t t = 0; t < tables; i -= added[t++].count)
        if (i < added[t].count)
            return added[t].kernels[i];
    return NULL;
}

const struct attn_kernel *catalogue_find(const char *name, enum attn_isa isa)
{
    const struct attn_kernel *kernel;
    for (size_t i = 0; (kernel = catalogue_at(i)); i++)
        if (kernel->isa == isa && strcmp(kernel->name, name) == 0)
            return kernel;
    kernel = catalogue_unlisted(name, strlen(name));
    return kernel && kernel->isa == isa ? kernel : NULL;
}

static bool among(const char *name, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

size_t catalogue_names(const char **names, size_t capacity)
{
    const struct attn_kernel *kernel;
    size_t n = 0;
    for (size_t i = 0; n < capacity && (kernel = catalogue_at(i)); i++)
        if (!among(kernel->name, names, n))
            names[n++] = kernel->name;
    return n;
}

/* ---- groups ---------------------------------------------------------------------------------- */

const struct catalogue_group catalogue_groups[] = {
    {"textbook", "the algorithms as they are taught"},
    {"ours", "the kernels this project is about"},
    {"rivals", "other people's libraries behind the same interface"},
    {"all", "every kernel"},
    {NULL, NULL},
};

/* A kernel that stands in neither list is one of ours: a new one needs no line here. */
static const char *const textbook[] = {"naive", "tiled", "row_parallel", "online"};
static const char *const rivals[] = {"gemm"};

const char *catalogue_group_of(const char *kernel_name)
{
    if (among(kernel_name, textbook, sizeof textbook / sizeof *textbook))
        return "textbook";
    if (among(kernel_name, rivals, sizeof rivals / sizeof *rivals))
        return "rivals";
    return "ours";
}

bool catalogue_in_group(const char *kernel_name, const char *group)
{
    return strcmp(group, "all") == 0 || strcmp(group, catalogue_group_of(kernel_name)) == 0;
}
