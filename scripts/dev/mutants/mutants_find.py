"""Finds the mutants of C files: one edit each, at a node of clang's syntax tree.

    arithmetic  + for -, * for /, << for >>, & for |, and back; so their assignments
    comparison  the boundary (< for <=) and the opposite (< for >=, == for !=)
    logical     && for ||, and back; a `!`, `~` or minus left out
    constant    one more and one less; a float 1 % larger, and with the other sign; a word of bits
                (above 2^16) 16 units off
    bound       one turn less of a loop
    condition   the opposite, of `if` and of `?:`
    statement   left out: assignments, calls, jumps
    sibling     another function of the same operands: a sum for a maximum, base e for base 2
    arguments   two neighbours of one type exchanged
    return      the opposite, the negative, or one more

What stands in a macro's definition, or is put together by one, is left out: an edit there is many
edits.  libclang reads each translation unit as its variant is compiled, so that a mutant knows the
variants whose code it changes, and text of instruction sets that none has is not touched.
"""

import re
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from attntools.base.cli import ToolError
from clang.cindex import Cursor, CursorKind, Index, TypeKind
from dev.mutants.mutants_units import Unit

ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "<<": ">>", ">>": "<<", "&": "|",
              "|": "&", "^": "&"}  # fmt: skip
COMPARISON = {"<": ("<=", ">="), ">": (">=", "<="), "<=": ("<", ">"), ">=": (">", "<"),
              "==": ("!=",), "!=": ("==",)}  # fmt: skip
LOGICAL = {"&&": "||", "||": "&&"}

# Functions whose operands and results are alike.
PAIRS = [("vf_hmax", "vf_hsum"), ("exp_precise", "exp2_precise"), ("exp2_any", "exp2_precise"),
         ("softmax_exp", "softmax_exp2"), ("softmax_log", "softmax_lse"), ("expf", "exp2f"),
         ("fmaxf", "fminf"), ("group_query", "group_head"), ("_mm512_max_ps", "_mm512_min_ps"),
         ("_mm256_max_ps", "_mm256_min_ps"), ("_mm_max_ps", "_mm_min_ps")]  # fmt: skip
SIBLINGS = dict(PAIRS) | {b: a for a, b in PAIRS if b != "exp2_precise"}
SIBLINGS |= {"exp2_precise": "exp_precise", "logf": "log2f", "vf_fma": "vf_select"}

# Larger integers are bits of something.
BITS_FROM = 1 << 16

INTEGER = re.compile(rb"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")
FLOAT = re.compile(rb"[0-9.][0-9a-fA-FxXpPeE.+-]*[fFlL]?")

LEFT_OUT = (CursorKind.COMPOUND_ASSIGNMENT_OPERATOR, CursorKind.CALL_EXPR, CursorKind.CONTINUE_STMT,
            CursorKind.BREAK_STMT, CursorKind.RETURN_STMT)  # fmt: skip
BODIES = (CursorKind.COMPOUND_STMT, CursorKind.IF_STMT, CursorKind.FOR_STMT, CursorKind.WHILE_STMT)
INTEGERS = (TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG,
            TypeKind.USHORT, TypeKind.UCHAR)  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One edit of a file, and the units that it reaches."""

    file: str  # from the root of the tree
    offset: int  # bytes
    line: int
    column: int
    function: str
    operator: str
    before: str
    after: str
    units: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Its name; the same as long as its file is the same."""
        return f"{self.file}:{self.line}:{self.column}:{self.operator}:{self.after}"

    def applied(self, text: bytes) -> bytes:
        """The file with the edit."""
        end = self.offset + len(self.before.encode())
        if text[self.offset : end] != self.before.encode():
            raise ToolError(f"{self.file}:{self.line}: `{self.before}` does not stand there")
        return text[: self.offset] + self.after.encode() + text[end:]


class _File:
    """The mutants of one file as one translation unit sees it."""

    def __init__(self, name: str, text: bytes) -> None:
        self.name = name
        self.text = text
        self.found: list[Mutant] = []
        self.function = ""
        self.result = TypeKind.INVALID
        self.result_name = ""

    def add(self, operator: str, start: int, end: int, *after: str) -> None:
        """A mutant for each text that may stand in place of [start, end)."""
        line = self.text.count(b"\n", 0, start) + 1
        column = start - (self.text.rfind(b"\n", 0, start) + 1) + 1
        before = self.text[start:end].decode()
        for each in after:
            self.found.append(
                Mutant(self.name, start, line, column, self.function, operator, before, each)
            )

    def plain(self, cursor: Cursor, word: str = "") -> tuple[int, int] | None:
        """Where the node's text stands; None where it does not begin with `word`.

        If a macro puts the node together, that is the macro's name and arguments.
        """
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        return (start, end) if self.text.startswith(word.encode(), start, end) else None

    def source(self, span: tuple[int, int]) -> str:
        """The text of a node."""
        return self.text[slice(*span)].decode()

    def visit(self, cursor: Cursor, parent: Cursor) -> None:
        """The mutants of a node and of those below it."""
        if cursor.kind is CursorKind.FUNCTION_DECL:
            self.function = cursor.spelling
            self.result = cursor.result_type.get_canonical().kind
            self.result_name = cursor.result_type.get_canonical().spelling
        if cursor.kind is CursorKind.COMPOUND_STMT and not self.plain(cursor, "{"):
            return
        handler = HANDLERS.get(cursor.kind)
        if handler:
            handler(self, cursor, parent)
        if parent.kind in BODIES:
            self.left_out(cursor)
        for child in cursor.get_children():
            self.visit(child, cursor)

    def binary(self, cursor: Cursor, parent: Cursor) -> None:
        """Another operator between the operands; one turn less of a loop."""
        operands = list(cursor.get_children())
        if len(operands) != 2:
            return
        start, end = operands[0].extent.end.offset, operands[1].extent.start.offset
        between = re.fullmatch(rb"\s*([-+*/%<>=!&|^]+)\s*", self.text[start:end])
        if not between:
            return
        op = between[1].decode()
        at = start + between.start(1), start + between.end(1)
        if op in COMPARISON:
            self.add("comparison", *at, *COMPARISON[op])
        elif op in LOGICAL:
            self.add("logical", *at, LOGICAL[op])
        elif op in ARITHMETIC:
            self.add("arithmetic", *at, ARITHMETIC[op])
        elif op.endswith("=") and op[:-1] in ARITHMETIC:
            self.add("arithmetic", *at, ARITHMETIC[op[:-1]] + "=")
        limit = self.plain(operands[1])
        if limit and parent.kind is CursorKind.FOR_STMT and op in ("<", "<="):
            self.add("bound", *limit, f"({self.source(limit)}) - 1")

    def unary(self, cursor: Cursor, _parent: Cursor) -> None:
        """A sign or negation left out."""
        start = cursor.extent.start.offset
        if self.text[start : start + 1] in (b"!", b"-", b"~") and not self.plain(cursor, "--"):
            self.add("logical", start, start + 1, "")

    def integer(self, cursor: Cursor, _parent: Cursor) -> None:
        """Neighbours of an integer."""
        span = cursor.extent.start.offset, cursor.extent.end.offset
        number = INTEGER.fullmatch(self.text[slice(*span)])
        if not number:
            return
        digits, suffix = number[1].decode(), number[2].decode()
        value = int(digits, 0 if digits[:2] in ("0x", "0X") else 10)
        if value >= BITS_FROM:
            self.add("constant", *span, f"{value + 16:#x}{suffix}")
            return
        self.add("constant", *span, f"{value + 1}{suffix}")
        if value:
            self.add("constant", *span, f"{value - 1}{suffix}")

    def floating(self, cursor: Cursor, _parent: Cursor) -> None:
        """A float a little larger, and its negative; 1 for 0."""
        span = cursor.extent.start.offset, cursor.extent.end.offset
        if not FLOAT.fullmatch(self.text[slice(*span)]):
            return
        text = self.source(span)
        if float.fromhex(text.rstrip("fFlL")) if "x" in text else float(text.rstrip("fFlL")):
            self.add("constant", *span, f"({text} * 1.01f)", f"(-{text})")
        else:
            self.add("constant", *span, "1.0f")

    def condition(self, cursor: Cursor, _parent: Cursor) -> None:
        """The opposite condition."""
        span = self.plain(next(cursor.get_children()))
        if span and (self.plain(cursor, "if") or re.match(rb"\s*\?", self.text[span[1] :])):
            self.add("condition", *span, f"!({self.source(span)})")

    def call(self, cursor: Cursor, _parent: Cursor) -> None:
        """A sibling called instead; neighbours among the arguments exchanged."""
        name = cursor.spelling
        span = self.plain(cursor, name + "(")
        if not span:
            return
        if name in SIBLINGS:
            self.add("sibling", span[0], span[0] + len(name), SIBLINGS[name])
        arguments = list(cursor.get_arguments())
        for a, b in pairwise(arguments):
            one, two = self.plain(a), self.plain(b)
            if not one or not two or self.source(one) == self.source(two):
                continue
            if a.type.get_canonical().spelling == b.type.get_canonical().spelling:
                between = self.text[one[1] : two[0]].decode()
                self.add("arguments", one[0], two[1], self.source(two) + between + self.source(one))

    def returned(self, cursor: Cursor, _parent: Cursor) -> None:
        """Something else returned."""
        value = next(cursor.get_children(), None)
        span = self.plain(value) if value else None
        if not span or not self.plain(cursor, "return"):
            return
        text = self.source(span)
        if self.result is TypeKind.BOOL:
            self.add("return", *span, f"!({text})")
        elif self.result in INTEGERS:
            self.add("return", *span, f"({text}) + 1")
        elif "float" in self.result_name or "double" in self.result_name:
            if "*" not in self.result_name:
                self.add("return", *span, f"-({text})")
        elif self.result is TypeKind.VECTOR:
            self.add("return", *span, f"~({text})")

    def left_out(self, cursor: Cursor) -> None:
        """The statement left out."""
        span = self.plain(cursor)
        if not span or not re.match(rb"\s*;", self.text[span[1] :]):
            return
        children = list(cursor.get_children())
        if cursor.kind is CursorKind.RETURN_STMT and children:
            return
        assigned = cursor.kind is CursorKind.BINARY_OPERATOR and len(children) == 2
        if assigned:
            between = self.text[children[0].extent.end.offset : children[1].extent.start.offset]
            assigned = between.strip() == b"="
        if assigned or cursor.kind in LEFT_OUT:
            self.add("statement", *span, "")


HANDLERS = {
    CursorKind.BINARY_OPERATOR: _File.binary,
    CursorKind.COMPOUND_ASSIGNMENT_OPERATOR: _File.binary,
    CursorKind.UNARY_OPERATOR: _File.unary,
    CursorKind.INTEGER_LITERAL: _File.integer,
    CursorKind.FLOATING_LITERAL: _File.floating,
    CursorKind.IF_STMT: _File.condition,
    CursorKind.CONDITIONAL_OPERATOR: _File.condition,
    CursorKind.CALL_EXPR: _File.call,
    CursorKind.RETURN_STMT: _File.returned,
}


def builtin_headers() -> list[str]:
    """Where clang's own headers lie, which PyPI's libclang comes without."""
    try:
        done = subprocess.run(["clang-14", "-print-resource-dir"], capture_output=True, text=True,
                              check=True)  # fmt: skip
    except (OSError, subprocess.CalledProcessError):
        raise ToolError("clang-14 is needed for its headers: scripts/setup --checks") from None
    return ["-isystem", done.stdout.strip() + "/include"]


def of_unit(source: Path, options: Sequence[str], root: Path, files: set[str]) -> list[Mutant]:
    """The mutants of `files`, named from the root, as one translation unit sees them."""
    parsed = Index.create().parse(str(source), args=list(options))
    wrong = [d.spelling for d in parsed.diagnostics if d.severity >= d.Error]
    if wrong:
        raise ToolError(f"libclang cannot read {source}: {wrong[0]}")
    seen: dict[str, _File | None] = {}
    for cursor in parsed.cursor.get_children():
        path = cursor.location.file.name if cursor.location.file else ""
        if path not in seen:
            inside = Path(path).resolve().is_relative_to(root) if path else False
            name = str(Path(path).resolve().relative_to(root)) if inside else ""
            seen[path] = _File(name, Path(path).read_bytes()) if name in files else None
        file = seen[path]
        if file:
            file.visit(cursor, parsed.cursor)
    return [mutant for file in seen.values() if file for mutant in file.found]


def find(units: Iterable[Unit], root: Path, files: set[str]) -> list[Mutant]:
    """The mutants of the files, each with the units that it reaches, in the order of the text."""
    headers = builtin_headers()
    reached: dict[Mutant, list[str]] = defaultdict(list)
    for unit in units:
        options = [w for w in unit.command[1:] if re.match(r"-[DIfms]", w) and w != "-fopenmp"]
        for mutant in of_unit(Path(unit.source), [*options, "-fopenmp", *headers], root, files):
            if unit.name not in reached[mutant]:
                reached[mutant].append(unit.name)
    order = sorted(reached, key=lambda m: (m.file, m.offset, m.operator, m.after))
    return [Mutant(**(vars(m) | {"units": tuple(reached[m])})) for m in order]
