"""Writes ONNX's own node tests of Attention as files for `attnbench eval`.

    PYTHON onnx_cases.py FOLDER

PYTHON is one that has onnx.  For each test FOLDER gets NAME.safetensors, NAME.answers.safetensors
and an entry of index.json: its name, --problem and outputs.
"""

import json
import pathlib
import struct
import sys
import warnings
from typing import Any

import numpy as np
import onnx
from onnx.backend.test.case.node import collect_testcases

NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "bool": "BOOL",
}


def write(path: pathlib.Path, tensors: dict[str, Any]) -> None:
    """A safetensors file of NumPy arrays."""
    header, data = {}, b""
    for name, array in tensors.items():
        begin = len(data)
        data += np.ascontiguousarray(array).tobytes()
        header[name] = {
            "dtype": NAMES[str(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [begin, len(data)],
        }
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def with_past(new: Any, past: Any) -> Any:
    """New keys or values behind those of the cache, in the shape of the new ones."""
    if past is None:
        return new
    if new.ndim == 4:
        return np.concatenate((past, new), axis=2)
    flat = past.transpose(0, 2, 1, 3).reshape(past.shape[0], past.shape[2], -1)
    return np.concatenate((flat, new), axis=1)


def reaching(mask: Any, keys: int) -> Any:
    """A mask for all keys: those that it does not name are hidden."""
    widths = [(0, 0)] * (mask.ndim - 1) + [(0, keys - mask.shape[-1])]
    return np.pad(mask, widths, constant_values=False if mask.dtype == bool else -np.inf)


def positional(sq: int, keys: int, offset: int, attributes: dict[str, Any]) -> Any:
    """Which keys is_causal and the window leave, counted from the end of the past."""
    apart = np.arange(keys)[None, :] - np.arange(sq)[:, None] - offset
    seen = np.ones((sq, keys), bool)
    left, right = attributes.get("left_window_size", -1), attributes.get("right_window_size", -1)
    if attributes.get("is_causal"):
        seen &= apart <= 0
    if left >= 0:
        seen &= apart >= -left
    if right >= 0:
        seen &= apart <= right
    return seen


def words(
    sq: int, keys: int, given: dict[str, Any], attributes: dict[str, Any]
) -> list[str] | None:
    """Positions in the words of a problem; None where it has none for them.

    They count from the last key here, or with causal_top_left from the first.
    """
    offset = given["past_key"].shape[2] if "past_key" in given else 0
    found = []
    top_left = "nonpad_kv_seqlen" not in given and offset != keys - sq
    if attributes.get("is_causal"):
        found.append("mask=causal_top_left" if top_left else "mask=causal")
    window = [attributes.get(f"{side}_window_size", -1) for side in ("left", "right")]
    if max(window) >= 0:
        found.append("window={}:{}".format(*window))
    return None if top_left and found and (offset or not attributes.get("is_causal")) else found


def convert(case: Any) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Operands, answers and the entry of a test."""
    node = case.model.graph.node[0]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    inputs, outputs = case.data_sets[0]
    given = dict(zip((name for name in node.input if name), inputs, strict=True))
    results = dict(zip((name for name in node.output if name), outputs, strict=True))
    operands = {
        "q": given["Q"],
        "k": with_past(given["K"], given.get("past_key")),
        "v": with_past(given["V"], given.get("past_value")),
    }
    sq, keys = (operands[name].shape[-2] for name in "qk")
    if "attn_mask" in given:
        operands["mask"] = reaching(given["attn_mask"], keys)
    if "nonpad_kv_seqlen" in given:
        operands["kv_lens"] = given["nonpad_kv_seqlen"]
    text = words(sq, keys, given, attributes)
    if text is None:
        offset = given["past_key"].shape[2] if "past_key" in given else 0
        seen = positional(sq, keys, offset, attributes)
        mask = operands.get("mask")
        if mask is not None and mask.dtype != bool:
            operands["bias"] = mask
            mask = None
        operands["mask"] = seen if mask is None else mask & seen
        text = []
    for key, own in (("scale", "scale"), ("softcap", "softcap"), ("q_num_heads", "hq"),
                     ("kv_num_heads", "hkv")):  # fmt: skip
        if key in attributes:
            text.append(f"{own}={attributes[key]!r}")
    answers = {"o": results["Y"]}
    if attributes.get("qk_matmul_output_mode") == 3:
        answers["weights"] = results["qk_matmul_output"]
    entry = {"name": case.name, "problem": ",".join(text), "outputs": "+".join(answers)}
    return operands, answers, entry


def main() -> None:
    """Writes them all."""
    folder = pathlib.Path(sys.argv[1])
    index = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = [c for c in collect_testcases("Attention") if "expanded" not in c.name]
    for case in cases:
        operands, answers, entry = convert(case)
        write(folder / f"{case.name}.safetensors", operands)
        write(folder / f"{case.name}.answers.safetensors", answers)
        index.append(entry)
    (folder / "index.json").write_text(json.dumps(index))


if __name__ == "__main__":
    main()
