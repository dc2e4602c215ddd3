/*
 * matrix: which variant has which feature, by whether it accepts the simplest problem that needs the feature.
 * Problems have 64 queries but where few are the feature: a variant may leave these to others.
 */
#include <stdio.h>

#include "commands.h"

#include <assert.h>
#include <string.h>

#include "base/message.h"
#include "base/table.h"
#include "problem/catalogue.h"
#include "problem/parse.h"

#define NAMES 256
#define LABEL 21 /* bytes of a feature's column */
#define TEXT 128

static const struct {
    const char *name;
    /* Of the problem, beside sizes and a data type that the kernel has.  NULL: the feature is results that do
     * not vary, `check --invariant`. */
    const char *keys;
    enum attn_dtype dtype; /* ATTN_DTYPE_COUNT: any */
} features[] = {
    {"dtype=f32", "h=2", ATTN_F32},
    {"dtype=bf16", "h=2", ATTN_BF16},
    {"dtype=f16", "h=2", ATTN_F16},
    {"dtype=f64", "h=2", ATTN_F64},
    {"kv_dtype=i8", "h=2,kv_dtype=i8", ATTN_DTYPE_COUNT},
    {"kv_dtype=f8e4m3", "h=2,kv_dtype=f8e4m3", ATTN_DTYPE_COUNT},
    {"kv_dtype=f8e5m2", "h=2,kv_dtype=f8e5m2", ATTN_DTYPE_COUNT},
    {"kv_dtype=i4", "h=2,kv_dtype=i4", ATTN_DTYPE_COUNT},
    {"kv_zeros", "h=2,kv_dtype=i4,kv_zeros=1", ATTN_DTYPE_COUNT},
    {"hq > hkv", "hq=4,hkv=2", ATTN_DTYPE_COUNT},
    {"1 row", "h=2,sq=1", ATTN_DTYPE_COUNT}, /* of a KV head */
    {"d=576,dv=512", "h=2,d=576,dv=512", ATTN_DTYPE_COUNT},
    {"d > 576", "h=2,d=577", ATTN_DTYPE_COUNT},
    {"mask=causal", "h=2,mask=causal", ATTN_DTYPE_COUNT},
    {"mask=causal_top_left", "h=2,mask=causal_top_left", ATTN_DTYPE_COUNT},
    {"mask=bool", "h=2,mask=bool", ATTN_DTYPE_COUNT},
    {"mask=bias", "h=2,mask=bias", ATTN_DTYPE_COUNT},
    {"mask=tree", "h=2,mask=tree", ATTN_DTYPE_COUNT},
    {"window", "h=2,window=8:8", ATTN_DTYPE_COUNT},
    {"softcap", "h=2,softcap=30", ATTN_DTYPE_COUNT},
    {"alibi", "h=2,alibi=1", ATTN_DTYPE_COUNT},
    {"sinks", "h=2,sinks=1", ATTN_DTYPE_COUNT},
    {"ragged", "b=2,h=2,ragged=1", ATTN_DTYPE_COUNT},
    {"packed", "b=2,h=2,packed=1", ATTN_DTYPE_COUNT},
    {"page", "b=2,h=2,page=16", ATTN_DTYPE_COUNT},
    {"shared_kv", "h=2,shared_kv=1", ATTN_DTYPE_COUNT},
    {"keys=index", "h=2,keys=index:8:64", ATTN_DTYPE_COUNT}, /* one list for all queries */
    {"keys=index for 1 row", "h=2,keys=index:8", ATTN_DTYPE_COUNT},
    {"outputs=o+lse", "h=2,outputs=o+lse", ATTN_DTYPE_COUNT},
    {"outputs=o+weights", "h=2,outputs=o+weights", ATTN_DTYPE_COUNT},
    {"outputs=o+scores", "h=2,outputs=o+scores", ATTN_DTYPE_COUNT},
    {"batch invariant", NULL, ATTN_DTYPE_COUNT},
};
#define FEATURES (sizeof features / sizeof *features)

/* The first data type that the kernel takes. */
static enum attn_dtype any_dtype(const struct attn_kernel *kernel)
{
    static const enum attn_dtype all[] = {ATTN_F32, ATTN_BF16, ATTN_F16};
    for (size_t n = 0; n < 2; n++)
        if (kernel->caps.dtypes & 1u << all[n])
            return all[n];
    return all[2];
}

/* Why a variant lacks a feature; NULL where it has it. */
static const char *lack_of(const struct attn_kernel *kernel, size_t feature)
{
    const enum attn_dtype fixed = features[feature].dtype;
    const enum attn_dtype dtype = fixed < ATTN_DTYPE_COUNT ? fixed : any_dtype(kernel);
    const char *keys = features[feature].keys;
    char text[TEXT];
    struct attn_problem problem;
    struct parse_error error;
    const char *why = NULL;
    if (!keys)
        return kernel->caps.varies ? "results may differ between thread counts, calls or batches"
                                   : NULL;
    snprintf(text, sizeof text, "%s=64,dtype=%s,%s", strstr(keys, "sq=") ? "skv" : "s",
             attn_dtype_name(dtype), keys);
    const bool parsed = parse_problem(text, &problem, &error);
    assert(parsed);
    (void)parsed;
    return attn_supports(kernel, &problem, &why) ? NULL : why;
}

json_t *matrix_json(const struct attn_kernel *kernel)
{
    json_t *has = json_array(), *lacks = json_object();
    for (size_t n = 0; n < FEATURES; n++) {
        const char *why = lack_of(kernel, n);
        if (why)
            json_object_set_new(lacks, features[n].name, json_string(why));
        else
            json_array_append_new(has, json_string(features[n].name));
    }
    return json_pack("{s:o, s:o}", "features", has, "lacks", lacks);
}

/* ---- text ---------------------------------------------------------------------------------- */

/* How many variants of a kernel have a feature, and how many there are. */
struct count {
    size_t have, all;
};

static struct count count_variants(const char *name, size_t feature)
{
    struct count count = {0, 0};
    for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
        const struct attn_kernel *kernel = catalogue_find(name, (enum attn_isa)isa);
        count.all += kernel != NULL;
        count.have += kernel && !lack_of(kernel, feature);
    }
    return count;
}

/* How many kernels fit beside the column of features. */
static size_t fitting(const char *const *names, size_t count, size_t width)
{
    size_t used = LABEL, n = 0;
    for (; n < count && used + 1 + strlen(names[n]) <= width; n++)
        used += 1 + strlen(names[n]);
    return n ? n : 1;
}

static void print_table(FILE *out, const char *const *names, size_t count)
{
    fprintf(out, "%-*s", LABEL, "");
    for (size_t n = 0; n < count; n++)
        fprintf(out, " %s", names[n]);
    for (size_t f = 0; f < FEATURES; f++) {
        fprintf(out, "\n%-*s", LABEL, features[f].name);
        for (size_t n = 0; n < count; n++) {
            const struct count variants = count_variants(names[n], f);
            fprintf(out, " %*s", (int)strlen(names[n]),
                    variants.have == variants.all ? "yes"
                    : variants.have               ? "some"
                                                  : "-");
        }
    }
    fprintf(out, "\n\n");
}

/* The reason that a variant itself gives for refusing a problem that its capabilities include; NULL where it
 * gives none. */
static const char *own_reason(const struct attn_kernel *kernel, size_t feature)
{
    struct attn_kernel silent = *kernel;
    silent.supports = NULL;
    return lack_of(&silent, feature) ? NULL : lack_of(kernel, feature);
}

/* These reasons, by variant; once for the kernel where no variant has the feature. */
static void print_reasons(FILE *out, const char *name, size_t width)
{
    char line[512];
    for (size_t f = 0; f < FEATURES; f++) {
        const bool some = count_variants(name, f).have;
        bool printed = false;
        for (int isa = 0; isa < ATTN_ISA_COUNT && (some || !printed); isa++) {
            const struct attn_kernel *kernel = catalogue_find(name, (enum attn_isa)isa);
            const char *why = kernel ? own_reason(kernel, f) : NULL;
            if (!why)
                continue;
            snprintf(line, sizeof line, "%s%s%s, %s: %s", name, some ? "/" : "",
                     some ? attn_isa_name(kernel->isa) : "", features[f].name, why);
            table_wrap(out, line, width, 2);
            printed = true;
        }
    }
}

/* What a variant lacks that another variant of its kernel has; types of Q are in the table alone. */
static void print_lacks(FILE *out, const struct attn_kernel *kernel, size_t width)
{
    char line[512];
    bool any = false;
    snprintf(line, sizeof line, "%s/%s: not", kernel->name, attn_isa_name(kernel->isa));
    for (size_t f = 0; f < FEATURES; f++)
        if (features[f].dtype == ATTN_DTYPE_COUNT && lack_of(kernel, f) &&
            count_variants(kernel->name, f).have) {
            message_add(line, sizeof line, "%s %s", any ? "," : "", features[f].name);
            any = true;
        }
    if (any)
        table_wrap(out, line, width, 2);
}

void matrix_print(FILE *out, size_t width)
{
    const char *names[NAMES];
    const size_t count = catalogue_names(names, NAMES);
    for (size_t at = 0, n; at < count; at += n) {
        n = fitting(names + at, count - at, width);
        print_table(out, names + at, n);
    }
    fprintf(out, "some: not for every instruction set\n");
    for (size_t n = 0; n < count; n++) {
        for (int isa = 0; isa < ATTN_ISA_COUNT; isa++) {
            const struct attn_kernel *kernel = catalogue_find(names[n], (enum attn_isa)isa);
            if (kernel)
                print_lacks(out, kernel, width);
        }
        print_reasons(out, names[n], width);
    }
}
