"""Compares a kernel with PyTorch on a file of tensors.

    scripts/eval_torch operands.safetensors --problem mask=causal,softcap=30 --kernel flash,naive

FILE is what `attnbench eval --input` takes (docs/eval.md), --problem what the tensors do not say.
The file goes through each kernel, and through scaled_dot_product_attention of PyTorch, its math
backend in float64; scores that it does not know (softcap, sinks) through plain tensor operations
in float64.  Operands are rounded to the problem's dtype first.  It prints the
largest differences of O and of LSE for each kernel.

PyTorch is that of scripts/rivals/setup torch.

Exit codes: 0 compared, 2 usage, 3 no PyTorch or no program, else what `attnbench eval` ended with.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rivals import venvs

ROOT = Path(__file__).resolve().parents[2]
TORCH = venvs.LIBRARIES["torch"]
HEAD = f"{'kernel':<16} {'result':<7} {'difference':>11}  {'at':<14} {'kernel':>14} {'PyTorch':>14}"


class Ended(Exception):
    """Ends the tool with a message, which may be empty, and an exit code."""

    def __init__(self, message: str, code: int) -> None:
        """Message as a person is to read it; code as a script is to."""
        super().__init__(message)
        self.code = code


def arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Parses the command line."""
    p = argparse.ArgumentParser(
        prog="scripts/eval_torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    p.add_argument("file", metavar="FILE", help="safetensors; FILE:PREFIX as eval takes it")
    p.add_argument("--problem", default="", help="mask=causal,scale=0.1,...")
    p.add_argument("--kernel", default="flash", help="a comma list; flash where left out")
    p.add_argument("--isa", default="", help="of the kernels")
    p.add_argument("--threads", default="", help="of the kernels")
    p.add_argument(
        "--attnbench",
        default=str(ROOT / "build" / "release" / "attnbench"),
        metavar="PROGRAM",
        help="the program; build/release/attnbench where left out",
    )
    return p.parse_args(argv)


def enter_torch() -> None:
    """Goes on in PyTorch's own environment; returns where this is it."""
    if venvs.version(TORCH) is None:
        raise Ended("PyTorch is not installed: scripts/rivals/setup torch", 3)
    if Path(sys.prefix) == venvs.folder(TORCH):
        return
    python = str(venvs.folder(TORCH) / "bin" / "python")
    os.execv(python, [python, "-m", "rivals.eval_torch", *sys.argv[1:]])


def evaluate(options: argparse.Namespace, kernel: str, folder: Path) -> Path:
    """What a kernel makes of the file: O, and LSE where it has one.

    Raises:
        Ended: the program is missing or refuses; its own message is on standard error.
    """
    out = folder / f"{kernel}.safetensors"
    asked = [item for item in options.problem.split(",") if item and item[:8] != "outputs="]
    words = [options.attnbench, "eval", "--kernel", kernel, "--input", options.file]
    for name in ("isa", "threads"):
        words += [f"--{name}", getattr(options, name)] if getattr(options, name) else []
    for outputs in ("o+lse", "o"):
        problem = ",".join([*asked, f"outputs={outputs}"])
        try:
            done = subprocess.run(
                [*words, "--output", str(out), "--problem", problem],
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
            )  # fmt: skip
        except OSError as wrong:
            why = f"{options.attnbench}: {wrong.strerror}; scripts/build release makes it"
            raise Ended(why, 3) from None
        if done.returncode == 0:
            return out
        if "outputs=lse" not in done.stderr and "outputs=o+lse" not in done.stderr:
            break
    sys.stderr.write(done.stderr)
    raise Ended("", done.returncode)


def run(argv: Sequence[str] | None = None) -> int:
    """The tool."""
    options = arguments(argv)
    enter_torch()
    from rivals import eval_sdpa  # only PyTorch's environment has what it needs

    with tempfile.TemporaryDirectory(prefix="attnbench-eval-torch-") as folder:
        results = {k: evaluate(options, k, Path(folder)) for k in options.kernel.split(",")}
        expected = eval_sdpa.expected(options.file, options.problem)
        print(HEAD)
        for kernel, path in results.items():
            for line in eval_sdpa.differences(path, expected):
                print(f"{kernel:<16} {line}")
    return 0


def main() -> None:
    """Runs it; what the user can mend is one line."""
    try:
        code = run()
    except Ended as ended:
        if str(ended):
            print(f"eval_torch: {ended}", file=sys.stderr)
        code = ended.code
    sys.exit(code)


if __name__ == "__main__":
    main()
