"""Tables as text for terminals, Markdown and CSV."""

import csv
import io
import os
import shutil
import textwrap
from collections.abc import Mapping, Sequence
from typing import IO

Cells = Sequence[Sequence[str]]

COLOURS = {"WRONG": "31", "SLOWER": "31", "FASTER": "32", "UNCLEAR": "33"}


def text(head: Sequence[str], rows: Cells, numeric: Sequence[bool], *, colours: bool) -> str:
    """Aligned columns; numbers to the right."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    formats = [f"{{:{'>' if n else '<'}{w}}}" for n, w in zip(numeric, widths, strict=True)]
    line = "  ".join(formats)
    lines = [line.format(*row).rstrip() for row in (head, *rows)]
    if colours:
        lines = [_coloured(line) for line in lines]
    return "\n".join(lines) + "\n"


def width_of(stream: IO[str]) -> int | None:
    """Columns of a terminal, or what COLUMNS says; None for files and pipes."""
    if stream.isatty() or "COLUMNS" in os.environ:
        return shutil.get_terminal_size().columns
    return None


def wrapped(line: str, width: int | None) -> str:
    """A paragraph of lines that are no longer than `width`, or of one line."""
    return (line if width is None else textwrap.fill(line, width, break_on_hyphens=False)) + "\n"


def titled(
    head: Sequence[str],
    rows: Cells,
    numeric: Sequence[bool],
    width: int,
    *,
    colours: bool,
    says: Mapping[str, str] | None = None,
) -> str:
    """As text(), but what stands first in a row is a title above it and those that share it.

    The last column is text of any length: what does not fit into `width` goes on below its row.  It
    has its title where something of it stands beside a row.  Where the other columns do not fit,
    the longest entries of the widest column of texts have lines of their own, above the rest of
    their rows.
    `says` has a sentence for each title, which goes below its rows.
    """
    middle = [row[1:-1] for row in (head, *rows)]
    above, lines = _narrowed(middle, numeric[1:-1], width - 2)
    at = max(map(len, lines)) + 2
    beside = any(row[-1] and 2 + at + len(row[-1]) <= width for row in rows)
    out = [f"  {above[0]}"] if above[0] else []
    out.append(f"  {lines[0]:{at}}{head[-1] if beside else ''}".rstrip())
    title = None

    def close() -> None:
        if title and says and title in says:
            out.extend(
                textwrap.wrap(says[title], width, initial_indent="  ", subsequent_indent="    ",
                              break_on_hyphens=False)
            )  # fmt: skip

    for first, line, row in zip(above[1:], lines[1:], rows, strict=True):
        if row[0] != title:
            close()
            title = row[0]
            out.append(title)
        out += [f"  {first}"] if first else []
        if 2 + at + len(row[-1]) <= width:
            out.append(f"  {line:{at}}{row[-1]}".rstrip())
        else:
            indent = " " * 6
            rest = textwrap.wrap(row[-1], width - len(indent), break_on_hyphens=False)
            out += [f"  {line}", *(indent + more for more in rest)]
    close()
    return "".join(f"{_coloured(line) if colours else line}\n" for line in out)


def _narrowed(rows: Cells, numeric: Sequence[bool], width: int) -> tuple[list[str], list[str]]:
    """What stands above each line, a long entry or nothing, and lines of text(), the head's first.

    No line has more than `width` columns where a column of texts can give up as many.
    """
    lines = text(rows[0], rows[1:], numeric, colours=False).splitlines()
    over = max(map(len, lines)) - width
    if over <= 0 or all(numeric):
        return [""] * len(lines), lines
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widest = max((i for i, n in enumerate(numeric) if not n), key=lambda i: widths[i])
    end = sum(widths[: widest + 1]) + 2 * widest
    room = max(0, widths[widest] - over)
    keep = end - widths[widest] + room
    long = [len(row[widest]) > room for row in rows]
    above = [line[:end].rstrip() if cut else "" for line, cut in zip(lines, long, strict=True)]
    return above, [
        (" " * keep if cut else line[:keep]) + line[end:]
        for line, cut in zip(lines, long, strict=True)
    ]


def _coloured(line: str) -> str:
    for word, colour in COLOURS.items():
        if f" {word}" in line:
            return line.replace(word, f"\x1b[{colour}m{word}\x1b[0m", 1)
    return line


def markdown(head: Sequence[str], rows: Cells, numeric: Sequence[bool]) -> str:
    """A pipe table."""
    rule = ["---:" if n else "---" for n in numeric]
    escaped = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in (head, rule, *escaped))


def comma_separated(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """CSV with a header line, as RFC 4180 but with plain newlines."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue()
