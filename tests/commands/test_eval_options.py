"""Every option of eval, against the definition of ONNX's Attention in float64."""

import math

from command import (
    DATA,
    SANITIZED,
    TypedTensor,
    float_of_8_bits,
    read_typed,
    run,
    safetensors,
)
from definition import INF, Array, Attention, attention, build, normal
from eval_cases import CASES, boolean, case, floating
from eval_test import PLAINEST, TOLERANCE, EvalTest

NAN = float("nan")


class Operator(EvalTest):
    def test_cases(self) -> None:
        """As ONNX's own tests have them, on every kernel that takes them."""
        for name, c in CASES.items():
            with self.subTest(case=name):
                took = self.judge(c.tensors(), c.problem(), c.answers())
                self.assertIn(PLAINEST[c.inputs.q.dtype], took)


def together(parts: list[Array]) -> Array:
    """(1, H, S, ...) of several sequences behind each other, as (H, rows, ...)."""
    heads, *rest = parts[0].shape[1:]
    width = rest[1] if len(rest) > 1 else 1
    values = []
    for h in range(heads):
        for part in parts:
            block = part.shape[2] * width
            values += part.values[h * block : (h + 1) * block]
    return Array([heads, sum(p.shape[2] for p in parts), *rest[1:]], values, parts[0].dtype)


def offsets(lengths: list[int], dtype: str = "I32") -> TypedTensor:
    """0 and the sums of lengths."""
    return [len(lengths) + 1], [sum(lengths[:n]) for n in range(len(lengths) + 1)], dtype


def widened(rows: Array, skv: int, behind: float) -> Array:
    """Rows of a shorter sequence's keys, with a number for the keys behind."""
    b, h, sq, own = rows.shape
    return build([b, h, sq, skv], lambda n, m, i, j: rows.at(n, m, i, j) if j < own else behind)


class Packed(EvalTest):
    """Sequences behind each other are what each of them is by itself."""

    Q, KV = [2, 0, 5, 1], [4, 3, 5, 7]

    def sequences(self, **attributes: object) -> list[Attention]:
        """One for each, of two heads."""
        return [
            Attention(
                normal([1, 2, sq, 8], 10 * n), normal([1, 2, skv, 8], 10 * n + 1),
                normal([1, 2, skv, 6], 10 * n + 2), past=skv - sq, **attributes,
            )
            for n, (sq, skv) in enumerate(zip(self.Q, self.KV, strict=True))
        ]  # fmt: skip

    def answers(self, sequences: list[Attention], skv: int) -> dict[str, Array]:
        """Theirs, behind each other."""
        each = [attention(a) for a in sequences]
        for found in each:
            found["weights"] = widened(found["weights"], skv, 0.0)
            found["scores"] = widened(found["scores"], skv, -INF)
        return {name: together([found[name] for found in each]) for name in each[0]}

    def packed(self, sequences: list[Attention], dtype: str = "I32") -> dict[str, TypedTensor]:
        """The file."""
        operands = {
            name: together([getattr(a, name) for a in sequences]).tensor() for name in "qkv"
        }
        operands["cu_seqlens"] = offsets(self.Q, dtype)
        operands["cu_seqlens_kv"] = offsets(self.KV, dtype)
        return operands

    def test_three_and_four_dimensions(self) -> None:
        """A first dimension of 1 in q is one in the results."""
        sequences = self.sequences(is_causal=True)
        answers = self.answers(sequences, max(self.KV))
        for dtype in ("I32", "I64"):
            operands = self.packed(sequences, dtype)
            self.assertIn("naive", self.judge(operands, "mask=causal", answers))
        for name in "qkv":
            shape, *rest = operands[name]
            operands[name] = ([1, *shape], *rest)
        answers = {name: Array([1, *a.shape], a.values) for name, a in answers.items()}
        self.assertIn("naive", self.judge(operands, "mask=causal", answers))

    def test_longer_bounds(self) -> None:
        """The text may have an sq and an skv above the longest sequence."""
        sequences = self.sequences()
        took = self.judge(self.packed(sequences), "sq=9,skv=11", self.answers(sequences, 11))
        self.assertIn("naive", took)

    def test_masks_count_in_their_sequence(self) -> None:
        mask, bias = boolean([1, 5, 7], 90), floating([2, 5, 7], 91)
        sequences = self.sequences(attn_mask=mask, second_mask=bias)
        operands = self.packed(sequences) | {"mask": mask.tensor(), "bias": bias.tensor()}
        self.assertIn("naive", self.judge(operands, "", self.answers(sequences, 7)))

    def test_queries_packed_and_keys_in_a_cache(self) -> None:
        """With lengths; what is behind them is NaN."""
        sequences = self.sequences(is_causal=True)
        operands = self.packed(sequences)
        del operands["cu_seqlens_kv"]
        for name in "kv":
            parts = [getattr(a, name) for a in sequences]
            operands[name] = build(
                [4, 2, 8, parts[0].shape[3]],
                lambda b, h, j, d, p=parts: p[b].at(0, h, j, d) if j < self.KV[b] else NAN,
            ).tensor()
        operands["kv_lens"] = ([4], self.KV, "I64")
        took = self.judge(operands, "mask=causal", self.answers(sequences, 8))
        self.assertIn("naive", took)


class Pages(EvalTest):
    """A cache in pages is the same cache elsewhere."""

    def paged(self, array: Array, size: int, table: list[list[int]], keys: list[int]) -> Array:
        """Pages that hold what the table says; NaN everywhere else."""
        owners = {page: (b, n) for b, row in enumerate(table) for n, page in enumerate(row)}

        def element(page: int, g: int, j: int, d: int) -> float:
            b, n = owners.get(page, (0, len(keys) * 100))
            at = n * size + j
            return array.at(b, g, at, d) if at < keys[b] else NAN

        return build([7, array.shape[1], size, array.shape[3]], element, array.dtype)

    def test_pages_and_lengths(self) -> None:
        keys, table = [5, 6], [[4, 1, 2], [6, 0, 3]]
        for c in (
            case(hq=4, hkv=2, nonpad_kv_seqlen=keys, is_causal=True),
            case(hq=4, hkv=2, sq=1, nonpad_kv_seqlen=keys, softcap=3, dtype="BF16"),
        ):
            a = c.inputs
            operands = c.tensors()
            operands["k"] = self.paged(a.k, 2, table, keys).tensor()
            operands["v"] = self.paged(a.v, 2, table, keys).tensor()
            operands["block_table"] = ([2, 3], [x for row in table for x in row], "I64")
            took = self.judge(operands, c.problem(), c.answers())
            self.assertIn(PLAINEST[a.q.dtype], took)

    def test_full_pages_without_lengths(self) -> None:
        """And -1 where a sequence has no page any more, by the number of keys in the text."""
        c = case(skv=4)
        table = [[5, 2, -1], [1, 3, -1]]
        operands = c.tensors()
        for name in "kv":
            array = getattr(c.inputs, name)
            operands[name] = self.paged(array, 2, [row[:2] for row in table], [4, 4]).tensor()
        operands["block_table"] = ([2, 3], [x for row in table for x in row], "I32")
        self.assertIn("naive", self.judge(operands, "skv=4,page=2", c.answers()))


class Quantised(EvalTest):
    """An element of 8 bits is its number times its scale."""

    def judge_scales(self, k_scale: Array, v_scale: Array, dtype: str = "I8") -> None:
        def number(code: int) -> float:
            code %= 255
            if dtype == "I8":
                return code - 127
            return float_of_8_bits(
                code if math.isfinite(float_of_8_bits(code, dtype)) else 1, dtype
            )

        codes = [build([2, 2, 6, d], lambda b, h, j, n, s=s: number(
                     b * 91 + h * 57 + j * 31 + n * 17 * s), dtype)
                 for d, s in ((8, 1), (6, 3))]  # fmt: skip
        a = Attention(normal([2, 4, 4, 8], 1), *(
            build(c.shape, lambda *at, c=c, s=s: c.at(*at) * s.at(*at))
            for c, s in zip(codes, (k_scale, v_scale), strict=True)
        ))  # fmt: skip
        tensors = {"q": a.q, "k": codes[0], "v": codes[1], "k_scale": k_scale, "v_scale": v_scale}
        answers = attention(a)
        took = self.judge({name: x.tensor() for name, x in tensors.items()}, "", answers)
        self.assertIn("naive", took)

    def scale(self, shape: list[int], seed: int, dtype: str = "F32") -> Array:
        """Such that values are of the order of 1."""
        return Array(shape, [0.01 + 0.003 * abs(x) for x in normal(shape, seed).values]).cast(dtype)

    def test_a_scale_for_each_token(self) -> None:
        self.judge_scales(self.scale([2, 2, 6, 1], 1), self.scale([2, 2, 6, 1], 2))

    def test_a_scale_for_each_channel(self) -> None:
        self.judge_scales(self.scale([2, 2, 1, 8], 1), self.scale([2, 2, 6, 1], 2))

    def test_shared_by_sequences_or_all(self) -> None:
        self.judge_scales(self.scale([1, 2, 1, 8], 1, "F16"), self.scale([1, 1, 1, 1], 2, "F64"))

    def test_floats(self) -> None:
        """A scale for each token, for each channel of K and each head of V, and one for all."""
        for dtype, factor in (("F8_E4M3", 0.3), ("F8_E5M2", 0.002)):
            for k, v in (
                ([2, 2, 6, 1], [2, 2, 6, 1]), ([1, 2, 1, 8], [1, 2, 1, 1]), ([1], [1, 1, 1, 1]),
            ):  # fmt: skip
                scales = [Array(s, [factor * x for x in self.scale(s, 1).values]) for s in (k, v)]
                with self.subTest(dtype=dtype, k=k):
                    self.judge_scales(*scales, dtype)

    def test_a_file_of_pytorch(self) -> None:
        """K and V of torch.float8_e4m3fn, O by PyTorch in float64; tests/data/README.md."""
        tensors = read_typed(str(DATA / "float8-e4m3.safetensors"))
        for kernel in ("naive", "flash", "split_kv"):
            words = self.words(kernel, "")
            words[words.index(self.file)] = str(DATA / "float8-e4m3.safetensors")
            done = run(*words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            shape, values, dtype = tensors["expected"]
            self.near(read_typed(self.result)["o"], Array(shape, values, dtype), TOLERANCE["F32"])


class Trees(EvalTest):
    """A tree is the boolean mask that it stands for."""

    PARENTS = (-1, 0, 0, -1, 2), (-1, 0, 1, 2, 3)

    def sees(self, b: int, i: int, draft: int) -> bool:
        """Whether draft i of sequence b is the other one or below it; -1 and less are the cache."""
        while i > max(draft, -1):
            i = self.PARENTS[b][i]
        return draft < 0 or i == draft

    def test_parents(self) -> None:
        """Of two sequences, and with a bias; in a pack, too."""
        shape = [2, 1, 5, 8]
        mask = build(shape, lambda b, _, i, j: self.sees(b, i, j - 3), "BOOL")
        c = case(sq=5, skv=8, attn_mask=mask, second_mask=floating([5, 8], 3))
        tensors = c.tensors()
        added, parents = tensors.pop("bias"), [p for row in self.PARENTS for p in row]
        del tensors["mask"]
        tensors |= {"mask": added, "parents": ([2, 5], parents, "I64")}
        self.assertIn("naive", self.judge(tensors, "", c.answers()))

    def test_packed(self) -> None:
        """A row of all drafts."""
        c = case(
            b=1, sq=5, skv=8, attn_mask=build([5, 8], lambda i, j: self.sees(0, i, j - 3), "BOOL")
        )
        tensors = c.tensors()
        del tensors["mask"]
        tensors |= {
            "parents": ([5], list(self.PARENTS[0]), "I32"),
            "cu_seqlens": offsets([5]), "cu_seqlens_kv": offsets([8]),
        }  # fmt: skip
        self.assertIn("naive", self.judge(tensors, "mask=tree", c.answers()))


class Lists(EvalTest):
    """Lists of keys are the boolean mask that they stand for."""

    FAST = frozenset(("flash",) if SANITIZED else ("flash", "split_kv"))
    LISTS = (5, -1, 0, -1, -1, -1, 1, 2, 3, 7, 6, 4), (4, 0, -1, 3, 2, 1, -1, -1, 7, 0, 1, 2)

    def named(self, b: int, number: int) -> tuple[int, ...]:
        """Of three lists of four keys, one of them."""
        return self.LISTS[b][4 * number : 4 * number + 4]

    def test_lists(self) -> None:
        """Of each query, of i32 and i64, and beside a boolean mask."""
        mask = build([2, 1, 3, 8], lambda b, _, i, j: j in self.named(b, i), "BOOL")
        c = case(hq=4, hkv=1, sq=3, skv=8, attn_mask=mask)
        tensors = c.tensors()
        seen = tensors.pop("mask")
        keys = [key for row in self.LISTS for key in row]
        for dtype in ("I32", "I64"):
            tensors["indices"] = ([2, 1, 3, 4], keys, dtype)
            self.assertLessEqual(self.FAST, {*self.judge(tensors, "", c.answers())})
        tensors["mask"] = seen
        self.assertIn("naive", self.judge(tensors, "keys=index:4", c.answers()))

    def test_several_queries(self) -> None:
        """Share a list where the text says so."""
        mask = build([2, 1, 5, 8], lambda b, _, i, j: j in self.named(b, i // 2), "BOOL")
        c = case(hq=2, hkv=1, sq=5, skv=8, attn_mask=mask)
        tensors = c.tensors()
        del tensors["mask"]
        keys = [key for row in self.LISTS for key in row]
        tensors["indices"] = ([2, 1, 3, 4], keys, "I32")
        self.assertLessEqual(self.FAST, {*self.judge(tensors, "keys=index:4:2", c.answers())})

    def test_packed(self) -> None:
        """The lists of all sequences follow each other."""
        mask = build([5, 8], lambda i, j: j in self.named(0, i // 2), "BOOL")
        c = case(b=1, hq=2, hkv=1, sq=5, skv=8, attn_mask=mask)
        tensors = c.tensors()
        del tensors["mask"]
        tensors |= {
            "indices": ([1, 3, 4], list(self.LISTS[0]), "I32"),
            "cu_seqlens": offsets([5]), "cu_seqlens_kv": offsets([8]),
        }  # fmt: skip
        self.assertIn("naive", self.judge(tensors, "keys=index:4:2", c.answers()))


class Types(EvalTest):
    def test_shared_keys_and_values(self) -> None:
        """There is no v: it is the beginning of k."""
        c = case(hq=4, hkv=1, d=8)
        a = c.inputs
        a.v = build([2, 1, 6, 5], a.k.at)
        operands = c.tensors()
        del operands["v"]
        took = self.judge(operands, "shared_kv=1,dv=5", attention(a))
        self.assertIn("naive", took)

    def test_the_text_is_judged_with_the_file(self) -> None:
        """What it says alone makes no problem: more of v than of k by default, one query head."""
        wide = ([1, 1, 3, 66], [0.5] * 198, "F32")
        safetensors(self.file, {"q": wide, "k": wide})
        self.ran(*self.words("naive", "shared_kv=1,dv=65"))
        self.assertEqual(read_typed(self.result)["o"][0], [1, 1, 3, 65])
        two = ([1, 2, 1, 2], [0.5] * 4, "BF16")
        four = ([1, 4, 1, 2], [0.5] * 8, "BF16")
        safetensors(self.file, {"q": four, "k": two, "v": two})
        self.ran(*self.words("flash", "hkv=2,kv_dtype=bf16"))
        self.assertEqual(read_typed(self.result)["o"][0], [1, 4, 1, 2])

    def test_type_comes_from_the_file(self) -> None:
        """Unless the text names another one; of f64 it is f32."""
        for dtype, text, expected in (
            ("BF16", "", "BF16"),
            ("F16", "", "F16"),
            ("F64", "", "F32"),
            ("F64", "dtype=f64", "F64"),
            ("F32", "dtype=f64", "F64"),
            ("F32", "dtype=bf16", "BF16"),
            ("BF16", "dtype=f32", "F32"),
        ):
            tensor = ([1, 1, 1, 2], [1.0, 2.0], dtype)
            safetensors(self.file, dict.fromkeys("qkv", tensor))
            done = run(*self.words("flash" if expected == "BF16" else "naive", text))
            if expected == "F16" and done.returncode == 2:
                continue  # no kernel has it
            self.assertEqual(done.returncode, 0, done)
            self.assertEqual(read_typed(self.result), {"o": ([1, 1, 1, 2], [1, 2], expected)})

    def test_double_keeps_all_digits(self) -> None:
        """The kernels that compute in it, to 1e-14."""
        c = case(hq=4, hkv=2, dtype="F64", is_causal=True)
        took = self.judge(c.tensors(), f"{c.problem()},dtype=f64", c.answers())
        self.assertIn("naive", took)
        self.assertLessEqual(set(took), {"naive", "online", "row_parallel", "tiled"})

    def test_small_operands_of_other_types(self) -> None:
        """Sinks, slopes and a bias may have any type, a mask bytes."""
        c = case(skv=4, sinks=[0.5, 1.5, -INF], slopes=[0.5, 0.25, 0.125])
        mask = boolean([4, 4], 95)
        c.inputs.attn_mask = mask
        operands = c.tensors()
        operands["mask"] = ([4, 4], mask.values, "U8")
        operands["sinks"] = (*operands["sinks"][:2], "BF16")
        operands["slopes"] = (*operands["slopes"][:2], "F64")
        self.assertIn("naive", self.judge(operands, "", c.answers()))
