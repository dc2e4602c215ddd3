#!/usr/bin/env python3
"""The layers of the house (CONTRIBUTING.md): who may include whom.

  kernels/          includes headers of kernels/ alone, and knows no clocks, files or streams
  harness/, tests/  include of kernels/ only its public headers, which lie in no folder of it
  harness/          includes what stands above in LAYERS, or of its own family, never the rest

Usage: test_layers.py SOURCE_DIRECTORY
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A new file of the harness is listed here, below everything that it includes.  First column: its
# layer (CONTRIBUTING.md).  A name stands for NAME.c, NAME.h and NAME_*.[ch] that are not listed
# themselves; names joined by + are one family, which may include each other.
LAYERS = [
    (0, "build clock counters float_env lock random scan stats table units"),
    (0, "fault parse process progress share stop teams"),
    (1, "cases+case_text+suites catalogue journal machine safetensors"),
    (1, "queue tensors+logits+patterns"),
    (1, "cell outputs"),
    (2, "ceilings+probe"),
    (2, "bench"),
    (2, "check disturbance noise"),
    (2, "launches report"),
    (3, "protocol row select"),
    (3, "options"),
    (3, "launch session"),
    (3, "resume rounds"),
    (3, "experiments"),
    (3, "worker"),
    (3, "eval help list machine_command run"),
    (4, "program"),
    (4, "main"),
]

# Headers directly in kernels/ are public but for this one; those in its folders are private.
PRIVATE = "kernel.h"

# Private headers that a test compiles as a kernel would: file of tests/ and header.
COMPILED_AS_KERNELS = {("exp2/variant.c", "shared/exp2.h")}

# What the build writes.
GENERATED = {
    "build_info.h",
    "dots_list.h",
    "exp_list.h",
    "probe_list.h",
    "reference_list.h",
    "registry_list.h",
    "suites_list.h",
    "tiles_list.h",
}

# What a kernel may not know of.
FORBIDDEN = {"fcntl.h", "pthread.h", "stdio.h", "sys/mman.h", "sys/stat.h", "time.h", "unistd.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)


def includes(path: Path) -> list[tuple[str, bool]]:
    """Return the names that a file includes, and whether in quotes."""
    text = path.read_text(encoding="utf-8")
    return [(name, quote == '"') for quote, name in INCLUDE.findall(text)]


def sources(directory: Path) -> list[Path]:
    """Return the C files below a directory."""
    return sorted(p for p in directory.rglob("*") if p.suffix in {".c", ".h"})


def families() -> dict[str, tuple[int, str]]:
    """Return the rank and the family of each listed name."""
    table = {}
    for rank, (_, names) in enumerate(LAYERS):
        for family in names.split():
            for name in family.split("+"):
                table[name] = (rank, family)
    return table


def family_of(path: str, table: dict[str, tuple[int, str]]) -> tuple[int, str] | None:
    """Return rank and family of a file of the harness, by the longest listed name."""
    stem = path.split("/")[0] if "/" in path else Path(path).stem
    while stem not in table:
        if "_" not in stem:
            return None
        stem = stem.rpartition("_")[0]
    return table[stem]


def check_kernels(root: Path) -> list[str]:
    """Return what kernels/ includes that it may not."""
    top = root / "kernels"
    wrong = []
    for path in sources(top):
        for name, quoted in includes(path):
            own = any((folder / name).exists() for folder in (path.parent, top))
            if quoted and not own and name not in GENERATED:
                wrong.append(f"{path.relative_to(root)}: {name} is not of kernels/")
            if name in FORBIDDEN:
                wrong.append(f"{path.relative_to(root)}: kernels know nothing of <{name}>")
    return wrong


def is_private(path: Path, name: str, top: Path) -> bool:
    """Whether an include of a file outside kernels/ is a private header of it."""
    target = path.parent / name if (path.parent / name).exists() else top / name
    inside = target.exists() and target.resolve().is_relative_to(top.resolve())
    return inside and (target.resolve().parent != top.resolve() or target.name == PRIVATE)


def check_public(root: Path) -> list[str]:
    """Return what harness/ and tests/ include of kernels/ that is not public."""
    return [
        f"{path.relative_to(root)}: {name} is not a public header of kernels/"
        for directory in ("harness", "tests")
        for path in sources(root / directory)
        for name, quoted in includes(path)
        if quoted
        and is_private(path, name, root / "kernels")
        and (str(path.relative_to(root / directory)), name) not in COMPILED_AS_KERNELS
    ]


def check_harness(root: Path) -> list[str]:
    """Return the includes of harness/ that do not go down."""
    table = families()
    top = root / "harness"
    headers = {str(p.relative_to(top)) for p in sources(top)}
    wrong = []
    for path in sources(top):
        name = str(path.relative_to(top))
        mine = family_of(name, table)
        if mine is None:
            wrong.append(f"harness/{name}: list it in LAYERS of tests/test_layers.py")
            continue
        for include, quoted in includes(path):
            other = family_of(include, table) if quoted and include in headers else None
            if other and other[1] != mine[1] and other[0] >= mine[0]:
                wrong.append(
                    f"harness/{name}: {include} is not below it "
                    f"(layer {LAYERS[mine[0]][0]} includes layer {LAYERS[other[0]][0]})"
                )
    return wrong


def main() -> int:
    """Print what is wrong and return the exit status."""
    root = Path(sys.argv[1])
    wrong = check_kernels(root) + check_public(root) + check_harness(root)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
