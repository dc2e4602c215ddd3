"""What eval refuses: one message that names the tensor, exit 3, and nothing is written."""

import os
import pathlib
from typing import Any

from command import TypedTensor, read_safetensors, run, safetensors
from definition import INF, normal
from eval_test import EvalTest

Tensors = dict[str, TypedTensor]


def dense(**more: Any) -> Tensors:
    """Operands: q of (2, 2, 3, 4), k and v of (2, 2, 6, 4), and others."""
    found = {"q": normal([2, 2, 3, 4], 1).tensor()}
    found |= {name: normal([2, 2, 6, 4], 2).tensor() for name in "kv"}
    return {name: t for name, t in (found | more).items() if t is not None}


def paged(**more: Any) -> Tensors:
    """The same with keys in 5 pages of 2."""
    pages = {name: normal([5, 2, 2, 4], 3).tensor() for name in "kv"}
    return dense(**(pages | {"block_table": ([2, 3], [0, 1, 2, 3, 4, 0], "I32")} | more))


def packed(**more: Any) -> Tensors:
    """Two sequences of 2 and 3 queries and of 4 and 2 keys."""
    found = {"q": normal([2, 5, 4], 4).tensor()}
    found |= {name: normal([2, 6, 4], 5).tensor() for name in "kv"}
    found |= {"cu_seqlens": ([3], [0, 2, 5], "I32"), "cu_seqlens_kv": ([3], [0, 4, 6], "I32")}
    return {name: t for name, t in (found | more).items() if t is not None}


def int8(**more: Any) -> Tensors:
    """Keys and values of int8 with their scales."""
    codes = ([2, 2, 6, 4], [n % 255 - 127 for n in range(96)], "I8")
    scale = ([2, 2, 6, 1], [0.01] * 24, "F32")
    return dense(**({"k": codes, "v": codes, "k_scale": scale, "v_scale": scale} | more))


def bools(shape: list[int], **changed: int) -> TypedTensor:
    """A mask of ones, with one other byte."""
    count = 1
    for n in shape:
        count *= n
    values = [1] * count
    for at, value in changed.items():
        values[int(at[1:])] = value
    return shape, values, "U8"


ROWS = [0.0] * 96
# Name: the file, --problem, what the message says behind the path.
REFUSED: dict[str, tuple[Tensors, str, str]] = {
    # ---- there or not
    "no slopes": (dense(), "alibi=1", "no tensor slopes, which alibi=1 needs"),
    "no sinks": (dense(), "sinks=1", "no tensor sinks, which sinks=1 needs"),
    "no bias": (dense(), "mask=bias", "no tensor bias, which mask=bias needs"),
    "no mask": (dense(), "mask=bool", "no tensor mask of bool, which mask=bool needs"),
    "no mask but a float one": (
        dense(mask=([3, 6], [0.0] * 18, "F32")), "mask=bool",
        "no tensor mask of bool, which mask=bool needs",
    ),
    "no parents": (dense(), "mask=tree", "no tensor parents, which mask=tree needs"),
    "parents of one dimension": (
        dense(parents=([3], [-1, 0, 0], "I32")), "",
        "parents is i32 (3), the problem needs i32 (2,3)",
    ),
    "a parent behind its child": (
        dense(parents=([2, 3], [-1, 0, 0, -1, 1, 0], "I64")), "",
        "parents[1, 1] is 1, neither -1 nor a draft before it",
    ),
    "no lists": (dense(), "keys=index:2", "no tensor indices, which keys=index:COUNT needs"),
    "lists of two dimensions": (
        dense(indices=([2, 3], [-1, 0, 0, -1, 1, 0], "I32")), "",
        "indices is i32 (2,3), not (B, Hkv, lists, COUNT)",
    ),
    "a list of several queries": (
        dense(indices=([2, 1, 2, 1], [-1, 0, 0, 1], "I32")), "",
        "indices is i32 (2,1,2,1): a list of several queries needs keys=index:COUNT:QUERIES",
    ),
    "a key twice": (
        dense(indices=([2, 2, 3, 2], [-1, 0, 0, -1, 1, 0] * 3 + [0, 1, -1, 1, 1, 1], "I64")), "",
        "indices[1, 1, 2, 1] is 1, as entry 0 of this list is",
    ),
    "no lengths": (dense(), "ragged=1", "no tensor kv_lens, which ragged=1 needs"),
    "no offsets": (dense(), "packed=1", "no tensor cu_seqlens, which packed=1 needs"),
    "no offsets of keys": (packed(cu_seqlens_kv=None), "", "no tensor cu_seqlens_kv, which packed"),
    "offsets of keys in a cache": (
        dense(cu_seqlens_kv=([3], [0, 4, 6], "I32")), "", "cu_seqlens_kv is i32 (3), but there is",
    ),
    "no table": (dense(), "page=2", "no tensor block_table, which page=N needs"),
    "no scale of k": (int8(k_scale=None), "", "no tensor k_scale, which k and v of i8 need"),
    "no scale of v": (int8(v_scale=None), "", "no tensor v_scale, which k and v of i8 need"),
    "a scale of floats": (
        dense(k_scale=([1, 1, 1, 1], [1.0], "F32")), "",
        "k_scale is f32 (1,1,1,1), but k and v are not i8, f8e4m3, f8e5m2 or i4",
    ),
    "no u8": (dense(), "kv_dtype=i4", "k is f32 (2,2,6,4), not u8, which has two elements of i4"),
    "one zero point for many scales": (
        {
            "q": ([1, 1, 1, 4], [1.0] * 4, "F32"), "k": ([1, 1, 2, 2], [1] * 4, "U8"),
            "v": ([1, 1, 2, 2], [1] * 4, "U8"), "k_scale": ([1, 1, 2], [1.0, 1.0], "F32"),
            "v_scale": ([1, 1, 1, 1], [1.0], "F32"), "k_zero": ([1], [8.0], "F32"),
            "v_zero": ([1], [8.0], "F32"),
        },
        "kv_dtype=i4", "k_zero is f32 (1), the problem needs f32 (1,1,2,1)",
    ),
    "a zero point of floats": (
        dense(k_zero=([1, 1, 1, 1], [8.0], "F32")), "",
        "k_zero is f32 (1,1,1,1), but k and v are not i4",
    ),
    "no v": (dense(v=None), "", "no tensor v"),
    "v beside shared_kv": (dense(), "shared_kv=1", "v is f32 (2,2,6,4), but with shared_kv=1"),
    "two masks that are added": (
        dense(mask=([3, 6], [0.0] * 18, "F32"), bias=([3, 6], [0.0] * 18, "F32")), "",
        "mask is f32 (3,6) and would be added, as the tensor bias is",
    ),
    # ---- types
    "k of another type": (
        dense(k=normal([2, 2, 6, 4], 1, "F16").tensor()), "",
        "k is f16 (2,2,6,4), of another type than q",
    ),
    "v of another type": (
        dense(v=normal([2, 2, 6, 4], 1, "BF16").tensor()), "",
        "v is bf16 (2,2,6,4), of another type than k",
    ),
    "v alone of int8": (
        dense(v=([2, 2, 6, 4], [1] * 96, "I8")), "", "v is i8 (2,2,6,4), of another type than k",
    ),
    "q of integers": (
        dense(q=([2, 2, 3, 4], [1] * 48, "I32")), "", "q is i32 (2,2,3,4), not real numbers",
    ),
    "a mask of integers": (
        dense(mask=([3, 6], [1] * 18, "I32")), "", "mask is i32 (3,6), a mask is bool, u8 or real",
    ),
    "a bias of bool": (
        dense(bias=([3, 6], [1] * 18, "BOOL")), "", "bias is bool (3,6), the problem needs f32",
    ),
    "lengths of floats": (
        dense(kv_lens=([2], [3, 4], "F32")), "", "kv_lens is f32 (2), the problem needs i32 (2)",
    ),
    "offsets of floats": (
        packed(cu_seqlens=([3], [0, 2, 5], "F32")), "", "cu_seqlens is f32 (3), not i32 or i64",
    ),
    # ---- shapes
    "a mask of too few keys": (
        dense(mask=bools([3, 4])), "",
        "mask is u8 (3,4), its last dimension must be the 6 keys",
    ),
    "a mask of one key": (
        dense(mask=bools([3, 1])), "", "mask is u8 (3,1), its last dimension must be the 6 keys",
    ),
    "a mask of too many queries": (
        dense(mask=bools([4, 6])), "",
        "mask is u8 (4,6), the problem needs bool (2,2,3,6) or what broadcasts to it",
    ),
    "a mask of other heads": (
        dense(mask=bools([3, 3, 6])), "", "mask is u8 (3,3,6), the problem needs bool (2,2,3,6)",
    ),
    "a mask of five dimensions": (
        dense(mask=bools([1, 1, 1, 3, 6])), "", "mask is u8 (1,1,1,3,6), the problem needs bool",
    ),
    "a bias of other sequences": (
        dense(bias=([3, 1, 1, 6], [0.0] * 18, "F32")), "",
        "bias is f32 (3,1,1,6), the problem needs f32 (2,2,3,6)",
    ),
    "three dimensions without heads": (
        dense(q=([2, 3, 8], [0.0] * 48, "F32")), "",
        "q is f32 (2,3,8): (B, S, H * D) needs hq and hkv in --problem",
    ),
    "heads that do not divide": (
        dense(q=([2, 3, 8], [0.0] * 48, "F32")), "hq=3,hkv=1",
        "q is f32 (2,3,8), whose last dimension its heads do not divide",
    ),
    "q of two dimensions": (dense(q=([12, 4], [0.0] * 48, "F32")), "", "q is f32 (12,4), not (B,"),
    "k of another dimension": (
        dense(k=([2, 2, 4, 6], ROWS, "F32")), "",
        "k is f32 (2,2,4,6), the problem needs f32 (2,2,4,4)",
    ),
    "k of other sequences": (
        dense(k=([1, 4, 6, 4], ROWS, "F32"), q=normal([2, 4, 3, 4], 1).tensor()), "",
        "k is f32 (1,4,6,4), the problem needs f32 (2,4,6,4)",
    ),
    "heads that are no multiple": (
        dense(q=normal([2, 3, 3, 4], 1).tensor()), "", "q_heads is not a multiple of kv_heads",
    ),
    "sinks of other heads": (
        dense(sinks=([3], [0.0] * 3, "F32")), "", "sinks is f32 (3), the problem needs f32 (2)",
    ),
    "slopes of two dimensions": (
        dense(slopes=([2, 1], [0.0] * 2, "F32")), "", "slopes is f32 (2,1), the problem needs",
    ),
    "lengths of other sequences": (
        dense(kv_lens=([3], [1, 2, 3], "I32")), "", "kv_lens is i32 (3), the problem needs i32 (2)",
    ),
    "pages of three dimensions": (
        paged(k=([5, 4, 4], [0.0] * 80, "F32")), "", "k is f32 (5,4,4), not (pages, Hkv, page_size",
    ),
    "v in fewer pages": (
        paged(v=([4, 2, 2, 4], [0.0] * 64, "F32")), "", "v is f32 (4,2,2,4), the problem needs f32",
    ),
    "a table of one dimension": (
        paged(block_table=([6], [0] * 6, "I32")), "", "block_table is i32 (6), not (B, pages of",
    ),
    "a table of other sequences": (
        paged(block_table=([3, 2], [0] * 6, "I32")), "", "block_table is i32 (3,2), the problem",
    ),
    "a scale of half the keys": (
        int8(k_scale=([2, 2, 3, 1], [0.1] * 12, "F32")), "", "k_scale is f32 (2,2,3,1), the",
    ),
    "a scale of each element": (
        int8(k_scale=([2, 2, 6, 4], [0.1] * 96, "F32")), "", "k_scale has stride[2] 4 and stride",
    ),
    # ---- elements
    "a mask of 2": (
        dense(mask=bools([2, 1, 3, 6], n8=2)), "", "mask element 8 is 2, neither 0 nor 1",
    ),
    "a length beyond the cache": (
        dense(kv_lens=([2], [6, 7], "I64")), "", "kv_lens[1] is 7, there is room for 6 keys",
    ),
    "a length below 0": (dense(kv_lens=([2], [-1, 6], "I32")), "", "kv_lens[0] is -1, below 0"),
    "a length that no int32 holds": (
        dense(kv_lens=([2], [6, 2**32 + 1], "I64")), "",
        "kv_lens element 1 is 4294967297, which no i32 holds",
    ),
    "a page that is not there": (
        paged(block_table=([2, 3], [0, 1, 2, 3, 5, 0], "I32")), "",
        "block_table[1, 1] is 5, there are 5 pages",
    ),
    "a page below 0": (
        paged(block_table=([2, 3], [0, 1, -1, 3, 4, 0], "I64")), "", "block_table[0, 2] is -1, ",
    ),
    "a length beyond the pages": (
        paged(kv_lens=([2], [6, 7], "I32")), "", "kv_lens[1] is 7, there is room for 6 keys",
    ),
    "offsets that fall": (
        packed(cu_seqlens=([4], [0, 3, 2, 5], "I32"), cu_seqlens_kv=([4], [0, 2, 4, 6], "I32")), "",
        "cu_seqlens[2] is 2, below the 3 before it",
    ),
    "offsets of keys that fall": (
        packed(cu_seqlens_kv=([3], [0, 7, 6], "I32")), "", "cu_seqlens_kv[",
    ),
    "offsets that do not begin at 0": (
        packed(cu_seqlens=([3], [1, 2, 5], "I32")), "", "cu_seqlens[0] is 1, not 0",
    ),
    "offsets that end too early": (
        packed(cu_seqlens=([3], [0, 2, 4], "I32")), "", "cu_seqlens[2] is 4, there are 5 rows",
    ),
    "offsets that end too late": (
        packed(cu_seqlens_kv=([3], [0, 4, 7], "I64")), "", "cu_seqlens_kv[2] is 7, there are 6",
    ),
    "sequences longer than said": (
        packed(), "sq=2", "cu_seqlens[2] is 5, 3 more than before, a sequence has 2 at most",
    ),
}  # fmt: skip


class Refused(EvalTest):
    def test_one_message_and_nothing_is_written(self) -> None:
        """Neither a file where there is none, nor over one that is there."""
        for name, (tensors, problem, message) in REFUSED.items():
            with self.subTest(name):
                safetensors(self.file, tensors)
                self.refused(self.words("naive", problem), 3, f"{self.file}: {message}")
                self.assertEqual(os.listdir(self.directory), ["in.safetensors"])
                old = pathlib.Path(self.result)
                old.write_text("old")
                self.refused(self.words("naive", problem), 3, message)
                self.assertEqual(old.read_text(), "old")
                old.unlink()

    def test_other_dimensions_say_what_to_store(self) -> None:
        for shape, message in (
            ([3, 4], "q is f32 (3,4), not (B, H, S, D); of one head, store x[None, None]"),
            ([2, 3, 4], "(B, S, H * D) needs hq and hkv in --problem; (H, S, D) is x[None]"),
        ):
            safetensors(self.file, {n: normal(shape, 1).tensor() for n in "qkv"})
            self.refused(self.words("naive", ""), 3, message)

    def test_what_the_text_says_otherwise(self) -> None:
        """Sizes and options of the file that --problem contradicts are a usage error."""
        sinks = ([2], [0.0, 0.0], "F32")
        lists = ([2, 2, 3, 1], [-1, 0] * 6, "I32")
        for tensors, problem, message in (
            (dense(), "sq=4", "--problem sq=4, but sq=3 in "),
            (dense(sinks=sinks), "sinks=0", "--problem sinks=0, but sinks=1 in "),
            (dense(indices=lists), "keys=index:2", "--problem keys=index:2, but keys=index:1 in "),
            (paged(), "page=4", "--problem page=4, but page=2 in "),
            (dense(), "kv_dtype=i8", "--problem kv_dtype=i8, but k is not i8 in "),
            (dense(), "dtype=f64,kv_dtype=i8", "--problem kv_dtype=i8, but k is not i8 in "),
        ):
            safetensors(self.file, tensors)
            self.refused(self.words("naive", problem), 2, message + self.file)
            self.assertFalse(os.path.exists(self.result))

    def test_what_may_not_have_been_meant_is_said(self) -> None:
        """Computed all the same: double in single, zeros and ones that are added."""
        ones = ([3, 6], [float(n % 2) for n in range(18)], "F32")
        f64 = {n: (t[0], t[1], "F64") for n, t in dense().items()}
        by = "naive, row_parallel, tiled, online"
        for tensors, problem, said in (
            (dense(), "", ""),
            (dense(mask=ones), "", "mask has zeros and ones alone and is added to the scores; for "
             "a boolean mask, 1 = attend, store bool"),
            (dense(mask=(ones[0], [0.0] * 18, "F32")), "", ""),
            (dense(bias=ones), "", ""),
            (f64, "", "q is f64 and is computed in f32; with --problem dtype=f64 in double, by "
             f"{by}"),
            (f64, "dtype=f32", ""),
            (f64, "dtype=f64", ""),
        ):  # fmt: skip
            safetensors(self.file, tensors)
            done = run(*self.words("naive", problem))
            told = f"attnbench: {said}\n" if said else ""
            self.assertEqual((done.returncode, done.stderr), (0, told))
        done = self.ran(*self.words("flash", "dtype=f64"), code=2)
        self.assertTrue(done.stderr.endswith(f"kernels that compute in f64: {by}\n"), done.stderr)

    def test_the_input_is_not_written_over(self) -> None:
        safetensors(self.file, dense())
        before = pathlib.Path(self.file).read_bytes()
        link = self.directory / "link"
        link.symlink_to(self.file)
        for result in (self.file, str(link), f"{self.directory}/./in.safetensors"):
            self.result = result
            self.refused(self.words("naive", ""), 2, f"--output {result} is the input")
            self.assertEqual(pathlib.Path(self.file).read_bytes(), before)

    def test_infinities_are_no_mistake(self) -> None:
        """A bias of -inf hides, a sink of -inf is none, also where nothing is left."""
        safetensors(self.file, dense(bias=([6], [-INF] * 6, "F32"), sinks=([2], [-INF] * 2, "F32")))
        done = run(*self.words("naive", ""))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(set(read_safetensors(self.result)["o"][1]), {0.0})
