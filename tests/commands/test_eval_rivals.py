"""eval against what others compute: ONNX's own tests of Attention, PyTorch by scripts/eval_torch.

Both need libraries that scripts/rivals/setup installs, and are run where ATTNBENCH_TEST_RIVALS is
set.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from command import PROGRAM, read_typed, run, safetensors
from definition import Array
from eval_cases import CASES
from eval_test import PLAINEST, TOLERANCE, EvalTest, kernels

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))

from rivals import venvs  # noqa: E402


def python_of(name: str) -> str:
    """The Python of a library; skips the test where it is not to be used."""
    library = venvs.LIBRARIES[name]
    if "ATTNBENCH_TEST_RIVALS" not in os.environ:
        raise unittest.SkipTest("ATTNBENCH_TEST_RIVALS is not set")
    if venvs.version(library) is None:
        raise unittest.SkipTest(f"scripts/rivals/setup {name}")
    return str(venvs.folder(library) / "bin" / "python")


# Each starts PyTorch, which takes seconds.
TORCH_CASES = (
    "4-D, gqa",
    "3-D, past",
    "bool and bias",
    "rows without keys",
    "NaN that a mask hides",
    "NaN behind a length",
    "softcap, float",
    "causal, sq > skv",
    "lengths, bool, causal",
    "window, lengths, float",
    "sinks, no keys",
    "slopes, lengths",
    "everything",
)


class Onnx(EvalTest):
    def test_node_tests(self) -> None:
        """Every one, on each kernel that takes it."""
        python = python_of("onnxruntime")
        writer = pathlib.Path(__file__).with_name("onnx_cases.py")
        subprocess.run([python, str(writer), str(self.directory)], check=True)
        index = json.loads((self.directory / "index.json").read_text())
        self.assertGreater(len(index), 80)
        for entry in index:
            self.file = str(self.directory / f"{entry['name']}.safetensors")
            answers = read_typed(self.file.replace(".safetensors", ".answers.safetensors"))
            with self.subTest(test=entry["name"]):
                self.assertIn(PLAINEST[answers["o"][2]], self.held(entry, answers))

    def held(self, entry: dict[str, str], answers: dict[str, tuple]) -> list[str]:
        """Compares; returns the kernels that take the test."""
        took = []
        problem = ",".join(filter(None, [entry["problem"], f"outputs={entry['outputs']}"]))
        for kernel in kernels():
            done = run(*self.words(kernel, problem))
            if done.returncode == 2 and "unsupported" in done.stderr:
                continue
            self.assertEqual((kernel, done.returncode, done.stderr), (kernel, 0, ""))
            for name, got in read_typed(self.result).items():
                shape, values, dtype = answers[name]
                with self.subTest(kernel=kernel, result=name):
                    self.near(got, Array(shape, values), TOLERANCE[dtype])
            took.append(kernel)
        return took


class Torch(EvalTest):
    def compared(self, *more: str, home: str | None = None) -> subprocess.CompletedProcess[str]:
        """Runs the script on the file."""
        words = [str(SCRIPTS / "eval_torch"), self.file, "--attnbench", PROGRAM, *more]
        environment = os.environ | ({"XDG_DATA_HOME": home} if home else {})
        return subprocess.run(
            words, capture_output=True, text=True, timeout=120, check=False, env=environment
        )

    def test_without_torch(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            done = self.compared(home=home)
        self.assertEqual(
            (done.returncode, done.stdout, done.stderr),
            (3, "", "eval_torch: PyTorch is not installed: scripts/rivals/setup torch\n"),
        )

    def largest(self, problem: str) -> float:
        """The largest difference that it prints, of O and LSE of naive."""
        done = self.compared("--kernel", "naive", "--problem", problem)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        head, *lines = done.stdout.splitlines()
        self.assertEqual(head.split()[:3], ["kernel", "result", "difference"])
        expected = [["naive", "o"], ["naive", "lse"]]
        self.assertEqual([line.split()[:2] for line in lines], expected)
        return max(float(line.split()[2]) for line in lines)

    def test_cases(self) -> None:
        """PyTorch agrees with the kernel, to its precision."""
        python_of("torch")
        for name in TORCH_CASES:
            c = CASES[name]
            safetensors(self.file, c.tensors())
            with self.subTest(case=name):
                self.assertLess(self.largest(c.problem()), TOLERANCE["F32"])

    def test_packed_pages_of_int8(self) -> None:
        """What SDPA lacks most of; and that a difference is seen."""
        python_of("torch")
        q = [1.0, -0.5, 0.25, 2.0]
        codes = [(7 * n) % 255 - 127 for n in range(3 * 2 * 2)]
        tensors = {
            "q": ([1, 2, 2], q),
            "k": ([3, 1, 2, 2], codes, "I8"),
            "v": ([3, 1, 2, 2], codes[::-1], "I8"),
            "k_scale": ([2, 1, 4], [0.01 * n for n in range(8)]),
            "v_scale": ([1, 1, 1, 1], [0.02]),
            "cu_seqlens": ([3], [0, 1, 2], "I32"),
            "kv_lens": ([2], [4, 3], "I64"),
            "block_table": ([2, 2], [2, 0, 1, 2], "I32"),
        }
        safetensors(self.file, tensors)
        self.assertLess(self.largest("scale=0.5"), TOLERANCE["F32"])
        safetensors(self.file, tensors | {"sinks": ([1], [0.5]), "slopes": ([1], [0.25])})
        self.assertLess(self.largest("scale=0.5,mask=causal,softcap=3"), TOLERANCE["F32"])

    def test_pages_of_4_bits(self) -> None:
        """Of an odd number of dimensions, with zero points; without them they are 8."""
        python_of("torch")
        codes = [(37 * n) % 256 for n in range(3 * 2 * 18)]
        tensors = {
            "q": ([2, 1, 1, 35], [0.1 * (n % 7) - 0.3 for n in range(70)]),
            "k": ([3, 1, 2, 18], codes, "U8"),
            "v": ([3, 1, 2, 18], codes[::-1], "U8"),
            "k_scale": ([2, 1, 4, 2], [0.05 * n for n in range(16)]),
            "v_scale": ([1, 1, 1, 2], [0.02, 0.05]),
            "kv_lens": ([2], [4, 3], "I64"),
            "block_table": ([2, 2], [2, 0, 1, 2], "I32"),
        }
        zeros = {
            "k_zero": ([2, 1, 4, 2], [0.75 * n for n in range(16)]),
            "v_zero": ([1, 1, 1, 2], [3.0, 7.5]),
        }
        safetensors(self.file, tensors)
        symmetric = self.largest("kv_dtype=i4,dv=35")
        safetensors(self.file, tensors | zeros)
        self.assertLess(max(symmetric, self.largest("kv_dtype=i4,dv=35")), TOLERANCE["F32"])

    def test_a_difference_is_printed(self) -> None:
        """Of one element of a result that was changed."""
        python = python_of("torch")
        tensor = ([1, 1, 2, 1], [0.0, 0.0])
        safetensors(self.file, {"q": tensor, "k": tensor, "v": ([1, 1, 2, 1], [1.0, 2.0])})
        safetensors(self.result, {"o": ([1, 1, 2, 1], [1.5, 1.25])})
        script = (
            "from rivals import eval_sdpa; import pathlib, sys; file, result = sys.argv[1:]\n"
            "print(*eval_sdpa.differences(pathlib.Path(result), eval_sdpa.expected(file, '')))"
        )
        done = subprocess.run(
            [python, "-c", script, self.file, self.result], check=True, text=True,
            stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        )  # fmt: skip
        self.assertEqual(done.stdout.split(), ["o", "0.25", "0,0,1,0", "1.25", "1.5"])

    def test_what_eval_refuses(self) -> None:
        """Its own message, and its exit code."""
        python_of("torch")
        safetensors(self.file, {name: ([1, 1, 1, 1], [1]) for name in "qk"})
        done = self.compared("--kernel", "naive")
        self.assertEqual((done.returncode, done.stdout), (3, ""), done)
        self.assertIn("no tensor v", done.stderr)
