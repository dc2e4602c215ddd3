"""What tests of eval share: a file, what the kernels make of it, and how near that must be."""

import functools
import json
import math

from command import SANITIZED, CommandTest, Tensor, TypedTensor, read_typed, run, safetensors
from definition import Array

# Largest difference from float64, where results are of the order of 1: sums of f32, or of f64, over
# some dozen terms; 16-bit weights and results have a relative rounding error of 2^-9 and 2^-12
# each, of numbers up to 4.
TOLERANCE = {"F32": 5e-6, "F64": 1e-14, "BF16": 3e-2, "F16": 4e-3}
# Said of a file of doubles whose problem does not ask for them; tested by test_eval_refused.py.
NOTED = " is f64 and is computed in f32; "
RESULTS = ("lse", "weights", "scores")
# The plainest kernel of a type takes every option.
PLAINEST = {"F32": "naive", "F64": "naive", "BF16": "gemm", "F16": "gemm"}


@functools.cache
def kernels() -> dict[str, str]:
    """All of this program that run here, but the rivals behind gemm, and all results that each has.

    With sanitizers a few: kernels/relations has every one of them then, and the way from a file
    to a kernel and back is the same.
    """
    listed = [k for k in json.loads(run("list", "--json").stdout)["kernels"] if k["available"]]
    return {
        k["name"]: "+".join(["o", *(r for r in RESULTS if f"outputs=o+{r}" in k["features"])])
        for k in listed
        if k["name"] in ("naive", "flash", "gemm") or (k["group"] != "rivals" and not SANITIZED)
    }


class EvalTest(CommandTest):
    """A test with a file."""

    def setUp(self) -> None:
        """Names the files."""
        super().setUp()
        self.file = str(self.directory / "in.safetensors")
        self.result = str(self.directory / "out.safetensors")

    def words(self, kernel: str, problem: str) -> list[str]:
        """A command line."""
        asked = ["--problem", problem] if problem else []
        return ["eval", "--kernel", kernel, "--input", self.file, "--output", self.result, *asked]

    def near(self, got: TypedTensor, want: Array, tolerance: float) -> None:
        """Every element; a difference relative to numbers above 1, infinities and NaN the same."""
        self.assertEqual(got[0], want.shape)
        for n, (x, y) in enumerate(zip(got[1], want.values, strict=True)):
            same = x == y or (math.isnan(x) and math.isnan(y))
            if not same and not abs(x - y) <= tolerance * max(1, abs(y)):
                self.fail(f"element {n} is {x}, not {y}")

    def judge(
        self, tensors: dict[str, Tensor | TypedTensor], problem: str, answers: dict[str, Array]
    ) -> list[str]:
        """Compares what each kernel makes of the file; returns those that take the problem.

        Every kernel is asked for all results that it has; where it has not all of them for this
        problem, for O alone.
        """
        safetensors(self.file, tensors)
        took = []
        for kernel, all_results in kernels().items():
            for outputs in dict.fromkeys((all_results, "o")):
                text = ",".join(filter(None, [problem, f"outputs={outputs}"]))
                done = run(*self.words(kernel, text))
                if done.returncode != 2 or "unsupported" not in done.stderr:
                    break
            else:
                continue
            said = [line for line in done.stderr.splitlines() if NOTED not in line]
            self.assertEqual((kernel, done.returncode, said), (kernel, 0, []))
            found = read_typed(self.result)
            self.assertEqual(set(found), set(outputs.split("+")))
            for name, tensor in found.items():
                with self.subTest(kernel=kernel, result=name):
                    self.near(tensor, answers[name], TOLERANCE[found["o"][2]])
            took.append(kernel)
        return took
