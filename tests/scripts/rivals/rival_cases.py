"""What the rivals are asked in tests, and what each refuses."""

from typing import Any

# Largest difference from float64 on normal numbers: sums of f32 over some hundred terms; 16-bit
# weights and results have a relative rounding error of 2^-9 and 2^-12 each, of numbers up to 4.
TOLERANCE = {"f32": 5e-6, "bf16": 3e-2, "f16": 4e-3}

INT8 = {"b": 2, "hq": 4, "hkv": 2, "sq": 1, "skv": 40, "kv_dtype": "i8", "mask": ["causal"]}

RAGGED = {"b": 3, "hq": 4, "hkv": 2, "sq": 1, "skv": 40, "options": ["ragged"]}

LATENT = {"b": 4, "hq": 16, "hkv": 1, "sq": 1, "d": 576, "dv": 512, "options": ["shared_kv"]}

CASES: dict[str, dict[str, Any]] = {
    "one": {"sq": 1},
    "plain": {"b": 2, "hq": 3, "sq": 5, "skv": 7},
    "blocks": {"hq": 2, "sq": 200, "d": 64},
    "blocks causal": {"hq": 2, "sq": 300, "d": 64, "mask": ["causal"]},
    "causal": {"sq": 9, "mask": ["causal"]},
    "causal, sq < skv": {"hq": 2, "sq": 5, "skv": 13, "mask": ["causal"]},
    "causal, sq > skv": {"hq": 2, "sq": 11, "skv": 6, "mask": ["causal"]},
    "top left, sq < skv": {"hq": 2, "sq": 6, "skv": 11, "mask": ["causal_top_left"]},
    "top left, sq > skv": {"hq": 2, "sq": 11, "skv": 6, "mask": ["causal_top_left"]},
    "decode": {"b": 2, "hq": 4, "sq": 1, "skv": 33},
    "decode causal": {"b": 2, "hq": 4, "sq": 1, "skv": 33, "mask": ["causal"]},
    "gqa": {"b": 2, "hq": 6, "hkv": 2, "sq": 17},
    "gqa causal": {"b": 2, "hq": 6, "hkv": 2, "sq": 17, "mask": ["causal"]},
    "gqa causal, sq < skv": {"hq": 6, "hkv": 2, "sq": 4, "skv": 10, "mask": ["causal"]},
    "batched causal, sq < skv": {"b": 2, "hq": 4, "hkv": 2, "sq": 4, "skv": 10, "mask": ["causal"]},
    "gqa decode": {"b": 2, "hq": 8, "hkv": 2, "sq": 1, "skv": 40, "mask": ["causal"]},
    "mqa": {"hq": 4, "hkv": 1, "sq": 12, "skv": 20},
    "other dimension of v": {"hq": 2, "sq": 6, "d": 16, "dv": 24},
    "scale": {"hq": 2, "sq": 6, "scale": 0.7},
    "bshd": {"b": 2, "hq": 4, "hkv": 2, "sq": 6, "layout": "bshd"},
    "bshd causal": {"b": 2, "hq": 4, "hkv": 2, "sq": 6, "mask": ["causal"], "layout": "bshd"},
    "window": {"sq": 20, "mask": ["causal"], "options": ["window"], "left": 3},
    "window, two sides": {"sq": 20, "options": ["window"], "left": 3, "right": 2},
    "window, sq < skv": {
        "sq": 6,
        "skv": 20,
        "mask": ["causal"],
        "options": ["window"],
        "left": 4,
    },
    "window, sq > skv": {"sq": 20, "skv": 8, "options": ["window"], "left": 2, "right": 2},
    "negative scale": {"hq": 2, "sq": 6, "scale": -0.7},
    "negative scale causal": {"hq": 2, "sq": 40, "mask": ["causal"], "scale": -0.7},
    "softcap": {"hq": 2, "sq": 9, "mask": ["causal"], "options": ["softcap"], "softcap": 0.5},
    "bool": {"b": 2, "hq": 2, "sq": 5, "skv": 9, "mask": ["bool"]},
    "bias": {"b": 2, "hq": 2, "sq": 5, "skv": 9, "mask": ["bias"]},
    "bool causal": {"b": 2, "hq": 2, "sq": 9, "mask": ["bool", "causal"]},
    "bias causal": {"hq": 4, "hkv": 2, "sq": 5, "skv": 9, "mask": ["bias", "causal"]},
    "lse": {"hq": 4, "hkv": 2, "sq": 7, "mask": ["causal"], "outputs": ["o", "lse"]},
    "lse, sq < skv": {"hq": 2, "sq": 7, "skv": 12, "mask": ["causal"], "outputs": ["o", "lse"]},
    "lse alone": {"hq": 2, "sq": 7, "outputs": ["lse"]},
    "lse, sq > skv": {"sq": 12, "skv": 7, "mask": ["causal"], "outputs": ["o", "lse"]},
    "bf16": {"b": 2, "hq": 4, "hkv": 2, "sq": 33, "d": 32, "dtype": "bf16"},
    "bf16 causal": {"hq": 2, "sq": 40, "d": 64, "dtype": "bf16", "mask": ["causal"]},
    "bf16 causal, sq < skv": {"hq": 2, "sq": 7, "skv": 40, "dtype": "bf16", "mask": ["causal"]},
    "bf16 decode": {"hq": 4, "hkv": 2, "sq": 1, "skv": 40, "dtype": "bf16", "mask": ["causal"]},
    "bf16 bias": {"hq": 2, "sq": 7, "dtype": "bf16", "mask": ["bias"]},
    "f16": {"b": 2, "hq": 4, "hkv": 2, "sq": 33, "d": 32, "dtype": "f16"},
    "f16 causal": {"hq": 2, "sq": 40, "d": 64, "dtype": "f16", "mask": ["causal"]},
    "tree": {"b": 2, "hq": 4, "hkv": 2, "sq": 7, "skv": 20, "mask": ["tree"]},
    "tree, all drafts": {"hq": 2, "sq": 7, "mask": ["tree"]},
    "tree, bool": {"b": 2, "hq": 2, "sq": 7, "skv": 20, "mask": ["tree", "bool"]},
    "latent": {**LATENT, "skv": 32},
    "latent bf16, sq < skv": {**LATENT, "skv": 41, "dtype": "bf16", "mask": ["causal"]},
    "ragged": RAGGED,
    "ragged chunks": {**RAGGED, "sq": 5, "mask": ["causal"]},
    "e4m3, a scale": {**INT8, "kv_dtype": "f8e4m3", "d": 64, "scales": ""},
    "e4m3 bf16, a scale": {
        **INT8,
        "kv_dtype": "f8e4m3",
        "d": 64,
        "sq": 5,
        "dtype": "bf16",
        "scales": "",
    },
    "e4m3, scales of keys": {**INT8, "kv_dtype": "f8e4m3", "d": 64, "scales": "bhs"},
    "int8, a scale": {**INT8, "scales": ""},
    "int8, scales of heads": {**INT8, "sq": 5, "scales": "h"},
    "int8, scales of keys": {**INT8, "scales": "bhs"},
    "int8, scales as in a check": {**INT8, "scales": "bhsd"},
    "int4, scales of groups": {**INT8, "kv_dtype": "i4", "d": 64, "scales": ""},
    "int4, of heads": {**INT8, "kv_dtype": "i4", "d": 64, "sq": 5, "scales": "h"},
    "int4, of keys": {**INT8, "kv_dtype": "i4", "d": 64, "scales": "bhs"},
    "int4, a scale": {**INT8, "kv_dtype": "i4", "d": 32, "scales": ""},
    "int8, a scale, bshd": {**INT8, "sq": 5, "scales": "", "layout": "bshd"},
}

# Beyond what the capabilities say: what each refuses when it is asked.
REFUSED = {
    "torch": ["other dimension of v", "latent", "latent bf16, sq < skv"],
    "torch_math": [],
    "torch_sequences": [name for name, case in CASES.items() if "options" not in case],
    "torch_flex": ["other dimension of v"],
    "onnxruntime_mha": [],
    "onnxruntime_gqa": [
        "plain",
        "blocks",
        "ragged chunks",
        "batched causal, sq < skv",
        "causal, sq > skv",
        "top left, sq < skv",
        "top left, sq > skv",
        "gqa",
        "mqa",
        "other dimension of v",
        "scale",
        "negative scale",
        "bshd",
        "window, two sides",
        "window, sq > skv",
    ],
    "onnxruntime_attention": ["negative scale", "negative scale causal"],
    "openvino": [],
    "openvino_mask": [],
    "jax": ["other dimension of v"],
    "ggml": [],
    "numpy": [],
    "vllm_mla": ["one"],
    "vllm": [
        "other dimension of v",
        "window, two sides",
        "window, sq > skv",
    ],
}

# What each computes in a check and does not time.
UNTIMED = {
    "onnxruntime_gqa": ["int8, scales of keys", "int8, scales as in a check", "int4, of keys"],
    "vllm": ["e4m3, scales of keys"],
}

# The least dimension of a kernel that has not all.
WIDE = {"vllm": 32}

# What keeps a kernel busy that does not compute what the others are given.
BUSY = {
    "vllm_mla": {**LATENT, "skv": 4096},
    "torch_sequences": {"b": 4, "hq": 4, "sq": 1024, "d": 64, "options": ["ragged"]},
}

# FlexAttention is compiled for each problem, which takes half a minute on a busy machine.
FEW = {
    "vllm_mla": ("one", "latent", "latent bf16, sq < skv"),
    "torch_flex": (
        "plain",
        "blocks causal",
        "top left, sq > skv",
        "gqa causal, sq < skv",
        "window, sq < skv",
        "softcap",
        "bias",
        "lse",
        "bf16",
        "f16 causal",
    ),
}
