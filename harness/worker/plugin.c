/*
 * plugin: kernels from a shared object.
 *
 * Structs of attention.h begin with their size and only grow at their end; caps is the last member of
 * attn_kernel. So a plug-in built with an older header has shorter structs, one built with a newer header
 * longer ones.
 */
#include "plugin.h"

#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"
#include "problem/capabilities.h"
#include "problem/catalogue.h"
#include "system/aftermath.h"

/* Every kernel has the members before caps.max_dim, for which 0 means no limit. */
#define CAPS_LEAST offsetof(struct attn_caps, max_dim)
#define KERNEL_LEAST (offsetof(struct attn_kernel, caps) + CAPS_LEAST)
#define MOST ((size_t)65536) /* bytes of a struct; a larger size is garbage */

static bool sensible(size_t size, size_t least, const char *of, size_t number, struct message why)
{
    if (size >= least && size <= MOST)
        return true;
    return refuse(why, "kernel %zu says that its struct %s has %zu bytes; %zu to %zu make sense",
                  number, of, size, least, MOST);
}

/* Whether name, instruction set, data type of computation, bound factor and execute are valid. */
static bool complete(const struct attn_kernel *kernel, size_t number, struct message why)
{
    if (!kernel->name)
        message_print(why, "kernel %zu has no name", number);
    else if ((unsigned)kernel->isa >= ATTN_ISA_COUNT)
        message_print(why, "kernel %s is for instruction set %u; 0 to %d are known", kernel->name,
                      (unsigned)kernel->isa, ATTN_ISA_COUNT - 1);
    else if ((unsigned)kernel->caps.compute >= ATTN_DTYPE_COUNT)
        message_print(why, "kernel %s computes in data type %u; 0 to %d are known", kernel->name,
                      (unsigned)kernel->caps.compute, ATTN_DTYPE_COUNT - 1);
    else if (!(kernel->caps.bound_factor >= 0 && isfinite(kernel->caps.bound_factor)))
        message_print(why, "kernel %s has a bound_factor of %g", kernel->name,
                      kernel->caps.bound_factor);
    else if (!kernel->execute)
        message_print(why, "kernel %s/%s has no execute", kernel->name, attn_isa_name(kernel->isa));
    else
        return true;
    return false;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

bool plugin_copy(const struct attn_kernel *theirs, size_t number, struct attn_kernel *ours,
                 struct message why)
{
    const size_t before = offsetof(struct attn_kernel, caps);
    if (!theirs)
        return refuse(why, "kernel %zu is NULL", number);
    if (!sensible(theirs->size, KERNEL_LEAST, "attn_kernel", number, why) ||
        !sensible(theirs->caps.size, CAPS_LEAST, "attn_caps", number, why))
        return false;
    const size_t caps = smaller(theirs->caps.size, theirs->size - before);
    memset(ours, 0, sizeof *ours);
    memcpy(ours, theirs, before);
    memcpy(&ours->caps, &theirs->caps, smaller(caps, sizeof ours->caps));
    ours->size = sizeof *ours;
    ours->caps.size = sizeof ours->caps;
    return complete(ours, number, why);
}

/* ---- the shared object ----------------------------------------------------------------------- */

/* Loads a file; its path has a slash, so that dlopen() does not search for it. */
static void *load(const char *path, struct message why)
{
    char whole[PATH_MAX];
    worker_stage("loading the plug-in");
    aftermath_settle();
    void *object = dlopen(realpath(path, whole) ? whole : path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        message_print(why, "%s", dlerror());
    return object;
}

/* Loads a shared object and copies its kernels into structs of this program's size.  Returns how many; 0
 * fills why. Called once per process: the array is static. */
static size_t open_plugin(const char *path, const struct attn_kernel **kernels, struct message why)
{
    static struct attn_kernel copies[PLUGIN_KERNELS];
    attn_plugin_entry *entry;
    size_t count = 0;
    void *object = load(path, why);
    if (!object)
        return 0;
    void *symbol = dlsym(object, ATTN_PLUGIN_ENTRY);
    memcpy(&entry, &symbol,
           sizeof entry); /* ISO C has no cast from a data pointer to a function's */
    if (!symbol) {
        message_print(why, "it does not export " ATTN_PLUGIN_ENTRY
                           "() (which C++ declares extern \"C\")");
        return 0;
    }
    worker_stage("asking the plug-in for its kernels");
    const struct attn_kernel *const *theirs = entry(&count);
    aftermath_settle();
    if (!theirs || !count || count > PLUGIN_KERNELS) {
        message_print(why, ATTN_PLUGIN_ENTRY "() gives %zu kernels; 1 to %d make sense",
                      theirs ? count : 0, PLUGIN_KERNELS);
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        if (!plugin_copy(theirs[i], i, &copies[i], why))
            return 0;
    *kernels = copies;
    return count;
}

const struct attn_kernel *plugin_load(const struct protocol_request *r, struct message why)
{
    static const struct attn_kernel *variants[PLUGIN_KERNELS];
    const struct attn_kernel *kernels;
    const size_t count = open_plugin(r->plugin, &kernels, why);
    for (size_t i = 0; i < count; i++)
        variants[i] = &kernels[i];
    catalogue_add(NULL, variants, count); /* so that variants find their siblings */
    for (size_t i = 0; i < count; i++)
        if (kernels[i].isa == r->isa && strcmp(kernels[i].name, r->kernel) == 0)
            return &kernels[i];
    if (count)
        message_print(why, "the plug-in no longer has %s/%s", r->kernel, attn_isa_name(r->isa));
    return NULL;
}

/* ---- description ------------------------------------------------------------------------------ */

#define TEXT 200 /* bytes of a plug-in's text */

/* A plug-in's text as one printable line; "" if it is not UTF-8. */
static json_t *text_of(const char *text)
{
    char line[TEXT];
    snprintf(line, sizeof line, "%s", text ? text : "");
    for (char *c = line; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            *c = ' ';
    json_t *string = json_string(line);
    return string ? string : json_string("");
}

static json_t *kernel_json(const struct attn_kernel *kernel)
{
    struct attn_caps caps = kernel->caps;
    json_t *reason = text_of(caps.bound_reason);
    caps.bound_reason = caps.bound_reason ? json_string_value(reason) : NULL;
    json_t *object =
        json_pack("{s:o, s:s, s:o, s:o, s:n, s:o}", "name", text_of(kernel->name), "isa",
                  attn_isa_name(kernel->isa), "summary", text_of(kernel->summary), "source",
                  text_of(kernel->source), "library", "caps", capabilities_json(&caps));
    json_decref(reason);
    return object;
}

bool plugin_describe(const char *path, json_t *answer, struct message why)
{
    const struct attn_kernel *kernels;
    const size_t count = open_plugin(path, &kernels, why);
    json_t *list = json_array();
    if (!count &&
        strstr(why.text, "cannot dynamically load")) /* glibc's message for an executable */
        json_object_set_new(answer, "program", json_true());
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, kernel_json(&kernels[i]));
    json_object_set_new(answer, "kernels", list);
    return count;
}
