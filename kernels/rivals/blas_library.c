/*
 * blas_library: BLIS and MKL, loaded at run time for gemm_blis and gemm_mkl.
 *
 * What their makers advise for calls from a program's own threads: one thread a call (BLIS's manual,
 * docs/Multithreading.md; MKL's developer guide, "Techniques to Set the Number of Threads": its
 * sequential layer, which starts none).  BLIS picks its code by the processor, as OpenBLAS does, and
 * takes what it does not know for something older, so other code is tried beside its own choice;
 * BLIS_ARCH_TYPE takes the numbers of enum arch_t of blis.h, the same in 0.8 to 2.0.  MKL takes the
 * best that its dispatcher allows on a processor; MKL_ENABLE_INSTRUCTIONS only caps it, in variants that are
 * less than the host has (loaded_is_less).
 */
#define _GNU_SOURCE
#include "blas_library.h"

#include <string.h>

#include "blas.h"
#include "loaded.h"

#define OWN_CHOICE "its own choice"

/* ---- BLIS ------------------------------------------------------------------------------------ */

static struct {
    void (*set_num_threads)(ptrdiff_t n);
    const char *(*version)(void);
    int (*arch_query_id)(void);
    const char *(*arch_string)(int id);
} blis;

static void blis_one_thread(void)
{
    blis.set_num_threads(1);
}

static bool blis_load(const char **why)
{
    static const char *const files[] = {"libblis.so.4", "libblis.so.5", NULL};
    static const struct loaded library = {"blis", "ATTNBENCH_BLIS", files, LOADED_OWN};
    static void *handle;
    if (!handle && (handle = loaded_open(&library)))
        if (!loaded_find(handle, "cblas_sgemm", &attn_cblas_blis.sgemm) ||
            !loaded_find(handle, "bli_thread_set_num_threads", &blis.set_num_threads) ||
            !loaded_find(handle, "bli_info_get_version_str", &blis.version) ||
            !loaded_find(handle, "bli_arch_query_id", &blis.arch_query_id) ||
            !loaded_find(handle, "bli_arch_string", &blis.arch_string))
            attn_cblas_blis.sgemm = NULL;
    *why = "BLIS is not installed: apt-get install libblis4-openmp, or name its libblis.so.4 in "
           "ATTNBENCH_BLIS";
    return attn_cblas_blis.sgemm;
}

static const char *blis_description(void)
{
    static char text[96];
    const char *const parts[] = {"BLIS ", blis.version(), " ",
                                 blis.arch_string(blis.arch_query_id())};
    *text = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        loaded_say(text, sizeof text, parts[i]);
    return text;
}

static const struct {
    const char *name;
    struct attn_variable variables[2];
    size_t count;
} blis_environments[] = {
    {OWN_CHOICE, {{"BLIS_NUM_THREADS", "1"}}, 1}, /* first: also for a name that is none */
    {"skx", {{"BLIS_NUM_THREADS", "1"}, {"BLIS_ARCH_TYPE", "0"}}, 2},
    {"haswell", {{"BLIS_NUM_THREADS", "1"}, {"BLIS_ARCH_TYPE", "3"}}, 2},
};

static size_t blis_choices(const struct attn_problem *problem, enum attn_isa isa,
                           const char *choices[ATTN_LIBRARY_CHOICES])
{
    (void)problem;
    if (isa <= ATTN_ISA_AVX2) {
        choices[0] = "haswell";
        return 1;
    }
    choices[0] = OWN_CHOICE;
    choices[1] = "skx";
    choices[2] = "haswell";
    return 3;
}

static const struct attn_variable *blis_environment(enum attn_isa isa, const char *choice,
                                                    size_t *count)
{
    size_t at = sizeof blis_environments / sizeof *blis_environments - 1;
    (void)isa;
    while (at > 0 && (!choice || strcmp(blis_environments[at].name, choice) != 0))
        at--;
    *count = blis_environments[at].count;
    return blis_environments[at].variables;
}

struct cblas attn_cblas_blis = {
    .library.size = sizeof(struct attn_library),
    .library.load = blis_load,
    .library.description = blis_description,
    .library.choices = blis_choices,
    .library.environment = blis_environment,
    .library.chooser = "BLIS_ARCH_TYPE",
    .one_thread = blis_one_thread,
    .reads_on = true, /* 0.9.0's code for small products on haswell, where k is no multiple of 8 */
};

/* ---- MKL ------------------------------------------------------------------------------------- */

#define MKL_SEQUENTIAL 1 /* mkl_service.h: MKL_THREADING_SEQUENTIAL */

#define MKL_SEQUENTIALLY                    \
    {                                       \
        "MKL_THREADING_LAYER", "SEQUENTIAL" \
    }

/* MKLVersion of mkl_types.h. */
struct mkl_version {
    int major, minor, update;
    const char *status, *build;
    const char *processor; /* whose instructions its code uses */
    const char *platform;
};

static struct {
    int (*set_threading_layer)(int layer);
    void (*get_version_string)(char *text, int size);
    void (*get_version)(struct mkl_version *version);
} mkl;

/* The sequential layer has no threads. */
static void mkl_one_thread(void)
{
}

static bool mkl_load(const char **why)
{
    static const char *const files[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", NULL};
    static const struct loaded library = {"mkl", "ATTNBENCH_MKL", files, LOADED_OWN};
    static void *handle;
    if (!handle && (handle = loaded_open(&library))) {
        loaded_find(handle, "cblas_gemm_bf16bf16f32", &attn_cblas_mkl.bf16);
        if (!loaded_find(handle, "cblas_sgemm", &attn_cblas_mkl.sgemm) ||
            !loaded_find(handle, "MKL_Set_Threading_Layer", &mkl.set_threading_layer) ||
            !loaded_find(handle, "MKL_Get_Version_String", &mkl.get_version_string) ||
            !loaded_find(handle, "MKL_Get_Version", &mkl.get_version))
            attn_cblas_mkl.sgemm = NULL;
        else
            mkl.set_threading_layer(MKL_SEQUENTIAL);
    }
    *why = "MKL is not installed: scripts/rivals/setup mkl, or name its libmkl_rt.so in "
           "ATTNBENCH_MKL";
    return attn_cblas_mkl.sgemm;
}

/* "Intel(R) oneAPI Math Kernel Library 2026.2, Intel(R) Advanced Vector Extensions 2 ..." */
static const char *mkl_description(void)
{
    static char text[384];
    struct mkl_version version;
    mkl.get_version_string(text, (int)sizeof text);
    text[strcspn(text, "-\n")] = 0;
    mkl.get_version(&version);
    loaded_say(text, sizeof text, ", ");
    loaded_say(text, sizeof text, version.processor);
    return text;
}

static const struct attn_variable *mkl_environment(enum attn_isa isa, const char *choice,
                                                   size_t *count)
{
    static const struct attn_variable capped[][2] = {
        [ATTN_ISA_BASELINE] = {MKL_SEQUENTIALLY, {"MKL_ENABLE_INSTRUCTIONS", "SSE4_2"}},
        [ATTN_ISA_AVX2] = {MKL_SEQUENTIALLY, {"MKL_ENABLE_INSTRUCTIONS", "AVX2"}},
        [ATTN_ISA_AVX512_BF16] = {MKL_SEQUENTIALLY, {"MKL_ENABLE_INSTRUCTIONS", "AVX512_E3"}},
    };
    const bool less = loaded_is_less(isa);
    (void)choice;
    *count = less ? 2 : 1;
    return capped[less ? isa : 0];
}

struct cblas attn_cblas_mkl = {
    .library.size = sizeof(struct attn_library),
    .library.load = mkl_load,
    .library.description = mkl_description,
    .library.environment = mkl_environment,
    .one_thread = mkl_one_thread,
};
