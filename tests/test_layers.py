#!/usr/bin/env python3
"""The source layout (CONTRIBUTING.md): who may include whom, and who alone may do what.

  kernels/          includes headers of kernels/ alone, and knows no clocks, files or streams
  harness/, ring/, tests/
                    include of kernels/ only its public headers
  harness/          a file includes its own folder and folders further down, in the order in
                    which CONTRIBUTING.md lists them; its own folder by file name, any other by
                    its path from harness/
  harness/          the rules of ONLY below
  harness/          a function that other files call begins with its file's name, or with first
                    words of it (in adversary_*.c: or with the last one)
  all three         no circle of files: a C file calls functions of files that do not, by any way,
                    call its own
  the tree          a file's name is its own, but for REPEATED

Usage: test_layers.py SOURCE_DIRECTORY
"""

import re
import sys
from pathlib import Path

# Headers that lie in kernels/ itself are public, but for this one.
PRIVATE = "kernel.h"

# Private headers that a test compiles as a kernel would: file of tests/ and header.
COMPILED_AS_KERNELS = {
    ("kernels/exp2/exp2_variant.c", "shared/exp2.h"),
    ("kernels/softcap/softcap_variant.c", "shared/softcap.h"),
    ("kernels/f64/f64_variant.c", "shared/exp_f64.h"),
    ("kernels/f64/f64_variant.c", "shared/softcap.h"),
}

# What a kernel may not know of.
FORBIDDEN = {"fcntl.h", "pthread.h", "stdio.h", "sys/mman.h", "sys/stat.h", "time.h", "unistd.h"}

# What a file of kernels/ knows all the same: it writes messages into memory that the caller
# lends, or asks the system for the processor's tiles.
EXEMPT = {("operands_content.c", "stdio.h"), ("isa.c", "unistd.h")}

# What only some files of harness/ may name: what it is, how it looks, where it may stand.
ONLY = [
    ("standard output", r"\bstdout\b", ("commands/", "results/")),
    (
        "standard error",
        r"\bstderr\b",
        ("commands/", "worker/worker.c", "results/", "base/progress.c"),
    ),
    ("the end of the program", r"\bexit\s*\(", ("commands/",)),
    ("a clock", r"\b(clock_gettime|gettimeofday|time)\s*\(", ("base/clock.c",)),
    ("the machine's files", r'"/(proc|sys)/', ("system/",)),
    ("the machine's topology", r"#include <hwloc", ("system/",)),
]

# Where a file's name is unique, and the names that several folders have nevertheless.
NAMED = ("kernels", "harness", "ring", "tests", "scripts", "docs", "cmake", "suites")
REPEATED = {"CMakeLists.txt", "README.md", "__init__.py", "conftest.py"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^">]+)[">]', re.MULTILINE)
FOLDER = re.compile(r"^- `(\w+)/`", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
LITERAL = re.compile(r'"(?:\\.|[^"\\\n])*"')
WORD = re.compile(r"\b[A-Za-z_]\w+\b")

# A function that other files may call, as clang-format lays it out; and names that a file keeps.
STATIC_MACROS = ("INLINE", "EARLY")
DEFINITION = re.compile(
    r"^(?!static\b)[A-Za-z_][\w \t*\n]*?\b(\w+)\([^;{}]*\)\s*\n\{", re.MULTILINE
)
STATIC = re.compile(r"^static\b[^;{=]*?\b(\w+)\s*[(;=]", re.MULTILINE)


def includes(path: Path) -> list[tuple[str, bool]]:
    """Return the names that a file includes, and whether in quotes."""
    text = path.read_text(encoding="utf-8")
    return [(name, quote == '"') for quote, name in INCLUDE.findall(text)]


def sources(directory: Path) -> list[Path]:
    """Return the C files below a directory."""
    return sorted(p for p in directory.rglob("*") if p.suffix in {".c", ".h"})


def folders(root: Path) -> list[str]:
    """Return the folders of harness/, top first, as CONTRIBUTING.md lists them."""
    text = (root / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return FOLDER.findall(text.partition("<!-- layers -->")[2].partition("<!-- /layers -->")[0])


def check_list(root: Path, order: list[str]) -> list[str]:
    """Return how the list of CONTRIBUTING.md differs from the folders that there are."""
    there = {p.name for p in (root / "harness").iterdir() if p.is_dir()}
    loose = [p.name for p in (root / "harness").iterdir() if p.suffix in {".c", ".h"}]
    return (
        [f"CONTRIBUTING.md: harness/{name}/ is not in the list" for name in there - set(order)]
        + [f"CONTRIBUTING.md: there is no harness/{name}/" for name in set(order) - there]
        + [f"harness/{name}: belongs into a folder" for name in loose]
        + (["CONTRIBUTING.md: at most ten folders"] if len(order) > 10 else [])
    )


def check_kernels(root: Path) -> list[str]:
    """Return what kernels/ includes that it may not."""
    top = root / "kernels"
    wrong = []
    for path in sources(top):
        for name, quoted in includes(path):
            own = (path.parent / name).exists() or (top / name).exists()
            if quoted and not own and not name.endswith("_list.h"):  # those the build writes
                wrong.append(f"{path.relative_to(root)}: {name} is not of kernels/")
            if name in FORBIDDEN and (str(path.relative_to(top)), name) not in EXEMPT:
                wrong.append(f"{path.relative_to(root)}: kernels know nothing of <{name}>")
    return wrong


def check_public(root: Path) -> list[str]:
    """Return what harness/, ring/ and tests/ include of kernels/ that is not public."""
    top = root / "kernels"
    public = {p.name for p in top.glob("*.h")} - {PRIVATE}
    private = {str(p.relative_to(top)) for p in sources(top)} - public
    private |= {Path(name).name for name in private}
    return [
        f"{path.relative_to(root)}: {name} is not a public header of kernels/"
        for directory in ("harness", "ring", "tests")
        for path in sources(root / directory)
        for name, quoted in includes(path)
        if quoted
        and name in private
        and not (path.parent / name).exists()
        and (str(path.relative_to(root / directory)), name) not in COMPILED_AS_KERNELS
    ]


def check_harness(root: Path, order: list[str]) -> list[str]:
    """Return the includes of harness/ that do not go down, or not by their path."""
    top = root / "harness"
    rank = {name: i for i, name in enumerate(order)}
    wrong = []
    for path in sources(top):
        name = path.relative_to(top)
        for include, quoted in includes(path):
            own = (path.parent / include).exists()
            if not quoted or (own and "/" not in include) or not (top / include).exists():
                continue
            mine, other = name.parts[0], Path(include).parts[0]
            if own or Path(include).parent == name.parent:
                wrong.append(f"harness/{name}: {include} is of its own folder: the name is enough")
            elif rank.get(other, -1) < rank.get(mine, -1):
                wrong.append(f"harness/{name}: {include} is above it")
    return wrong


def leads_to(function: str, stem: str) -> bool:
    """Return whether a function's name begins with its file's name, or with first words of it.

    The last one may be in the singular. In adversary_*.c a function may begin with the last word.
    """
    words = stem.split("_")
    parts = {"_".join(words[:n]) for n in range(1, len(words) + 1)}
    if words[0] == "adversary":
        parts.add(words[-1])
    parts |= {part.removesuffix("s") for part in parts}
    return any(function == part or function.startswith(f"{part}_") for part in parts)


def check_functions(root: Path) -> list[str]:
    """Return the functions of harness/ whose names do not lead to their files.

    But for those that another library names, and static ones behind a macro.
    """
    wrong = []
    for path in [p for p in sources(root / "harness") if p.suffix == ".c"]:
        text = LITERAL.sub(" ", COMMENT.sub(" ", path.read_text(encoding="utf-8")))
        own = {m[1] for m in DEFINITION.finditer(text) if not m[0].startswith(STATIC_MACROS)}
        wrong += [
            f"{path.relative_to(root)}: {name}() does not begin as its file's name does"
            for name in sorted(own)
            if name.islower() and name != "ompt_start_tool" and not leads_to(name, path.stem)
        ]
    return wrong


def check_only(root: Path) -> list[str]:
    """Return what files of harness/ name that is the business of others."""
    top = root / "harness"
    wrong = []
    for path in sources(top):
        name = str(path.relative_to(top))
        text = COMMENT.sub("", path.read_text(encoding="utf-8"))
        for what, pattern, allowed in ONLY:
            if re.search(pattern, text) and not name.startswith(allowed):
                wrong.append(f"harness/{name}: {what} is for {' and '.join(allowed)} only")
    return wrong


def calls(root: Path) -> dict[str, set[str]]:
    """Return, for each C file, the other files whose functions it names."""
    texts, defined = {}, {}
    for path in [p for top in ("kernels", "harness", "ring") for p in sources(root / top)]:
        if path.suffix == ".c":
            text = LITERAL.sub(" ", COMMENT.sub(" ", path.read_text(encoding="utf-8")))
            texts[str(path.relative_to(root))] = text
    for name, text in texts.items():
        own = set(STATIC.findall(text))
        for function in set(DEFINITION.findall(text)) - own:
            defined.setdefault(function, set()).add(name)
    graph = {}
    for name, text in texts.items():
        words = set(WORD.findall(text)) - set(STATIC.findall(text))
        homes = [defined[w] for w in words if w in defined and name not in defined[w]]
        graph[name] = {home for each in homes if len(each) == 1 for home in each}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the sets of files that reach each other (Tarjan's strongly connected components)."""
    index, low, stack, found = {}, {}, [], []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            at = stack.index(name)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for name in graph:
        if name not in index:
            visit(name)
    return [each for each in found if len(each) > 1]


def check_circles(root: Path) -> list[str]:
    """Return the circles of files."""
    return [f"a circle of files: {', '.join(each)}" for each in circles(calls(root))]


def check_names(root: Path) -> list[str]:
    """Return the names that several source files or pages have."""
    suffixes = {".c", ".h", ".py", ".sh", ".cmake", ".md", ".suite"}
    folders_of: dict[str, list[str]] = {}
    for path in [p for top in NAMED for p in sorted((root / top).rglob("*.*"))]:
        if path.suffix in suffixes and path.name not in REPEATED:
            folders_of.setdefault(path.name, []).append(str(path.parent.relative_to(root)))
    return [f"{name}: in {' and in '.join(at)}" for name, at in folders_of.items() if len(at) > 1]


def main() -> int:
    """Print what is wrong and return the exit status."""
    root = Path(sys.argv[1])
    order = folders(root)
    wrong = (
        check_list(root, order)
        + check_kernels(root)
        + check_public(root)
        + check_harness(root, order)
        + check_functions(root)
        + check_only(root)
        + check_circles(root)
        + check_names(root)
    )
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
