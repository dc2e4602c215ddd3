"""Files that no tool takes, and what is said of each."""

import json
from pathlib import Path

import sample

SESSION = sample.session()
NEWER = sample.session(schema="attnbench.results/2")
NAN = sample.cell(time=sample.cell()["time"] | {"median_s": float("nan")})


def written(*rows: sample.Row):  # noqa: ANN201
    """Makes a file of these rows."""
    return lambda path: sample.write(path, *rows)


def cut(path: Path) -> None:
    """A file that ends within its first line."""
    sample.write(path, SESSION)
    path.write_text(path.read_text()[:40])


def damaged(path: Path) -> None:
    """A line in the middle is cut short."""
    sample.write(path, SESSION, sample.cell(), sample.cell(threads=2))
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], lines[1][:80] + "\n", *lines[2:]]))


def text_of(row: sample.Row, old: str, new: str):  # noqa: ANN201
    """Makes a file of a session and a row in whose text something is replaced."""

    def make(path: Path) -> None:
        assert old in json.dumps(row)
        path.write_text(f"{json.dumps(SESSION)}\n{json.dumps(row).replace(old, new)}\n")

    return make


def machine(**changes: object) -> sample.Row:
    """A session of a machine with these fields."""
    return sample.session(machine=sample.MACHINE | changes)


CELL = sample.cell()
DEEP = "[" * 1100 + "]" * 1100

BAD = {
    "missing": (lambda _path: None, ": No such file or directory"),
    "folder": (lambda path: path.mkdir(), ": Is a directory"),
    "empty": (lambda path: path.write_text(""), ": is empty"),
    "foreign": (lambda path: path.write_text("case,median\na,1\n"), ":1: is no JSON"),
    "binary": (lambda path: path.write_bytes(bytes(range(256))), ":1: is no JSON"),
    "cut": (cut, ":1: is no results file of attnbench (no whole line)"),
    "damaged": (damaged, ":2: is no JSON"),
    "newer": (
        written(NEWER),
        ":1: schema attnbench.results/2 is newer than what this program reads (attnbench.results/1",
    ),
    "newer later": (written(SESSION, sample.cell(), NEWER), ":3: schema attnbench.results/2 is"),
    "a text for a number": (
        written(SESSION, sample.cell(gflops="fast")),
        ":2: gflops: expected a number or null, got a text",
    ),
    "deep inside": (
        written(SESSION, sample.cell(ceiling={"fma_gflops": "x"})),
        ":2: ceiling.fma_gflops: expected a number or null, got a text",
    ),
    "calls": (
        written(SESSION, sample.cell(time=CELL["time"] | {"calls_per_sample": "x"})),
        ":2: time.calls_per_sample: expected a number or null, got a text",
    ),
    "beyond a number": (
        text_of(CELL, '"median_s": 0.001', '"median_s": 1e999'),
        ":2: time.median_s is inf, not a positive number",
    ),
    "rate beyond a number": (text_of(CELL, '"gflops": ', '"gflops": 1e999, "x": '), ":2: gflops: "),
    "many digits": (written(SESSION, sample.cell(gflops=10**400)), ":2: gflops: "),
    "many brackets": (text_of(CELL, '"flags": []', f'"flags": {DEEP}'), ":2: is no JSON ("),
    "a problem without sizes": (
        written(SESSION, sample.cell(problem="b=1,hq=1,hkv=1,sq=few,skv=1,d=1")),
        ":2: problem 'b=1,hq=1,hkv=1,sq=few,skv=1,d=1': sq is no whole number",
    ),
    "noise": (
        written(SESSION, CELL, {"type": "noise", "ratio": "x"}),
        ":3: ratio: expected a number or null, got a text",
    ),
    "experiment": (
        written(SESSION, {"type": "experiment", "name": 5}),
        ":2: name: expected a text, got a number",
    ),
    "machine": (
        written(machine(memory_bytes="x")),
        ":1: the session line is not sound: machine.memory_bytes: expected a number or null, got",
    ),
    "NaN": (written(SESSION, sample.cell(), NAN), ":3: time.median_s is nan, not a positive"),
}
