"""Translation units that are mutated, as a build folder's compile commands name them."""

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

# The statistics behind every verdict, in harness/: each file's tests have its name.
STATISTICS = ("base/stats", "base/stats_dependence", "base/stats_launches", "base/stats_shape",
              "base/stop", "bench/noise")  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """A variant of a kernel, or a file of the library or of the statistics (whose isa is "")."""

    kernel: str
    isa: str
    source: str
    command: tuple[str, ...]  # of the compiler, up to its output
    directory: str
    double: str = ""  # the target of its f64 part, if it has one

    @property
    def name(self) -> str:
        """As the command line names variants."""
        return f"{self.kernel}/{self.isa}" if self.isa else self.kernel


def units_of(build: Path) -> list[Unit]:
    """The units of kernels/ and of STATISTICS in a build folder, by its compile commands.

    Without those of avx512_fp16: they are avx512's but for two conversions, and where no processor
    has them, as on the machines of the trials, their mutants could only survive.
    """
    found = []
    text = (build / "compile_commands.json").read_text()
    doubles = set(re.findall(r"(attn_kernel_\w+_f64)\.dir", text))
    for entry in json.loads(text):
        words = shlex.split(entry["command"])
        output, source = words[words.index("-o") + 1], entry["file"]
        kernel = re.search(r"attn_kernel_(\w+?)_(baseline|avx2|avx512|avx512_bf16)\.dir", output)
        library = re.search(r"/attention\.dir/", output)
        statistic = re.search(rf"/harness\.dir/({'|'.join(STATISTICS)})\.c\.o$", output)
        if not kernel and not library and not statistic:
            continue
        name, isa = (kernel[1], kernel[2]) if kernel else (Path(source).stem, "")
        command = tuple(words[: words.index("-o")])
        double = f"attn_kernel_{name}_{isa}_f64"
        double = double if double in doubles else ""
        found.append(Unit(name, isa, source, command, entry["directory"], double))
    return found
