"""Breaks each statistic in one place and demands that a test notices.

A mutant is one file of harness/ with a few tokens replaced.  It is compiled with the test that
should notice, outside the build tree; the unbroken sources must pass first.  Arguments: the C
compiler and the source tree.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# What each test needs beside its own file.
SOURCES = {
    "stats": ["base/alloc.c", "stats.c"],
    "stats_dependence": ["base/alloc.c", "stats.c", "stats_dependence.c"],
    "stats_launches": ["base/alloc.c", "stats.c", "stats_dependence.c", "stats_launches.c"],
    "stats_shape": ["base/alloc.c", "stats.c", "stats_shape.c"],
    "stop": ["base/alloc.c", "stats.c", "stats_dependence.c", "stop.c"],
    "noise": ["noise.c", "base/alloc.c", "stats.c", "stats_shape.c", "random.c"],
}


@dataclass(frozen=True)
class Mutant:
    """The tokens of `old` must stand in the file exactly once."""

    file: str
    old: str
    new: str
    test: str


# fmt: off
MUTANTS = [
    # order statistics
    Mutant("stats.c", "return (x > y) - (x < y);", "return (x < y) - (x > y);", "stats"),
    Mutant("stats.c", "q * (double)(n - 1)", "q * (double)n", "stats"),
    Mutant("stats.c", "(sorted[below + 1] - sorted[below])", "0", "stats"),
    Mutant("stats.c", "stats_quantile(sorted, n, 0.5)", "stats_quantile(sorted, n, 0.49)", "stats"),
    Mutant("stats.c", "memcpy(copy, x, n * sizeof *copy);\n    stats_sort(copy, n);",
           "memcpy(copy, x, n * sizeof *copy);", "stats"),
    # the interval
    Mutant("stats.c", "level = 0.95;", "level = 0.94;", "stats"),
    Mutant("stats.c", "level = 0.95;", "level = 0.951;", "stats"),
    Mutant("stats.c", "if (n < STATS_CI_MIN)", "if (n < 5)", "stats"),
    Mutant("stats.c", "if (1 - 2 * more < level)", "if (1 - more < level)", "stats"),
    Mutant("stats.c", "*hi = n - 1 - r;", "*hi = n - 2 - r;", "stats"),
    Mutant("stats.c", "*lo = r;", "*lo = r + 1;", "stats"),
    Mutant("stats.c", "*coverage = 1 - 2 * outside;", "*coverage = 1 - outside;", "stats"),
    Mutant("stats.c", "*lo = sorted[first];", "*lo = sorted[0];", "stats"),
    Mutant("stats.c", "*hi = sorted[last];", "*hi = sorted[n - 1];", "stats"),
    # ratios
    Mutant("stats.c", "log(b[i] / a[i])", "log(a[i] / b[i])", "stats"),
    Mutant("stats.c", "log(b[i] / a[i])", "log(b[i] / a[0])", "stats"),
    Mutant("stats.c", "r.ratio = exp(stats_median(logs, rounds));", "r.ratio = exp(logs[0]);",
           "stats"),
    Mutant("stats.c", "power = 0.8", "power = 0.3", "stats"),
    Mutant("stats.c", "fmax(below, above)", "below", "stats"),
    Mutant("stats.c", "fmax(below, above)", "above", "stats"),
    Mutant("stats.c", "const double median = stats_median(logs, rounds);",
           "const double median = 0;", "stats"),
    # dependence
    Mutant("stats_dependence.c", "(double)n * products / squares + 1",
           "(double)n * products / squares", "stats_dependence"),
    Mutant("stats_dependence.c", "(double)n - 4", "(double)n - 1", "stats_dependence"),
    Mutant("stats_dependence.c", "BEYOND 0.4", "BEYOND 0.0", "stats_dependence"),
    Mutant("stats_dependence.c", "LASTS 0.85", "LASTS 0.0", "stats_dependence"),
    Mutant("stats_dependence.c", "pool->freedom + error", "pool->freedom", "stats_dependence"),
    Mutant("stats_dependence.c", "(1 - (double)k / count)", "1", "stats_dependence"),
    Mutant("stats_dependence.c", "(1 - 1 / count)", "1", "stats_dependence"),
    Mutant("stats_dependence.c", "fmin(MOST, ", "fmin(1, ", "stats_dependence"),
    Mutant("stats_dependence.c", "own.freedom >= STATS_DEPENDENCE_OWN && more", "more",
           "stats_dependence"),
    # launches
    Mutant("stats_launches.c", "s->p05 = stats_quantile(all, s->samples, 0.05)",
           "s->p05 = stats_quantile(medians, n, 0.05)", "stats_launches"),
    Mutant("stats_launches.c", "s->p95 = stats_quantile(all, s->samples, 0.95)",
           "s->p95 = stats_quantile(all, s->samples, 0.9)", "stats_launches"),
    Mutant("stats_launches.c", "s->min = all[0]", "s->min = medians[0]", "stats_launches"),
    Mutant("stats_launches.c", "medians[i] = stats_median_of(launches[i].x, launches[i].n)",
           "medians[i] = launches[i].x[0]", "stats_launches"),
    Mutant("stats_launches.c", "(s->hi - s->lo) / 2 / s->median", "(s->hi - s->lo) / s->median",
           "stats_launches"),
    Mutant("stats_launches.c", "grand += mean * (double)launches[i].n;", "grand += mean;",
           "stats_launches"),
    Mutant("stats_launches.c", "within / (total - (double)k)", "within / total", "stats_launches"),
    Mutant("stats_launches.c", "between / (double)(k - 1)", "between / (double)k",
           "stats_launches"),
    Mutant("stats_launches.c", "(total - squared_sizes / total) / (double)(k - 1)",
           "total / (double)k", "stats_launches"),
    Mutant("stats_launches.c", "(mean_between - mean_within) / n0", "mean_between / n0",
           "stats_launches"),
    Mutant("stats_launches.c", "1 + (n0 - 1) * s->share_between", "1 + n0 * s->share_between",
           "stats_launches"),
    # shape
    Mutant("stats_shape.c", "5 * 1.4826", "5", "stats_shape"),
    Mutant("stats_shape.c", "least * median", "0", "stats_shape"),
    Mutant("stats_shape.c", "outliers += x[i] > limit",
           "outliers += fabs(x[i] - median) > limit - median", "stats_shape"),
    Mutant("stats_shape.c", "if (low_spread + high_spread >= best)",
           "if (low_spread * high_spread >= best)", "stats_shape"),
    Mutant("stats_shape.c", "(low_spread / low + high_spread / high) / 2",
           "(low_spread / low + high_spread / high)", "stats_shape"),
    Mutant("stats_shape.c", "fmin(low, high) / (double)n", "low / (double)n", "stats_shape"),
    Mutant("stats_shape.c", "apart / (origin + low_sum / low)", "apart / origin", "stats_shape"),
    Mutant("stats_shape.c", "variance -= t * (t - 1) * (2 * t + 5);", "", "stats_shape"),
    Mutant("stats_shape.c", "(s > 0 ? s - 1 : s + 1)", "s", "stats_shape"),
    Mutant("stats_shape.c", "(x[j] - x[i]) / (double)(j - i)", "(x[j] - x[i])", "stats_shape"),
    Mutant("stats_shape.c", "* (double)(n - 1) / stats_median_of", "/ stats_median_of",
           "stats_shape"),
    # the stop rule
    Mutant("stop.c", "TARGET_HALF_WIDTH 0.01", "TARGET_HALF_WIDTH 0.013", "stop"),
    Mutant("stop.c", "(hi - lo) / 2 /", "(hi - lo) /", "stop"),
    Mutant("stop.c", "|| known->freedom < STATS_DEPENDENCE_ENOUGH", "", "stop"),
    Mutant("stop.c", "PLATEAU_KEPT 0.95", "PLATEAU_KEPT 0.0", "stop"),
    Mutant("stop.c", "LOOK_EVERY 6", "LOOK_EVERY 1", "stop"),
    Mutant("stop.c", "return n >= cap ? STOP_CAP : STOP_NOT;\n}",
           "return n > cap ? STOP_CAP : STOP_NOT;\n}", "stop"),
    # flags
    Mutant("noise.c", "SWITCHES_PER_S 100.0", "SWITCHES_PER_S 105.0", "noise"),
    Mutant("noise.c", "d->wall_s * launch->threads", "d->wall_s", "noise"),
    Mutant("noise.c", "d->steal_s > STEAL * thread_s", "d->steal_s > 0", "noise"),
    Mutant("noise.c", "FREQUENCY 0.05", "FREQUENCY 0.055", "noise"),
    Mutant("noise.c", "off(before, usual) ||", "", "noise"),
    Mutant("noise.c", "return d->clock_ghz > 0 ? d->clock_ghz : d->probe_before_gflops;",
           "return d->probe_before_gflops;", "noise"),
    Mutant("noise.c", "after = d->clock_ghz > 0 ? d->clock_ghz : d->probe_after_gflops;",
           "after = d->probe_after_gflops;", "noise"),
    Mutant("noise.c", "launches / 4", "launches / 3", "noise"),
    Mutant("noise.c", " || d->thermal_throttles > 0", "", "noise"),
    Mutant("noise.c", "launch->threads > d->allowed_cpus ||", "", "noise"),
    Mutant("noise.c", " || d->runnable > d->online_cpus", "", "noise"),
    Mutant("noise.c", "OUTLIER_SHARE 0.05", "OUTLIER_SHARE 0.2", "noise"),
    Mutant("noise.c", "CHANGE 0.01", "CHANGE 0.0", "noise"),
    Mutant("noise.c", "TREND_Z 2.576", "TREND_Z 1.0", "noise"),
    Mutant("noise.c", "MINORITY 0.2", "MINORITY 0.45", "noise"),
    Mutant("noise.c", "(5 + 24 / (double)(n))", "3.0", "noise"),
    Mutant("noise.c", " || drifts(medians, n)", "", "noise"),
    Mutant("noise.c", " || has_two_modes(medians, n)", "", "noise"),
    Mutant("noise.c", "2 * drifting > n || ", "", "noise"),
    Mutant("noise.c", "2 * bimodal > n || ", "", "noise"),
    Mutant("noise.c", "return 0.25;", "return 0.5;", "noise"),
]
# fmt: on


# Of C, enough to tell its tokens apart: comments, literals, words and numbers, operators, the rest.
TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|[\w.]+|"""
    r"""->|\+\+|--|&&|\|\||<<=?|>>=?|[-+*/%&|^!=<>]=|\S""",
    re.DOTALL,
)


def tokens(text: str) -> list[re.Match[str]]:
    """The tokens of C source, comments left out."""
    return [t for t in TOKEN.finditer(text) if not t[0].startswith(("/*", "//"))]


def mutated(mutant: Mutant, text: str) -> str:
    """The source with the one place replaced that has the tokens of `old`, in whatever layout."""
    place, old = tokens(text), [t[0] for t in tokens(mutant.old)]
    words = [t[0] for t in place]
    found = [i for i in range(len(words)) if words[i : i + len(old)] == old]
    if len(found) != 1:
        raise SystemExit(f"stands {len(found)} times, not once: {describe(mutant)}")
    first, last = place[found[0]], place[found[0] + len(old) - 1]
    return text[: first.start()] + mutant.new + text[last.end() :]


def find(folder: Path, name: str) -> Path:
    """The file of that name, in whichever folder it lies."""
    paths = list(folder.rglob(name))
    if len(paths) != 1:
        raise SystemExit(f"{len(paths)} files {name} below {folder}, not one")
    return paths[0]


def includes(tree: Path, test: str) -> list[str]:
    """Where a test's files find headers; a mutated copy includes its original's folder, too."""
    harness = tree / "harness"
    folders = sorted({find(harness, name).parent for name in SOURCES[test]})
    return [f"-I{folder}" for folder in (harness, *folders, tree / "kernels")]


def compile_one(compiler: str, tree: Path, test: str, source: Path, to: Path) -> None:
    """An object file; one that does not compile is an error of the table of mutants."""
    data = f'-DTEST_DATA="{tree / "tests" / "data"}"'
    options = ["-std=gnu17", "-O1", "-w", *includes(tree, test), data]
    subprocess.run([compiler, *options, "-c", "-o", str(to), str(source)], check=True)


def compile_test(compiler: str, tree: Path, test: str, scratch: Path) -> dict[str, Path]:
    """The objects of a test, unbroken: by the name of the source, and its own."""
    sources = {name: find(tree / "harness", name) for name in SOURCES[test]}
    sources["test"] = find(tree / "tests", f"test_{test}.c")
    objects = {name: scratch / f"{test}.{Path(name).name}.o" for name in sources}
    for name, source in sources.items():
        compile_one(compiler, tree, test, source, objects[name])
    return objects


def passes(compiler: str, objects: dict[str, Path], program: Path) -> bool:
    """Whether the test passes that these objects make."""
    paths = [str(path) for path in objects.values()]
    libraries = ["-lcmocka", "-ljansson", "-lm"]
    subprocess.run([compiler, "-o", str(program), *paths, *libraries], check=True)
    # A program ends with its first test that fails: the others would say no more, some at length.
    first = os.environ | {"CMOCKA_TEST_ABORT": "1"}
    try:
        result = subprocess.run(
            [str(program)], env=first, capture_output=True, timeout=120, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    return result.returncode == 0


def survives(compiler: str, tree: Path, objects: dict[str, Path], mutant: Mutant) -> bool:
    """Whether the test of a mutant passes; its other objects are the unbroken ones."""
    with tempfile.TemporaryDirectory() as directory:
        broken = Path(directory) / mutant.file
        original = find(tree / "harness", mutant.file).read_text(encoding="utf-8")
        broken.write_text(mutated(mutant, original), encoding="utf-8")
        compile_one(compiler, tree, mutant.test, broken, broken.with_suffix(".o"))
        mixed = objects | {mutant.file: broken.with_suffix(".o")}
        return passes(compiler, mixed, Path(directory) / "test")


def describe(mutant: Mutant) -> str:
    """One line."""
    return f"{mutant.file}: {mutant.old!r} -> {mutant.new!r} ({mutant.test})"


def main(compiler: str, tree: Path) -> int:
    """Prints the survivors; 1 if there are any."""
    for mutant in MUTANTS:  # before minutes of compiling
        mutated(mutant, find(tree / "harness", mutant.file).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as directory, ThreadPoolExecutor(max_workers=2) as pool:
        scratch = Path(directory)
        objects = dict(
            zip(
                SOURCES,
                pool.map(lambda test: compile_test(compiler, tree, test, scratch), SOURCES),
                strict=True,
            )
        )
        failed = [t for t in SOURCES if not passes(compiler, objects[t], scratch / t)]
        if failed:
            print(f"fails on the unbroken sources: {', '.join(failed)}")
            return 1
        survived = list(pool.map(lambda m: survives(compiler, tree, objects[m.test], m), MUTANTS))
    survivors = [describe(m) for m, alive in zip(MUTANTS, survived, strict=True) if alive]
    print("\n".join(survivors))
    print(f"{len(MUTANTS) - len(survivors)} of {len(MUTANTS)} mutants caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
