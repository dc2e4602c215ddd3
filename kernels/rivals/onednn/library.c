/*
 * library: finds oneDNN, and says what it needs in its environment.
 *
 * Builds of oneDNN differ in what runs their threads.  Only one on OpenMP runs inside the team that
 * the kernel's caller has bound to its cores, so others are refused: those on TBB or SYCL (the
 * wheels `onednn` of 2024 and later) start threads of their own.
 *
 * It writes its code for the best instructions that it finds; ONEDNN_MAX_CPU_ISA, read when it is
 * loaded, caps them to those of the variant.
 */
#include "library.h"

#include <string.h>

#include "rivals/loaded.h"

struct onednn attn_onednn;

static bool find_all(void *handle)
{
    bool found = true;
#define F(name) found = found && loaded_find(handle, "dnnl_" #name, &attn_onednn.name);
    ONEDNN_FUNCTIONS(F)
#undef F
    return found;
}

static bool load(const char **why)
{
    static const char *const files[] = {"libdnnl.so.3", NULL};
    static const struct loaded library = {"onednn", "ATTNBENCH_ONEDNN", files, LOADED_SHARED};
    static const char *missing;
    static bool tried;
    if (!tried) {
        void *handle = loaded_open(&library);
        if (!handle)
            missing = "oneDNN 3 is not installed: scripts/rivals/setup onednn, or name its "
                      "libdnnl.so.3 in ATTNBENCH_ONEDNN";
        else if (!find_all(handle))
            missing = "this oneDNN lacks functions of version 3.2: scripts/rivals/setup onednn";
        else if (attn_onednn.version()->cpu_runtime != DNNL_RUNTIME_OMP)
            missing = "this oneDNN is built without OpenMP, so its threads cannot be bound: "
                      "scripts/rivals/setup onednn";
        tried = true;
    }
    *why = missing;
    return !missing;
}

static const char *description(void)
{
    static char text[64];
    const dnnl_version_t *v = attn_onednn.version();
    const int numbers[] = {v->major, v->minor, v->patch};
    strcpy(text, "oneDNN");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        loaded_say(text, sizeof text, i ? "." : " ");
        loaded_say_number(text, sizeof text, (unsigned)numbers[i]);
    }
    return text;
}

static const struct attn_variable *environment(enum attn_isa isa, const char *choice, size_t *count)
{
    static const struct attn_variable caps[] = {
        [ATTN_ISA_BASELINE] = {"ONEDNN_MAX_CPU_ISA", "SSE41"},
        [ATTN_ISA_AVX2] = {"ONEDNN_MAX_CPU_ISA", "AVX2"},
        [ATTN_ISA_AVX512] = {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE"},
        [ATTN_ISA_AVX512_BF16] = {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"},
    };
    (void)choice;
    *count = isa <= ATTN_ISA_AVX512_BF16;
    return &caps[*count ? isa : 0];
}

const struct attn_library attn_onednn_library = {
    .size = sizeof(struct attn_library),
    .load = load,
    .description = description,
    .environment = environment,
};
