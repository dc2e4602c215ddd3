/*
 * guest_kernels: from "kernels" of an answer to proxies.
 *
 *     [{"name":"mine", "isa":"avx512", "summary":TEXT, "source":TEXT, "caps":{...}}, ...]
 */
#include "guest_kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/refuse.h"
#include "isa.h"
#include "problem/capabilities.h"

#define NAME_MOST 63 /* what a cell has room for */
#define KERNELS_MOST 64

static bool is_name(const char *name)
{
    const size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return *name >= 'a' && *name <= 'z' && !name[length] && length <= NAME_MOST;
}

static bool is_group(const char *name)
{
    for (const struct catalogue_group *group = catalogue_groups; group->name; group++)
        if (strcmp(group->name, name) == 0)
            return true;
    return false;
}

/* Whether the name can stand in rows and on command lines, and is free. */
static bool name_is_right(const char *name, char *why, size_t size)
{
    if (!name || !is_name(name))
        return refuse(
            why, size,
            "a kernel's name is lower case letters, digits and _, at most %d of them, not '%s'",
            NAME_MOST, name ? name : "");
    if (is_group(name))
        return refuse(why, size, "kernel %s has the name of a group", name);
    const struct attn_kernel *other = catalogue_named(name);
    const struct guest *guest = other ? catalogue_guest(other) : NULL;
    if (other)
        snprintf(why, size, "there is a kernel %s already, %s%s", name, guest ? "of " : "",
                 guest ? guest->path : "in this program");
    return !other;
}

/* A program need not say which instruction set it uses: the one that this host prefers. */
static bool parse_isa(const json_t *value, enum attn_isa *isa)
{
    if (!value)
        *isa = attn_isa_preferred();
    return !value || (json_is_string(value) && attn_isa_parse(json_string_value(value), isa));
}

static bool parse_kernel(const json_t *object, struct attn_kernel *kernel, char *why, size_t size)
{
    const char *name = json_string_value(json_object_get(object, "name"));
    const json_t *isa = json_object_get(object, "isa");
    char key[64];
    if (!name_is_right(name, why, size))
        return false;
    *kernel = (struct attn_kernel){.size = sizeof *kernel,
                                   .name = name,
                                   .summary = text_at(object, "summary"),
                                   .source = text_at(object, "source")};
    if (!parse_isa(isa, &kernel->isa)) {
        const char *text = json_string_value(isa);
        return refuse(why, size, "kernel %s: no instruction set '%s'", name, text ? text : "");
    }
    if (!capabilities_parse(json_object_get(object, "caps"), &kernel->caps, key, sizeof key))
        return refuse(why, size, "kernel %s: its capabilities have a wrong %s", name, key);
    return true;
}

/* Whether the file has each variant once. */
static bool each_once(const struct attn_kernel *kernels, size_t count, char *why, size_t size)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (kernels[i].isa == kernels[k].isa && strcmp(kernels[i].name, kernels[k].name) == 0)
                return refuse(why, size, "it has two kernels %s/%s", kernels[i].name,
                              attn_isa_name(kernels[i].isa));
    return true;
}

bool guest_kernels_add(const struct guest *guest, json_t *list, char *why, size_t why_size)
{
    static json_t *kept; /* the proxies' texts are those of the answers */
    const size_t count = json_array_size(list);
    struct attn_kernel *kernels = calloc(count + 1, sizeof *kernels);
    const struct attn_kernel **pointers = calloc(count + 1, sizeof *pointers);
    bool right = kernels && pointers && count && count <= KERNELS_MOST;
    if (!right)
        snprintf(why, why_size, "it names %zu kernels; 1 to %d make sense", count, KERNELS_MOST);
    for (size_t i = 0; right && i < count; i++) {
        right = parse_kernel(json_array_get(list, i), &kernels[i], why, why_size);
        pointers[i] = &kernels[i];
    }
    if (right && each_once(kernels, count, why, why_size)) {
        kept = kept ? kept : json_array();
        if (json_array_append(kept, list) == 0) {
            catalogue_add_guest(guest, pointers, count);
            return true;
        }
        snprintf(why, why_size, "not enough memory to keep what it says");
    }
    free(kernels);
    free(pointers);
    return false;
}
