"""What tests of the rivals share: the other end of docs/protocol.md, and what is right."""

import fcntl
import json
import math
import mmap
import os
import select
import signal
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

WORKER = Path(__file__).parents[3] / "scripts" / "rivals" / "worker"
DEADLINE = 280  # seconds for an answer; a broken program must not hang the tests
FORMATS = {"f32": "F32", "bf16": "BF16", "f16": "F16", "i8": "I8", "i4": "U8", "f8e4m3": "F8_E4M3"}
STORED = {
    "F32": np.float32,
    "F16": np.float16,
    "BF16": np.uint16,
    "BOOL": np.bool_,
    "I8": np.int8,
    "U8": np.uint8,
    "F8_E4M3": np.uint8,
    "I32": np.int32,
}

Arrays = dict[str, np.ndarray]


def shape_of(**given: Any) -> dict[str, Any]:
    """A shape with the usual left out: one head of f32."""
    p = {"b": 1, "hq": 1, "hkv": 0, "sq": 4, "skv": 0, "d": 16, "dv": 0, "dtype": "f32", **given}
    return {
        "batch": p["b"],
        "q_heads": p["hq"],
        "kv_heads": p["hkv"] or p["hq"],
        "q_len": p["sq"],
        "kv_len": p["skv"] or p["sq"],
        "qk_dim": p["d"],
        "v_dim": p["dv"] or p["d"],
        "dtype": p["dtype"],
        "kv_dtype": p.get("kv_dtype", p["dtype"]),
        "mask": list(p.get("mask", ())),
        "options": list(p.get("options", ())),
        "outputs": list(p.get("outputs", ("o",))),
        "scale": p.get("scale", 1 / math.sqrt(p["d"])),
        "softcap": p.get("softcap", 0),
        "window_left": p.get("left", -1),
        "window_right": p.get("right", -1),
        "layout": p.get("layout", "bhsd"),
        "kv_group": 32 if p.get("kv_dtype") == "i4" else 0,
        "scales": p.get("scales"),  # of K and V, for which of their dimensions; not in the protocol
    }


def to_bits(numbers: np.ndarray) -> np.ndarray:
    """The bits of BF16, to nearest, ties to even."""
    bits = np.ascontiguousarray(numbers, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def to_floats(stored: np.ndarray) -> np.ndarray:
    """Numbers of any storage as float64."""
    if stored.dtype == np.uint16:
        stored = (stored.astype(np.uint32) << 16).view(np.float32)
    return stored.astype(np.float64)


class Tensors:
    """The memory file: sets of operands, normal numbers, and results full of NaN."""

    def __init__(self, shape: dict[str, Any], sets: int = 1) -> None:
        """Lays out the file and fills it."""
        self.shape, self.sets = shape, sets
        self.fd = os.memfd_create("tensors")
        self.views: Arrays = {}
        self.lay_out(shape, sets)
        self.fill(1)

    def wanted(self, s: dict[str, Any]) -> list[tuple[str, str, tuple[int, ...]]]:
        """Name, format and logical shape of each tensor of a set."""
        kind, rows = FORMATS[s["dtype"]], (s["batch"], s["q_heads"], s["q_len"])
        keys, cached = (s["batch"], s["kv_heads"], s["kv_len"]), FORMATS[s["kv_dtype"]]
        every = [
            ("q", kind, (*rows, s["qk_dim"])),
            ("k", cached, (*keys, s["qk_dim"] // (2 if cached == "U8" else 1))),
            ("v", cached, (*keys, s["v_dim"] // (2 if cached == "U8" else 1))),
        ]
        if "shared_kv" in s["options"]:
            every.pop()
        if s["scales"] is not None:
            of = {"b": s["batch"], "h": s["kv_heads"], "s": s["kv_len"], "d": s["qk_dim"]}
            k, v = (tuple(n if x in s["scales"] else 1 for x, n in of.items()) for _ in "kv")
            if s["kv_group"]:
                k = v = (*v[:3], s["qk_dim"] // s["kv_group"])
            every += [
                ("k_scale", "F32", k),
                ("v_scale", "F32", v if s["kv_group"] else (*v[:3], 1)),
            ]
        if "o" in s["outputs"]:
            every.append(("o", kind, (*rows, s["v_dim"])))
        if "bias" in s["mask"]:
            every.append(("bias", "F32", (1, s["q_heads"], s["q_len"], s["kv_len"])))
        if "bool" in s["mask"]:
            every.append(("mask", "BOOL", (s["batch"], 1, s["q_len"], s["kv_len"])))
        if "ragged" in s["options"]:
            every.append(("kv_lens", "I32", (s["batch"],)))
        if "tree" in s["mask"]:
            every.append(("parents", "I32", (s["batch"], s["q_len"])))
        if "lse" in s["outputs"]:
            every.append(("lse", "F32", rows))
        return every

    def lay_out(self, shape: dict[str, Any], sets: int) -> None:
        """Writes the header and maps the views; the same descriptor may be laid out again."""
        self.shape, self.sets, self.views = shape, sets, {}
        header: dict[str, Any] = {}
        at, swapped = 0, (0, 2, 1, 3)
        for n in range(sets):
            for name, kind, logical in self.wanted(shape):
                stored = logical
                if shape["layout"] == "bshd" and name in "qkvo":
                    stored = tuple(logical[i] for i in swapped)
                size = math.prod(logical) * np.dtype(STORED[kind]).itemsize
                header[f"{name}.{n}"] = {
                    "dtype": kind,
                    "shape": list(stored),
                    "data_offsets": [at, at + size],
                }
                at += size
                pad = -at % 64
                if pad:
                    header[f"pad.{name}{n}"] = {
                        "dtype": "U8",
                        "shape": [pad],
                        "data_offsets": [at, at + pad],
                    }
                    at += pad
        text = json.dumps(header).encode()
        text += b" " * (-(len(text) + 8) % 64)
        os.ftruncate(self.fd, 8 + len(text) + at)
        os.pwrite(self.fd, len(text).to_bytes(8, "little") + text, 0)
        data = mmap.mmap(self.fd, 8 + len(text) + at)
        for name, entry in header.items():
            if name.startswith("pad."):
                continue
            kind, stored = STORED[entry["dtype"]], entry["shape"]
            view = np.frombuffer(
                data, kind, math.prod(stored), 8 + len(text) + entry["data_offsets"][0]
            ).reshape(stored)
            bshd = shape["layout"] == "bshd" and name[1] == "." and name[0] in "qkvo"
            self.views[name] = view.transpose(swapped) if bshd else view

    def fill(self, seed: int) -> None:
        """New operands; NaN where results belong."""
        random = np.random.default_rng(seed)
        for name, view in self.views.items():
            numbers = random.standard_normal(view.shape)
            if name[:2] in ("o.", "ls"):
                numbers[:] = np.nan
            if view.dtype == np.bool_:
                view[...] = numbers > 0
                view[..., 0] = True  # no row without keys: not every library has a rule for it
            elif view.dtype == np.uint16:
                view[...] = to_bits(numbers)
            elif view.dtype in (np.int8, np.uint8):
                least = np.iinfo(view.dtype).min
                view[...] = random.integers(least, least + 256, view.shape)
                if self.shape["kv_dtype"] == "f8e4m3":
                    view[view & 127 == 127] = 0  # NaN
            elif name.startswith("kv_lens"):
                view[...] = random.integers(
                    self.shape["q_len"], self.shape["kv_len"] + 1, view.shape
                )
            elif name.startswith("parents"):  # -1 is the cache
                view[...] = [[random.integers(-1, i) for i in range(view.shape[1])] for _ in view]
            elif "_scale" in name:
                view[...] = (1 + np.abs(numbers)) / (8 if self.shape["kv_group"] else 512)
            else:
                view[...] = numbers

    def reference(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """O and LSE of a set, in float64, as attention.h defines them."""
        s = self.shape
        group = s["q_heads"] // s["kv_heads"]
        q, k = (to_floats(self.views[f"{x}.{n}"]) for x in "qk")
        shared = "shared_kv" in s["options"]
        v = k[..., : s["v_dim"]] if shared else to_floats(self.views[f"v.{n}"])
        if s["kv_dtype"] == "f8e4m3":
            k, v = (eighths(self.views[f"{x}.{n}"]) for x in "kv")
        if s["kv_group"]:
            k, v = halves(k), halves(v)
            of = [np.repeat(self.views[f"{x}_scale.{n}"], s["kv_group"], -1) for x in "kv"]
            k, v = k * of[0], v * of[1]
        elif s["scales"] is not None:
            k, v = k * self.views[f"k_scale.{n}"], v * self.views[f"v_scale.{n}"]
        scores = s["scale"] * (q @ np.repeat(k, group, 1).swapaxes(-1, -2))
        if s["softcap"]:
            scores = s["softcap"] * np.tanh(scores / s["softcap"])
        if "bias" in s["mask"]:
            scores = scores + to_floats(self.views[f"bias.{n}"])
        seen = visible(s)
        if "ragged" in s["options"]:
            of = [visible({**s, "kv_len": int(keys)}) for keys in self.views[f"kv_lens.{n}"]]
            behind = [((0, 0), (0, s["kv_len"] - x.shape[1])) for x in of]
            seen = np.stack([np.pad(*x) for x in zip(of, behind, strict=True)])[:, None]
        if "bool" in s["mask"]:
            seen = seen & self.views[f"mask.{n}"]
        if "tree" in s["mask"]:
            seen = seen & in_tree(s, self.views[f"parents.{n}"])
        scores = np.where(seen, scores, -np.inf)
        highest = np.maximum(scores.max(-1, keepdims=True), -1e300)
        weights = np.exp(scores - highest)
        total = weights.sum(-1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            o = np.where(total > 0, weights @ np.repeat(v, group, 1) / total, 0)
            lse = np.where(total > 0, highest + np.log(total), -np.inf)
        return o, lse[..., 0]


def visible(s: dict[str, Any]) -> np.ndarray:
    """(Sq, Skv): the positional mask, key by key."""
    shift = 0 if "causal_top_left" in s["mask"] else s["kv_len"] - s["q_len"]
    causal = {"causal", "causal_top_left"} & set(s["mask"])
    seen = np.empty((s["q_len"], s["kv_len"]), bool)
    for i in range(s["q_len"]):
        for j in range(s["kv_len"]):
            at = i + shift
            hidden = bool(causal) and j > at
            if "window" in s["options"]:
                hidden |= s["window_left"] >= 0 and j < at - s["window_left"]
                hidden |= s["window_right"] >= 0 and j > at + s["window_right"]
            seen[i, j] = not hidden
    return seen


def eighths(stored: np.ndarray) -> np.ndarray:
    """Numbers of OCP's e4m3: a sign, 4 bits of exponent (bias 7), 3 of mantissa; none is NaN."""
    exponent, mantissa = (stored >> 3 & 15).astype(int), (stored & 7) / 8
    size = np.where(exponent > 0, np.ldexp(1 + mantissa, exponent - 7), np.ldexp(mantissa, -6))
    return np.where(stored & 128, -size, size)


def halves(stored: np.ndarray) -> np.ndarray:
    """Numbers of 4 bits, from -8 to 7: of each byte its lower half first."""
    both = np.stack(np.divmod(stored, 16)[::-1], -1)
    return both.reshape(*stored.shape[:-1], -1) - 8


def in_tree(s: dict[str, Any], parents: np.ndarray) -> np.ndarray:
    """(B, 1, Sq, Skv): the cache, and what is met on the way from a draft to it."""
    first = s["kv_len"] - s["q_len"]
    seen = np.zeros((s["batch"], 1, s["q_len"], s["kv_len"]), bool)
    seen[..., :first] = True
    for b in range(s["batch"]):
        for i in range(s["q_len"]):
            at = i
            while at >= 0:
                seen[b, 0, i, first + at] = True
                at = parents[b, at]
    return seen


class Program:
    """The program on the other end of two pipes, with the tensors on descriptor 5."""

    def __init__(self, home: Path | None = None, tensors: Tensors | None = None) -> None:
        """Starts it; `home` is where environments are looked for instead of the user's.

        What it compiles is kept there, too: Inductor waits ten minutes for whoever else compiles
        the same code in the user's cache.
        """
        self.tensors = tensors
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        ends = [theirs_in, theirs_out, tensors.fd if tensors else theirs_in]
        # Out of the way of 3, 4 and 5 before they take those numbers.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 64) for fd in ends]
        actions = [(os.POSIX_SPAWN_DUP2, fd, 3 + n) for n, fd in enumerate(high)]
        environment = dict(os.environ)
        if home:
            environment["XDG_DATA_HOME"] = str(home)
            environment["XDG_CACHE_HOME"] = str(home / "cache")
        self.pid = os.posix_spawn(WORKER, [str(WORKER)], environment, file_actions=actions)
        for fd in (theirs_in, theirs_out, *high):
            os.close(fd)
        self.to, self.ours = ours_out, ours_in
        self.read = b""

    def say(self, line: bytes) -> dict[str, Any]:
        """Sends a line and waits for the answer."""
        os.write(self.to, line + b"\n")
        while b"\n" not in self.read:
            if not select.select([self.ours], [], [], DEADLINE)[0]:
                os.kill(self.pid, signal.SIGKILL)
                raise TimeoutError("no answer")
            more = os.read(self.ours, 1 << 16)
            if not more:
                raise EOFError("the program ended instead of answering")
            self.read += more
        answer, _, self.read = self.read.partition(b"\n")
        return json.loads(answer)

    def ask(self, action: str, **fields: Any) -> dict[str, Any]:
        """A request and its answer."""
        return self.say(json.dumps({"protocol": 1, "action": action, **fields}).encode())

    def prepare(self, kernel: str, threads: int = 1, cpus: list[int] | None = None) -> dict:
        """Asks for the tensors' problem on the first CPUs that there are."""
        assert self.tensors
        return self.ask(
            "prepare",
            kernel=kernel,
            shape=self.tensors.shape,
            threads=threads,
            cpus=sorted(os.sched_getaffinity(0))[:threads] if cpus is None else cpus,
            file=5,
            sets=self.tensors.sets,
        )

    def close(self) -> int:
        """Ends the conversation; the exit code."""
        os.close(self.to)
        os.close(self.ours)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def __enter__(self) -> "Program":
        """For `with`."""
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Ends it; it must end well if nothing else went wrong."""
        code = self.close()
        assert kind is not None or code == 0
