/*
 * suites: the built-in suites, as text.
 *
 * A case's name is its identity in results: it never changes its meaning.  Each family has one
 * macro that writes the line, name and problem from the same letters, so the two cannot disagree
 * and a case that two suites share is the same in both.
 *
 *     prefill-TYPE-sS-dD[-causal]          8 heads, one head from S = 8192
 *     gqa-TYPE-hHQxHKV-sS-dD[-causal]
 *     decode-TYPE-sSKV-gGROUP-dD           one query, 8 KV heads, GROUP query heads each
 *     short-TYPE-bB-hH-sS-dD[-causal]
 *     tiny-TYPE-sS-dD                      one head
 *     layer-TYPE-mD_MODEL-sS               the heads of 64 of a self-attention layer
 *     real-MODEL-LAYER                     tensors of a transformer, tests/data/README.md
 */
#include "cases.h"

#define PREFILL_DENSE(T, H, S, D) \
    "prefill-" T "-s" S "-d" D ": h=" H ",s=" S ",d=" D ",dtype=" T "\n"
#define PREFILL_CAUSAL(T, H, S, D) \
    "prefill-" T "-s" S "-d" D "-causal: h=" H ",s=" S ",d=" D ",dtype=" T ",mask=causal\n"
#define GQA_DENSE(T, HQ, HKV, S, D) \
    "gqa-" T "-h" HQ "x" HKV "-s" S "-d" D ": hq=" HQ ",hkv=" HKV ",s=" S ",d=" D ",dtype=" T "\n"
#define GQA_CAUSAL(T, HQ, HKV, S, D)                                                     \
    "gqa-" T "-h" HQ "x" HKV "-s" S "-d" D "-causal: hq=" HQ ",hkv=" HKV ",s=" S ",d=" D \
    ",dtype=" T ",mask=causal\n"
#define DECODE(T, SKV, GROUP, HQ, D)                                                             \
    "decode-" T "-s" SKV "-g" GROUP "-d" D ": hq=" HQ ",hkv=8,sq=1,skv=" SKV ",d=" D ",dtype=" T \
    "\n"
#define SHORT_DENSE(T, B, H, S, D) \
    "short-" T "-b" B "-h" H "-s" S "-d" D ": b=" B ",h=" H ",s=" S ",d=" D ",dtype=" T "\n"
#define SHORT_CAUSAL(T, B, H, S, D)                                                            \
    "short-" T "-b" B "-h" H "-s" S "-d" D "-causal: b=" B ",h=" H ",s=" S ",d=" D ",dtype=" T \
    ",mask=causal\n"
#define TINY(T, S, D) "tiny-" T "-s" S "-d" D ": h=1,s=" S ",d=" D ",dtype=" T "\n"

#define LAYER(T, D_MODEL, H, S) \
    "layer-" T "-m" D_MODEL "-s" S ": h=" H ",s=" S ",d=64,dtype=" T "\n"

/* Paths are relative to the data directory, cases_find_file(). */
#define REAL                                                                                \
    "real-minilm-layer0: h=4,s=256,d=32 input=file:minilm-gettysburg.safetensors:layer0.\n" \
    "real-minilm-layer1: h=2,s=68,d=32 input=file:minilm-preamble.safetensors:layer1.\n"

#define PREFILL_EACH(T, H, S)     \
    PREFILL_DENSE(T, H, S, "64")  \
    PREFILL_CAUSAL(T, H, S, "64") \
    PREFILL_DENSE(T, H, S, "128") \
    PREFILL_CAUSAL(T, H, S, "128")
#define PREFILL(T)                \
    PREFILL_EACH(T, "8", "512")   \
    PREFILL_EACH(T, "8", "1024")  \
    PREFILL_EACH(T, "8", "2048")  \
    PREFILL_EACH(T, "8", "4096")  \
    PREFILL_EACH(T, "1", "8192")  \
    PREFILL_EACH(T, "1", "16384") \
    PREFILL_EACH(T, "1", "32768")

#define GQA_EACH(T, HQ, HKV, S, D) \
    GQA_DENSE(T, HQ, HKV, S, D)    \
    GQA_CAUSAL(T, HQ, HKV, S, D)
#define GQA(T)                            \
    GQA_EACH(T, "32", "8", "1024", "128") \
    GQA_EACH(T, "64", "8", "512", "128")  \
    GQA_EACH(T, "32", "1", "1024", "128") \
    GQA_EACH(T, "16", "8", "2048", "64")

#define DECODE_EACH(T, SKV, D)   \
    DECODE(T, SKV, "1", "8", D)  \
    DECODE(T, SKV, "4", "32", D) \
    DECODE(T, SKV, "8", "64", D)
#define DECODE_LENGTHS(T, D)   \
    DECODE_EACH(T, "1024", D)  \
    DECODE_EACH(T, "4096", D)  \
    DECODE_EACH(T, "16384", D) \
    DECODE_EACH(T, "65536", D)
#define DECODES(T)          \
    DECODE_LENGTHS(T, "64") \
    DECODE_LENGTHS(T, "128")

/* BERT's shape and its neighbours: shorter, longer, a length that no tile divides, wider heads,
 * small batches. */
#define SHORT(T)                             \
    SHORT_DENSE(T, "32", "12", "128", "64")  \
    SHORT_CAUSAL(T, "32", "12", "128", "64") \
    SHORT_DENSE(T, "32", "12", "128", "128") \
    SHORT_DENSE(T, "32", "12", "64", "64")   \
    SHORT_DENSE(T, "32", "12", "100", "64")  \
    SHORT_DENSE(T, "32", "12", "256", "64")  \
    SHORT_DENSE(T, "8", "12", "128", "64")   \
    SHORT_DENSE(T, "1", "12", "128", "64")

#define TINY_LENGTHS(T, D) \
    TINY(T, "1", D)        \
    TINY(T, "2", D)        \
    TINY(T, "4", D)        \
    TINY(T, "8", D)        \
    TINY(T, "16", D)       \
    TINY(T, "32", D)       \
    TINY(T, "64", D)
#define TINIES(T)         \
    TINY_LENGTHS(T, "64") \
    TINY_LENGTHS(T, "128")

/* What the experiment `layer` times beside the projections. */
#define LAYER_LENGTHS(T, D_MODEL, H) \
    LAYER(T, D_MODEL, H, "64")       \
    LAYER(T, D_MODEL, H, "256")      \
    LAYER(T, D_MODEL, H, "1024")     \
    LAYER(T, D_MODEL, H, "4096")
#define LAYERS(T)                \
    LAYER_LENGTHS(T, "256", "4") \
    LAYER_LENGTHS(T, "512", "8") \
    LAYER_LENGTHS(T, "1024", "16")

/* Many queries, one query, latency: small, because each cell is checked before it is timed, and
 * six launches of every kernel must fit for an interval. */
#define QUICK                               \
    PREFILL_DENSE("f32", "8", "256", "64")  \
    DECODE("f32", "1024", "4", "32", "128") \
    TINY("f32", "64", "64")

/* Likewise within two minutes; few kernels compute bf16, so those cases cost little. */
#define DEFAULT                                \
    PREFILL_DENSE("f32", "8", "512", "64")     \
    PREFILL_DENSE("bf16", "8", "512", "64")    \
    GQA_CAUSAL("f32", "16", "8", "512", "64")  \
    DECODE("f32", "1024", "1", "8", "128")     \
    DECODE("f32", "4096", "4", "32", "128")    \
    DECODE("bf16", "4096", "4", "32", "128")   \
    SHORT_DENSE("f32", "8", "12", "128", "64") \
    TINY("f32", "64", "64")                    \
    REAL

const struct suite cases_builtin[] = {
    {"quick", "one of each kind, 20 s on two cores", QUICK},
    {"default", "prefill, causal, GQA, decode, short, tiny and a real transformer's, two minutes",
     DEFAULT},
    {"prefill", "S 512 to 32768, D 64 and 128, causal and not", PREFILL("f32") PREFILL("bf16")},
    {"gqa", "prefill with 2, 4, 8 and 32 query heads per KV head", GQA("f32") GQA("bf16")},
    {"decode", "one query against 1k to 64k keys, 1, 4 and 8 heads a group",
     DECODES("f32") DECODES("bf16")},
    {"short", "batches of short sequences: B32 H12 S128 D64 and neighbours",
     SHORT("f32") SHORT("bf16")},
    {"tiny", "one head, S 1 to 64: latency", TINIES("f32") TINIES("bf16")},
    {"layer", "attention in layers of d_model 256 to 1024; experiment layer adds the projections",
     LAYERS("f32")},
    {NULL, NULL, NULL},
};
