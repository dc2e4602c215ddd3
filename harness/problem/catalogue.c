/*
 * catalogue: lists variants, guests and groups.
 */
#include "catalogue.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/shell_words.h"

#define MAX_TABLES 64

struct table {
    const struct attn_kernel *const *kernels;
    size_t count;
    const struct guest *guest;
};
static struct table added[MAX_TABLES];
static size_t tables, missing;

void catalogue_add(const struct guest *guest, const struct attn_kernel *const *kernels,
                   size_t count)
{
    assert(tables < MAX_TABLES);
    added[tables++] = (struct table){kernels, count, guest};
}

const struct guest *catalogue_guest(const struct attn_kernel *kernel)
{
    for (size_t t = 0; t < tables; t++)
        for (size_t i = 0; i < added[t].count; i++)
            if (added[t].kernels[i] == kernel)
                return added[t].guest;
    return NULL;
}

const char *catalogue_guest_text(const struct guest *guest, char text[GUEST_TEXT])
{
    const struct shell_words path = {.word = {guest->path}, .count = 1};
    if (!*guest->arguments)
        snprintf(text, GUEST_TEXT, "%s", guest->path);
    else if (shell_words_join(&path, 0, text, GUEST_TEXT))
        snprintf(text + strlen(text), GUEST_TEXT - strlen(text), " %s", guest->arguments);
    return text;
}

void catalogue_incomplete(size_t guests)
{
    missing = guests;
}

bool catalogue_is_complete(void)
{
    return !missing;
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
    return NULL;
}

const struct attn_kernel *catalogue_named(const char *name)
{
    const struct attn_kernel *kernel;
    size_t i = 0;
    while ((kernel = catalogue_at(i)) && strcmp(kernel->name, name) != 0)
        i++;
    return kernel;
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
    {"plugins", "the kernels of --plugin"},
    {"best", "for each problem and number of threads the variant that the library chooses"},
    {"all", "every kernel of --plugin and of this program, except rivals other than gemm"},
    {NULL, NULL},
};

/* Other kernels are in the group `ours`, so that a new one needs no line here. */
static const char *const textbook[] = {"naive", "tiled", "row_parallel", "online"};
static const char *const rivals[] = {"gemm", "gemm_blis", "gemm_mkl", "onednn", "onednn_graph"};

/* The guest with a kernel of this name; NULL: it is in this program. */
static const struct guest *guest_of(const char *kernel_name)
{
    const struct attn_kernel *kernel = catalogue_named(kernel_name);
    return kernel ? catalogue_guest(kernel) : NULL;
}

const char *catalogue_group_of(const char *kernel_name)
{
    const struct guest *guest = guest_of(kernel_name);
    if (guest)
        return guest->rivals ? "rivals" : "plugins";
    if (among(kernel_name, textbook, sizeof textbook / sizeof *textbook))
        return "textbook";
    if (among(kernel_name, rivals, sizeof rivals / sizeof *rivals))
        return "rivals";
    return "ours";
}

/* Whether a kernel calls a library that few machines have, so that it is selected only by name. */
static bool loads_library(const char *kernel_name)
{
    return among(kernel_name, rivals + 1, sizeof rivals / sizeof *rivals - 1);
}

bool catalogue_in_group(const char *kernel_name, const char *group)
{
    const struct guest *guest = guest_of(kernel_name);
    if (strcmp(group, "all") == 0)
        return guest ? !guest->rivals : !loads_library(kernel_name);
    return strcmp(group, catalogue_group_of(kernel_name)) == 0;
}
