"""Makes results files for the tests, by results/schema.json, with noise from a seed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from attntools.results.cells import Results
from attntools.results.results import of_lines

Row = dict[str, Any]

MACHINE = {
    "cpu": "Test CPU",
    "cores": 2,
    "threads": 2,
    "caches": [{"level": 1, "bytes": 32768}],
    "fingerprint": "f00d",
    "host": "cafe",
    "isas": ["baseline", "avx2"],
    "memory_bytes": 2**34,
}
BUILD = {
    "version": "0.1.0",
    "commit": "a" * 40,
    "dirty": False,
    "compiler": "GNU 12.2.0",
    "flags": "-O3 -DNDEBUG",
    "type": "Release",
}


def session(**changes: Any) -> Row:
    """A session line; keyword arguments replace its fields."""
    return {
        "schema": "attnbench.results/1",
        "type": "session",
        "id": "1234",
        "started": "2026-01-02T03:04:05Z",
        "command": ["run", "--suite", "quick"],
        "machine": MACHINE,
        "build": BUILD,
        "settings": {"seed": 7},
    } | changes


def experiment(name: str, params: Row, **values: object) -> Row:
    """A row of an experiment."""
    return {"type": "experiment", "name": name, "params": params, "values": values}


def cell(
    medians: list[float] | None = None,
    *,
    kernel: str = "flash",
    isa: str = "avx2",
    s: int = 512,
    threads: int = 1,
    state: str = "ok",
    **changes: Any,
) -> Row:
    """A cell line whose launches had these medians; keyword arguments replace its fields."""
    medians = medians or [1e-3] * 8
    problem = f"b=1,hq=8,hkv=8,sq={s},skv={s},d=64"
    flops = 2 * 8 * s * s * 128
    x = sorted(medians)
    middle = float(np.median(x))
    row: Row = {
        "type": "cell",
        "problem": problem,
        "case": f"prefill-f32-s{s}-d64",
        "kernel": kernel,
        "isa": isa,
        "threads": threads,
        "input": "normal:1",
        "placement": "cores",
        "cache": "warm",
        "plugin": None,
        "state": state,
        "why": None,
        "check": {"max_abs_error": 1e-7, "error_over_bound": 0.004, "rows": 64},
        "time": {
            "median_s": middle,
            "ci95_s": [x[0], x[-1]] if len(x) >= 6 else None,
            "min_s": x[0],
            "p05_s": x[0],
            "p95_s": x[-1],
            "launches": len(x),
            "launch_medians_s": medians,
            "calls_per_sample": 1,
            "samples": 10 * len(x),
            "stop": "ci",
        },
        "seed": 7,
        "timed_at": "2026-01-02T03:04:06Z",
        "prepare_s": 1e-6,
        "workspace_bytes": 4096,
        "peak_rss_bytes": 2**24,
        "gflops": flops / middle / 1e9,
        "gbytes_per_s": 4 * 8 * s * 64 * 4 / middle / 1e9,
        "ceiling": {"fma_gflops": 118.0 * threads, "read_gbytes_per_s": 40.0},
        "fraction_of_fma": flops / middle / 1e9 / (118.0 * threads),
        "fraction_of_machine": flops / middle / 1e9 / (118.0 * threads),
        "fraction_of_bandwidth": 0.01,
        "flags": [],
        "repro": f"attnbench run --problem {problem} --kernel {kernel} --isa {isa}",
    }
    if state != "ok":
        row["time"] = None
        row["why"] = "because"
    return row | changes


# The settings of a session of two, and its rows.
SETTINGS = {
    "base": {"environment": "A=1"},
    "new": {"environment": "A=2 B='x y'", "huge_pages": True},
}


def settings(base: list[float], new: list[float], **changes: Any) -> tuple[Row, Row]:
    """A cell under both settings; keyword arguments are those of cell()."""
    sides = {"base": base, "new": new}
    return tuple(
        cell(sides[name], setting=name, **setting, **changes) for name, setting in SETTINGS.items()
    )


def alike(median: float, count: int = 8) -> list[float]:
    """Launch medians that hardly differ."""
    return [median * (1 + 0.001 * (i % 3)) for i in range(count)]


def noisy(rng: np.random.Generator, median: float, n: int = 8, noise: float = 0.01) -> list[float]:
    """Launch medians around a median, log-normal."""
    return [float(x) for x in median * np.exp(noise * rng.standard_normal(n))]


def lines_of(*rows: Row, end: bool = True) -> list[str]:
    """The lines of a results file."""
    lines = [json.dumps(row, separators=(",", ":")) for row in rows]
    return [*lines, '{"type":"end","complete":true}'] if end else lines


def write(path: Path, *rows: Row, end: bool = True) -> Path:
    """Writes rows as a results file."""
    path.write_text("\n".join(lines_of(*rows, end=end)) + "\n")
    return path


def results(*rows: Row, path: str = "a.jsonl", **changes: Any) -> Results:
    """What is read of a session with these rows; keyword arguments are those of session()."""
    return of_lines(path, lines_of(session(**changes), *rows))


def many(path: Path, count: int, seed: int, slower: float = 1.0) -> Path:
    """A file of `count` cells of eight launches each."""
    rng = np.random.default_rng(seed)
    base = np.exp(np.random.default_rng(0).uniform(np.log(1e-5), np.log(1e-1), count))
    rows = (
        cell(
            noisy(rng, slower * base[i]),
            kernel=("flash", "tiled", "naive", "gemm")[i % 4],
            s=1 + i // 8,
            threads=1 + i // 4 % 2,
        )
        for i in range(count)
    )
    return write(path, session(), *rows)
