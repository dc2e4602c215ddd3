/*
 * library: finds oneDNN, and says what it needs in its environment.
 *
 * Builds of oneDNN differ in what runs their threads.  Only one on OpenMP runs inside the team that
 * the kernel's caller has bound to its cores, so others are refused: those on TBB or SYCL (the
 * wheels `onednn` of 2024 and later) start threads of their own.
 * Debian 13 calls its library libdnnl.so.3.6, also that of later versions.
 *
 * It writes its code for the best instructions that it finds, AMX among them, and asks the kernel for its
 * tiles itself.  ONEDNN_MAX_CPU_ISA, read when it is loaded, keeps it to those of a variant that is
 * less than the host has (loaded_is_less).
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
    static const char *const files[] = {"libdnnl.so.3", "libdnnl.so.3.6", NULL};
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

/* What it writes its code for, under the names that ONEDNN_MAX_CPU_ISA takes; the best it has of them
 * first. */
static const char *instructions(void)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } sets[] = {
        {dnnl_cpu_isa_avx512_core_amx_fp16, "AVX512_CORE_AMX_FP16"},
        {dnnl_cpu_isa_avx512_core_amx, "AVX512_CORE_AMX"},
        {dnnl_cpu_isa_avx512_core_fp16, "AVX512_CORE_FP16"},
        {dnnl_cpu_isa_avx512_core_bf16, "AVX512_CORE_BF16"},
        {dnnl_cpu_isa_avx512_core_vnni, "AVX512_CORE_VNNI"},
        {dnnl_cpu_isa_avx512_core, "AVX512_CORE"},
        {dnnl_cpu_isa_avx2_vnni_2, "AVX2_VNNI_2"},
        {dnnl_cpu_isa_avx2_vnni, "AVX2_VNNI"},
        {dnnl_cpu_isa_avx2, "AVX2"},
    };
    const unsigned has = attn_onednn.get_effective_cpu_isa();
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        if ((has & sets[i].isa) == (unsigned)sets[i].isa)
            return sets[i].name;
    return "SSE41";
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
    loaded_say(text, sizeof text, " ");
    loaded_say(text, sizeof text, instructions());
    return text;
}

static const struct attn_variable *environment(enum attn_isa isa, const char *choice, size_t *count)
{
    static const struct attn_variable caps[] = {
        [ATTN_ISA_BASELINE] = {"ONEDNN_MAX_CPU_ISA", "SSE41"},
        [ATTN_ISA_AVX2] = {"ONEDNN_MAX_CPU_ISA", "AVX2"},
        [ATTN_ISA_AVX512_BF16] = {"ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16"},
    };
    (void)choice;
    *count = loaded_is_less(isa);
    return &caps[*count ? isa : 0];
}

const struct attn_library attn_onednn_library = {
    .size = sizeof(struct attn_library),
    .load = load,
    .description = description,
    .environment = environment,
};
