"""A look for each kernel: the same colour and mark in every figure."""

from collections import Counter
from collections.abc import Collection, Iterable
from zlib import crc32

from attntools.plot import shapes
from attntools.plot.style import COLOURS, Look
from attntools.results.cells import Results

# The place of a kernel is the number of its look; the first twelve have a colour each.  A new one
# goes to the end, so that old figures stay right.
KERNELS = (
    "flash", "split_kv", "gemm", "tiled", "online", "row_parallel", "naive", "torch", "onednn",
    "openvino", "onnxruntime_mha", "gemm_mkl", "jax", "ggml", "gemm_blis", "onednn_graph",
    "onnxruntime_gqa", "onnxruntime_attention", "torch_flex", "torch_math", "openvino_mask",
    "numpy", "ring", "definition", "vllm", "vllm_mla", "torch_sequences",
)  # fmt: skip
PLACES = {name: place for place, name in enumerate(KERNELS)}


SPARE = len(COLOURS) ** 2 - len(KERNELS)  # looks that no kernel of the table has


def _places(kernels: Iterable[str]) -> dict[str, int]:
    """The number of each kernel's look: by the table, or by its name and after those of others."""
    found: dict[str, int] = {}
    for kernel in dict.fromkeys(kernels):
        code = crc32(kernel.encode())
        spare = (len(KERNELS) + (code + step) % SPARE for step in range(SPARE))
        free = (place for place in spare if place not in found.values())
        found[kernel] = PLACES[kernel] if kernel in PLACES else next(free)
    return found


def looks(series: Collection[str]) -> dict[str, Look]:
    """A look for each of these kernels or variants (flash/avx2), in order.

    Variants of one kernel have its colour and mark; each after the first, in alphabetical order, is
    paler and has a dash of its own.
    """
    variants: dict[str, list[str]] = {}
    for name in dict.fromkeys(series):
        variants.setdefault(name.split("/")[0], []).append(name)
    places = _places(variants)
    return {
        name: Look(places[kernel]).paler(sorted(variants[kernel]).index(name))
        for name in dict.fromkeys(series)
        for kernel in [name.split("/")[0]]
    }


def by_wins(results: Results) -> dict[str, Look]:
    """A look for each label, whatever wins most first."""
    labels = shapes.names(results.timed)
    wins = Counter(
        labels[min(group, key=lambda c: c.median_s).identity.series]
        for group in shapes.groups(results.timed)
    )
    return looks(sorted({*labels.values()}, key=lambda name: (-wins[name], name)))
