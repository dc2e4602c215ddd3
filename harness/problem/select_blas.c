/*
 * select_blas: the libraries that kernel gemm runs on, by the names that --blas takes.
 */
#include <stdio.h>
#include <string.h>

#include "blas.h"
#include "select.h"

/* The first is the library that the program is linked with, if that is OpenBLAS. */
static const struct {
    const char *library, *kernel;
} libraries[] = {{"openblas", "gemm"}, {"blis", "gemm_blis"}, {"mkl", "gemm_mkl"}};

#define COUNT (sizeof libraries / sizeof *libraries)

const char *select_blas_name(size_t index)
{
    return index < COUNT ? libraries[index].library : NULL;
}

/* The index of a library; COUNT fills message. */
static size_t find(struct piece name, struct message message)
{
    struct scan_choice choice = {.given = name};
    for (size_t i = 0; i < COUNT; i++) {
        if (i == 0 && piece_is(name, "openblas") &&
            strncmp(attn_blas_description(), "OpenBLAS", 8) != 0) {
            message_print(message, "--blas: this program is linked with %s, not with OpenBLAS",
                          attn_blas_description());
            return COUNT;
        }
        if (piece_is(name, libraries[i].library)) {
            if (catalogue_named(libraries[i].kernel))
                return i;
            message_print(message, "--blas: kernel %s is not built for this processor",
                          libraries[i].kernel);
            return COUNT;
        }
        scan_offer(&choice, libraries[i].library);
    }
    scan_refuse_message(&choice, "no CBLAS library", "there are", message);
    return COUNT;
}

/* Parses a comma-separated list of libraries into bits; 0 fills message. */
static unsigned parse(const char *list, struct message message)
{
    struct piece rest = piece_of(list), item;
    unsigned set = 0;
    while (piece_next(&rest, &item)) {
        const size_t i = find(item, message);
        if (i == COUNT)
            return 0;
        set |= 1u << i;
    }
    return set;
}

bool select_blas(const char *list, struct selected selected[SELECT_MAX], size_t *count,
                 struct message message)
{
    struct selected chosen[SELECT_MAX];
    size_t n = 0;
    bool asked = false;
    const unsigned set = list ? parse(list, message) : 0;
    if (!set)
        return !list;
    for (size_t k = 0; k < *count; k++) {
        const bool gemm = strcmp(selected[k].name, libraries[0].kernel) == 0;
        asked |= gemm;
        for (size_t i = 0; gemm && i < COUNT; i++) {
            struct selected one = selected[k];
            snprintf(one.name, sizeof one.name, "%s", libraries[i].kernel);
            if (set & 1u << i)
                select_add(chosen, &n, &one);
        }
        if (!gemm)
            select_add(chosen, &n, &selected[k]);
    }
    if (!asked)
        message_print(message, "--blas chooses libraries for kernel gemm, which is not "
                               "among the kernels");
    memcpy(selected, chosen, n * sizeof *chosen);
    *count = n;
    return asked;
}
