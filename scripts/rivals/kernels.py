"""The table of rivals: what `describe` answers, without loading any library.

docs/rivals.md says what each calls and why it is set up so.
"""

from pathlib import Path
from typing import Any

from rivals.venvs import LIBRARIES, Library, label

CAUSAL = ["causal", "causal_top_left"]
FLOATS = ["f32", "bf16", "f16"]
LEAKS = "nan_leaks"  # a weight of 0 times a NaN
EMPTY = [LEAKS, "empty_rows"]  # -inf less -inf, or a mask of large finite numbers
BIASES = ["alibi", "ragged"]  # as a bias that the worker makes: masks.py
INFINITE = [LEAKS, "infinite_scores"]  # -inf less -inf in Q K; or a mask of finite numbers
VANISHES = [LEAKS, "nan_vanishes"]  # a maximum that passes NaN over


TRUNCATES = "rounds results in bf16 towards zero on processors without AVX512_BF16"


def truncates() -> bool:
    """Whether vLLM has no instruction here that rounds to bf16."""
    try:
        return "avx512_bf16" not in Path("/proc/cpuinfo").read_text().split()
    except OSError:
        return True


def caps(dtypes: list[str], masks: list[str], **others: Any) -> dict[str, Any]:
    """Capabilities as docs/protocol.md names them; what most rivals share left out above."""
    return {
        "dtypes": dtypes,
        "kv_dtypes": [],
        "masks": masks,
        "options": [],
        "outputs": ["o"],
        "parallel": True,
        "varies": True,  # nobody promises equal bits for other thread counts
        "max_dim": 0,
        "compute": "f32",
        "bound_factor": 0,
        "bound_reason": None,
        "caveats": [LEAKS],
        **others,
    }


def kernel(
    library: str, name: str, summary: str, source: str, able: dict[str, Any]
) -> dict[str, Any]:
    """A line of the table."""
    return {"name": name, "summary": summary, "source": source, "caps": able, "library": library}


KERNELS = {
    entry["name"]: entry
    for entry in (
        kernel(
            "torch",
            "torch",
            "scaled_dot_product_attention, its CPU flash kernel",
            "PyTorch, aten/src/ATen/native/cpu/FlashAttentionKernel.cpp",
            caps(
                FLOATS,
                [*CAUSAL, "bool", "bias", "tree"],
                options=[*BIASES, "shared_kv"],
                outputs=["o", "lse"],
                compute="bf16",
                caveats=EMPTY,
            ),
        ),
        kernel(
            "torch",
            "torch_math",
            "scaled_dot_product_attention, its math backend: matmul, softmax, matmul",
            "PyTorch, aten/src/ATen/native/transformers/attention.cpp",
            caps(FLOATS, [*CAUSAL, "bool", "bias", "tree"], options=["alibi", "shared_kv"]),
        ),
        kernel(
            "torch",
            "torch_sequences",
            "scaled_dot_product_attention for each sequence, whose pages it gathers first",
            "SGLang, python/sglang/srt/layers/attention/torch_native_backend.py",
            caps(
                FLOATS,
                ["causal"],
                options=["window", "ragged", "packed", "paged"],
                compute="bf16",
                caveats=EMPTY,
            ),
        ),
        kernel(
            "torch",
            "torch_flex",
            "FlexAttention under torch.compile: C++ generated for the problem",
            "PyTorch, torch/nn/attention/flex_attention.py; Dong et al. 2024 (arXiv:2412.05496)",
            caps(
                FLOATS,
                CAUSAL,
                options=["window", "softcap"],
                compute="bf16",
                caveats=VANISHES,
            ),
        ),
        kernel(
            "onnxruntime",
            "onnxruntime_mha",
            "com.microsoft.MultiHeadAttention",
            "ONNX Runtime, onnxruntime/contrib_ops/cpu/bert/multihead_attention.cc",
            caps(
                ["f32"],
                [*CAUSAL, "bool", "bias"],
                options=[*BIASES],
                caveats=[*EMPTY, "infinite_scores"],
            ),
        ),
        kernel(
            "onnxruntime",
            "onnxruntime_gqa",
            "com.microsoft.GroupQueryAttention with its KV cache: causal only",
            "ONNX Runtime, onnxruntime/contrib_ops/cpu/bert/group_query_attention.cc",
            caps(
                ["f32"],
                CAUSAL,
                kv_dtypes=["i8", "i4"],
                options=["window", "softcap", "ragged"],
                caveats=VANISHES,
            ),
        ),
        kernel(
            "onnxruntime",
            "onnxruntime_attention",
            "Attention of the ONNX standard, opset 24",
            "ONNX Runtime, onnxruntime/core/providers/cpu/llm/attention.cc",
            caps(
                ["f32"], [*CAUSAL, "bool", "bias"], options=["softcap", *BIASES], caveats=INFINITE
            ),
        ),
        kernel(
            "openvino",
            "openvino",
            "ScaledDotProductAttention-13, causal by its flag",
            "OpenVINO, src/plugins/intel_cpu/src/nodes/scaled_attn.cpp, snippets",
            caps(["f32", "bf16"], CAUSAL, compute="bf16", caveats=EMPTY),
        ),
        kernel(
            "openvino",
            "openvino_mask",
            "ScaledDotProductAttention-13 with its mask as a tensor",
            "OpenVINO, src/plugins/intel_cpu/src/nodes/scaled_attn.cpp, snippets",
            caps(
                ["f32", "bf16"],
                [*CAUSAL, "bool", "bias"],
                options=[*BIASES],
                compute="bf16",
                caveats=EMPTY,
            ),
        ),
        kernel(
            "jax",
            "jax",
            "jax.nn.dot_product_attention, jitted",
            "JAX, jax/_src/nn/functions.py; XLA for CPUs",
            caps(
                ["f32", "bf16"],
                [*CAUSAL, "bool", "bias"],
                options=["window", *BIASES],
                compute="bf16",
                caveats=[*EMPTY, "infinite_scores", "subnormals"],
            ),
        ),
        kernel(
            "ggml",
            "ggml",
            "ggml_flash_attn_ext on its CPU backend",
            "ggml, src/ggml-cpu/ops.cpp",
            caps(
                ["f32", "bf16"],
                [*CAUSAL, "bool"],
                options=["window", "softcap"],
                compute="bf16",
                caveats=INFINITE,
            ),
        ),
        kernel(
            "numpy",
            "numpy",
            "the formula as people write it, with matmul and exp",
            "Vaswani et al. 2017 (arXiv:1706.03762), equation 1",
            caps(
                ["f32"],
                [*CAUSAL, "bool", "bias", "tree"],
                options=["window", "softcap", *BIASES, "sinks", "shared_kv"],
                caveats=EMPTY,
            ),
        ),
        kernel(
            "vllm",
            "vllm",
            "cpu_attention_with_kv_cache, the operator of its CPU backend, on blocks of a cache",
            "vLLM, csrc/cpu/cpu_attn_impl.hpp",
            caps(
                FLOATS,
                ["causal"],
                kv_dtypes=["f8e4m3"],
                options=["window", "alibi", "ragged", "packed", "paged"],
                compute="bf16",
                bound_factor=3 if truncates() else 0,
                bound_reason=TRUNCATES if truncates() else None,
                caveats=EMPTY,
            ),
        ),
        kernel(
            "vllm",
            "vllm_mla",
            "mla_decode_kvcache, its operator for decoding with latent attention (MLA)",
            "vLLM, csrc/cpu/mla_decode.cpp",
            caps(
                FLOATS,
                ["causal"],
                options=["shared_kv", "ragged"],
                compute="bf16",
                bound_factor=3 if truncates() else 0,
                bound_reason=TRUNCATES if truncates() else None,
                caveats=EMPTY,
            ),
        ),
    )
}


def library_of(name: str) -> Library:
    """The library of a kernel."""
    return LIBRARIES[KERNELS[name]["library"]]


def describe() -> list[dict[str, Any]]:
    """The answer to a describe request."""
    of = {name: library_of(name) for name in KERNELS}
    return [
        {**entry, "library": label(of[name]), "start_s": of[name].start_s}
        for name, entry in KERNELS.items()
    ]
