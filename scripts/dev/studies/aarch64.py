#!/usr/bin/env python3
"""What a model of Arm's processors predicts for flash, from each instruction that it executes.

    scripts/build aarch64
    .venv/bin/python scripts/dev/studies/aarch64.py build/aarch64/attnbench

Nothing here is measured.  Under qemu one call of the kernel is traced, block of instructions by
block; llvm-mca gives the cycles that a processor takes for each block when repeated, from tables of
its units, latencies and widths; the sum over all blocks is compared with the cycles
that the useful multiply-adds alone would take on all units.  Left out of the model: caches and
memory (all loads hit L1), mispredicted branches, and overlap between blocks.

Exit codes: 0, or 4 where qemu-aarch64, objdump, readelf or llvm-mca is missing or says what was not
expected.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
from attntools.base import tables
from attntools.base.cli import ToolError, guard, parser, say
from attntools.gate.callgrind import ENVIRONMENT, operands, request
from attntools.results.cells import Identity

TOOL = "aarch64"
LOADED_AT = 0x5500000000  # where qemu-user puts a position-independent program
BRANCH = re.compile(r"^(b|bl|br|blr|ret|cbn?z|tbn?z|b\.\w+)\b")
PRODUCT = re.compile(r"^(fml[as]|fmad|fmsb|fnml[as]|bfdot|bfmmla)\b")
OF_A_TILE = re.compile(r"\[|^bf")  # a product takes a factor from a lane, or is one of bf16
UNKNOWN = re.compile(r"^ldadd")  # to llvm-mca's tables: one a task
REPEATS = 200  # of a block: start and end are a small part of it


@dataclass(frozen=True)
class Processor:
    """A core as llvm-mca names it, and multiply-adds of 128 bits that it begins a cycle."""

    name: str
    units: int


@dataclass(frozen=True)
class Row:
    """A variant on a processor; `lanes`: multiply-adds of one of its instructions."""

    isa: str
    lanes: int
    cpu: str  # qemu's
    processor: Processor
    bits: int = 128
    dtype: str = "f32"


N1, V1, V2 = (Processor("neoverse-n1", 2), Processor("neoverse-v1", 4), Processor("neoverse-v2", 4))
ROWS = (
    Row("neon", 4, "max", N1),
    Row("neon", 4, "max", V2),
    Row("sve128", 4, "max,sve-default-vector-length=16", V2),
    Row("sve256", 8, "max,sve-default-vector-length=32", V1, 256),
    Row("neon_bf16", 16, "max", V2, dtype="bf16"),
)
HEAD = (
    "variant", "D", "processor", "instructions per multiply-add", "cycles", "share of the ceiling",
    "cycles in products", "in the softmax", "elsewhere",
)  # fmt: skip


@dataclass
class Block:
    """Instructions from an address to the next branch, and how often they ran."""

    function: str
    lines: list[str]
    count: int


# ---- what ran ------------------------------------------------------------------------------------


def tool(*names: str) -> str:
    """The first of some programs that is installed."""
    for name in names:
        if found := shutil.which(name):
            return found
    raise ToolError(f"{names[0]} is missing")


def output(*command: str, **more: object) -> str:
    """What a command prints; raises ToolError with its last line where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]
    if done.returncode:
        raise ToolError(f"{command[0]}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def code(program: Path) -> tuple[dict[int, tuple[str, str]], int, int]:
    """Address -> (function, instruction) of all functions of flash.c's objects, and their range."""
    inside = False
    wanted: dict[int, str] = {}
    for line in output(tool("aarch64-linux-gnu-readelf"), "-sW", str(program)).splitlines():
        word = line.split()
        if len(word) < 8:
            continue
        if word[3] == "FILE":
            inside = word[7] == "flash.c"
        elif inside and word[3] == "FUNC":
            wanted[int(word[1], 16)] = word[7]
    first, last = min(wanted), max(wanted) + 65536
    listing = output(
        tool("aarch64-linux-gnu-objdump"), "-d", "--no-show-raw-insn",
        f"--start-address={first}", f"--stop-address={last}", str(program),
    )  # fmt: skip
    at: dict[int, tuple[str, str]] = {}
    function = ""
    for line in listing.splitlines():
        if head := re.match(r"([0-9a-f]+) <(.*)>:$", line):
            function = wanted.get(int(head[1], 16), "")
        elif (found := re.match(r" *([0-9a-f]+):\t(.*)$", line)) and function:
            text = re.sub(r"\b[0-9a-f]+ <.*>", "L", found[2].split("//")[0])
            at[int(found[1], 16)] = (function, text.replace("\t", " ").strip())
    return at, first, last


def ran(program: Path, row: Row, problem: str) -> list[Block]:
    """The blocks of one call of flash."""
    at, first, last = code(program)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        operands(problem, folder / "in.safetensors")
        cell = {"problem": problem, "input": "normal", "kernel": "flash", "isa": row.isa}
        asked = request(Identity.of(cell), folder)
        (folder / "request").write_text(json.dumps(asked) + "\n")
        output(
            "bash", "-c", 'exec "$@" 3<"$0/request" 4>"$0/answer"', name,
            tool("qemu-aarch64"), "-cpu", row.cpu, "-d", "exec,nochain,in_asm",
            "-D", f"{name}/trace", "-dfilter", f"{LOADED_AT + first:#x}..{LOADED_AT + last:#x}",
            str(program), "worker", env=os.environ | ENVIRONMENT,
        )  # fmt: skip
        said = json.loads((folder / "answer").read_text())
        if said["state"] != "ok":
            raise ToolError(f"flash/{row.isa}: {said['state']}: {said['why']}")
        # How often qemu entered each of its blocks, and the address behind it: it cuts them also
        # where there is no branch, at the end of a page or where one grows too long.
        entered: Counter[int] = Counter()
        behind: dict[int, int] = {}
        with (folder / "trace").open() as trace:
            for line in trace:
                if found := re.match(r"Trace \d+: \S+ \[\w+/(\w+)/", line):
                    entered[int(found[1], 16) - LOADED_AT] += 1
                elif line.startswith("IN:"):
                    begin = None
                elif found := re.match(r"0x(\w+):", line):
                    address = int(found[1], 16) - LOADED_AT
                    begin = address if begin is None else begin
                    behind[begin] = address + 4
    blocks = []
    for start in sorted(set(entered) & set(at)):
        address, function, lines, cut = start, at[start][0], [], behind[start]
        while entered[start] > 0 and address in at and at[address][0] == function:
            lines.append(at[address][1])
            address += 4
            if BRANCH.match(lines[-1]):
                break
            if address == cut:  # qemu's next block is the rest of this one
                entered[address] -= entered[start]
                cut = behind.get(address, 0)
        if entered[start] < 0:
            raise ToolError(f"{program}: a block at {start:#x} that is the rest of more than ran")
        if lines:
            blocks.append(Block(function, lines, entered[start]))
    if not blocks:
        raise ToolError(f"{program}: qemu saw no instruction of flash/{row.isa}")
    return blocks


# ---- what the model says -------------------------------------------------------------------------


def cycles(blocks: list[Block], processor: Processor) -> list[float]:
    """Cycles that each block takes once, where it runs again and again."""
    text = "".join(
        f"# LLVM-MCA-BEGIN {i}\n"
        + "".join(f"{line}\n" for line in b.lines if not UNKNOWN.match(line))
        + "# LLVM-MCA-END\n"
        for i, b in enumerate(blocks)
    )
    said = json.loads(
        output(
            tool("llvm-mca-22"),
            "-mtriple=aarch64",
            f"-mcpu={processor.name}",
            f"-iterations={REPEATS}",
            "--json",
            input=text + "L:\n",
        )
    )
    taken = {r["Name"]: r["SummaryView"]["TotalCycles"] / REPEATS for r in said["CodeRegions"]}
    return [taken[str(i)] for i in range(len(blocks))]


def kind(block: Block) -> str:
    """What a block is for."""
    multiplies = any(PRODUCT.match(line) and OF_A_TILE.search(line) for line in block.lines)
    if block.function.startswith("exp_strip") or (
        block.function.startswith("score_") and not multiplies
    ):
        return "softmax"
    return "products" if block.function.startswith(("score_", "value_")) else "the rest"


def say_dearest(blocks: list[Block], each: list[float], top: int) -> None:
    """Prints the blocks that take the most cycles."""
    total = sum(b.count * one for b, one in zip(blocks, each, strict=True))
    order = sorted(range(len(blocks)), key=lambda i: -blocks[i].count * each[i])
    for i in order[:top]:
        b = blocks[i]
        products = sum(bool(PRODUCT.match(line)) for line in b.lines)
        say(
            TOOL,
            f"{100 * b.count * each[i] / total:5.1f} %  {b.function}: {b.count} times "
            f"{len(b.lines)} instructions, {products} of them products, in {each[i]:.1f} cycles",
        )


def modelled(program: Path, row: Row, queries: int, dim: int, top: int) -> tuple[str, ...]:
    """The row of the table."""
    sizes = f"b=1,hq=1,hkv=1,sq={queries},skv={queries},d={dim},dv={dim}"
    problem = f"{sizes},dtype={row.dtype},mask=none"
    blocks = ran(program, row, problem)
    each = cycles(blocks, row.processor)
    spent: Counter[str] = Counter()
    for block, one in zip(blocks, each, strict=True):
        spent[kind(block)] += block.count * one
    say_dearest(blocks, each, top)
    instructions = sum(b.count * len(b.lines) for b in blocks)
    useful = queries * queries * 2 * dim / row.lanes
    fastest = useful / (row.processor.units * 128 / row.bits)
    total = spent.total()
    shares = (f"{100 * spent[k] / total:.1f} %" for k in ("products", "softmax", "the rest"))
    return (
        f"flash/{row.isa}", str(dim), row.processor.name, f"{instructions / useful:.3f}",
        f"{total:,.0f}", f"{100 * fastest / total:.1f} %", *shares,
    )  # fmt: skip


def run(argv: list[str] | None = None) -> int:
    """The script."""
    p = parser(TOOL, __doc__)
    p.add_argument("program", type=Path, help="attnbench, built for AArch64")
    p.add_argument("--queries", type=int, default=512, help="and keys of the problem")
    p.add_argument("--blocks", type=int, default=0, help="print the dearest so many of each row")
    options = p.parse_args(argv)
    lines = []
    for dim in (64, 128):
        for row in ROWS:
            say(TOOL, f"flash/{row.isa} on {row.processor.name}, D={dim}")
            lines.append(modelled(options.program, row, options.queries, dim, options.blocks))
    print(tables.markdown(HEAD, lines, (False, True, False, *(True,) * 6)), end="")
    return 0


if __name__ == "__main__":
    guard(TOOL, run)
