/*
 * describe: which kernels a plug-in has, as data for the parent, which never loads it; of a kernel of
 * this program, whether the library that it calls can be loaded.
 */
#include <stdio.h>
#include <string.h>

#include "plugin.h"
#include "problem/capabilities.h"
#include "problem/catalogue.h"
#include "ranks.h"
#include "ring.h"
#include "rival.h"

#define TEXT 200 /* bytes of a text that a plug-in gives */

/* A text for one line of a terminal; what is not UTF-8 is left out as a whole. */
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

static bool describe_object(const char *path, json_t *answer, char *why, size_t why_size)
{
    const struct attn_kernel *kernels;
    const size_t count = plugin_open(path, &kernels, why, why_size);
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, kernel_json(&kernels[i]));
    json_object_set_new(answer, "kernels", list);
    return count;
}

static bool load_library(const struct protocol_request *r, char *why, size_t why_size)
{
    const struct attn_kernel *kernel = catalogue_find(r->kernel, r->isa);
    const char *missing = "there is no such kernel";
    if (kernel && ring_is(kernel))
        return ranks_available(why, why_size);
    if (kernel && attn_load(kernel, &missing))
        return true;
    snprintf(why, why_size, "%s", missing);
    return false;
}

void worker_describe(struct worker *worker)
{
    const struct protocol_request *r = &worker->request;
    char why[640] = "";
    enum cell_state state = CELL_UNAVAILABLE;
    const bool described =
        r->program    ? rival_describe(r->plugin, worker->answer, &state, why, sizeof why)
        : !*r->plugin ? load_library(r, why, sizeof why)
                      : describe_object(r->plugin, worker->answer, why, sizeof why);
    if (!described)
        worker_end(worker, state, "%s", why);
}
